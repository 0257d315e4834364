//===- NodeScope.cpp - the constants and variables of one emitted node ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/codegen/NodeScope.h"

#include "compiler/codegen/EmitNode.h"
#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

namespace einsumc {

NodeScope::NodeScope(const Tree &tree, const LoweredProgram &program, const LoweredNode &node)
    : tree(tree), program(program), node(node), fused(node.nest ? node.nest->dims : node.dims) {
  declareExtents();
  for (const Role role : rolesOf(tree, node.node))
    declareStrides(role);
}

const ComputeShape::Block &NodeScope::shapeOf(Role role) const {
  return role == Role::C ? node.shape.blocks.back()
                         : node.shape.blocks[static_cast<std::size_t>(role)];
}

std::string NodeScope::fusedName(std::size_t dim) const {
  std::vector<std::string> parts;
  for (DimId d : fused[dim].dims)
    parts.push_back(tree.dim(d).name);
  return join(parts, "_");
}

std::string NodeScope::fresh(const std::string &name) { return uniqueName(name, names); }

std::string NodeScope::fresh(const std::string &prefix, std::size_t dim) {
  return fresh(prefix + fusedName(dim));
}

const TensorBuffer &NodeScope::buffer(Role role) const {
  const BufferId id = role == Role::C ? node.result : node.operands[role == Role::A ? 0 : 1];
  return program.buffers[static_cast<std::size_t>(id)];
}

std::optional<int64_t> NodeScope::constantExtent(std::size_t dim) const {
  int64_t product = 1;
  for (DimId d : fused[dim].dims) {
    const std::optional<int64_t> extent = node.shape.extents[node.shape.indexOf(d)];
    if (!extent)
      return std::nullopt;
    product *= *extent;
  }
  return product;
}

const std::string &NodeScope::extent(std::size_t dim) {
  extents[dim].isUsed = true;
  return extents[dim].name;
}

std::string NodeScope::stride(Role role, std::size_t dim) {
  const auto found = strides.find({role, dim});
  if (found == strides.end())
    return "0";
  found->second.isUsed = true;
  return found->second.name;
}

std::string NodeScope::block(Role role) const {
  static constexpr std::array<const char *, 3> kMembers = {"a", "b", "c"};
  return isStepping() ? std::string("step.") + kMembers[static_cast<std::size_t>(role)]
                      : tensorName(buffer(role));
}

std::string NodeScope::origin(Role role) const {
  const std::vector<bool> &isWhole = shapeOf(role).isWhole;
  if (llvm::all_of(isWhole, [](bool whole) { return whole; }))
    return block(role) + ".data()";
  std::vector<std::string> index;
  for (const DimId dim : dimsOf(tree, node.node, role))
    index.push_back((isStepping() ? "step.work[" : "work[") +
                    std::to_string(node.shape.indexOf(dim)) + "].begin");
  return block(role) + ".at({" + join(index, ", ") + "})";
}

void NodeScope::declareExtents() {
  const ComputeShape &shape = node.shape;
  const std::string work = isStepping() ? "shape.work[" : "work[";
  for (std::size_t d = 0; d < fused.size(); ++d) {
    const std::string name = fresh("n_", d);
    if (const std::optional<int64_t> extent = constantExtent(d)) {
      extents.push_back(
          {name, "static constexpr int64_t " + name + " = " + std::to_string(*extent) + ";\n"});
      continue;
    }
    std::vector<std::string> factors;
    for (DimId dim : fused[d].dims) {
      const std::size_t index = shape.indexOf(dim);
      factors.push_back(shape.extents[index] ? std::to_string(*shape.extents[index])
                                             : work + std::to_string(index) + "].size()");
    }
    extents.push_back({name, "const int64_t " + name + " = " + join(factors, " * ") + ";\n"});
  }
}

void NodeScope::declareStrides(Role role) {
  const TensorBuffer &tensor = buffer(role);
  const std::string block =
      isStepping() ? std::string("shape.") + "abc"[static_cast<int>(role)] : tensorName(tensor);
  const std::vector<std::optional<int64_t>> ofTensor = shapeOf(role).strides();
  const std::vector<DimId> &dims = dimsOf(tree, node.node, role);
  for (std::size_t d = 0; d < fused.size(); ++d) {
    // A dim that a tensor repeats walks along its diagonal: the strides add up.
    std::vector<std::string> terms;
    int64_t sum = 0;
    bool constant = true;
    for (std::size_t p = 0; p < dims.size(); ++p) {
      if (dims[p] != fused[d].dims.back())
        continue;
      terms.push_back(block + ".stride(" + std::to_string(p) + ")");
      constant = constant && ofTensor[p];
      sum += ofTensor[p].value_or(0);
    }
    if (terms.empty())
      continue;
    const std::string name = fresh("step_" + tensor.name + "_", d);
    strides[{role, d}] = {
        name, constant ? "static constexpr int64_t " + name + " = " + std::to_string(sum) + ";\n"
                       : "const int64_t " + name + " = " + join(terms, " + ") + ";\n"};
  }
}

void NodeScope::emitMembers(llvm::raw_ostream &out) const {
  for (const Constant &extent : extents)
    if (extent.isUsed)
      out << extent.declaration;
  for (const auto &[key, stride] : strides)
    if (stride.isUsed)
      out << stride.declaration;
}

} // namespace einsumc
