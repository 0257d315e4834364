//===- NodeScope.cpp - the constants and variables of one emitted node ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/codegen/NodeScope.h"

#include "compiler/codegen/EmitNode.h"
#include "compiler/codegen/LocalShape.h"
#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"

namespace einsumc {

NodeScope::NodeScope(const Tree &tree, const Schedule &schedule, const LoweredProgram &program,
                     const LoweredNode &node)
    : tree(tree), program(program), node(node), workDims(tree.iterationDims(node.node)),
      workLayoutValue(
          workLayout(tree, node.node, schedule.nodes[static_cast<std::size_t>(node.node)])),
      fused(node.nest ? node.nest->dims : node.dims) {
  declareExtents();
  for (const Role role : rolesOf(tree, node.node))
    declareStrides(role);
}

std::size_t NodeScope::workIndex(DimId dim) const {
  return static_cast<std::size_t>(llvm::find(workDims, dim) - workDims.begin());
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
  const std::vector<std::optional<int64_t>> extents = constantExtents(workLayoutValue);
  int64_t product = 1;
  for (DimId d : fused[dim].dims) {
    const std::optional<int64_t> extent = extents[workIndex(d)];
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

std::string NodeScope::origin(Role role) const {
  const TensorBuffer &tensor = buffer(role);
  const std::vector<DimId> &dims = dimsOf(tree, node.node, role);
  const Layout stored = layoutOf(tree, tensor.tensor, tensor.placement);
  bool aligned = true;
  std::vector<std::string> index;
  for (std::size_t p = 0; p < dims.size(); ++p) {
    const std::size_t w = workIndex(dims[p]);
    aligned = aligned && isAligned(stored, p, workLayoutValue, w);
    index.push_back("work[" + std::to_string(w) + "].begin");
  }
  return tensorName(tensor) + (aligned ? ".data()" : ".at({" + join(index, ", ") + "})");
}

void NodeScope::declareExtents() {
  const std::vector<std::optional<int64_t>> ofWork = constantExtents(workLayoutValue);
  for (std::size_t d = 0; d < fused.size(); ++d) {
    const std::string name = fresh("n_", d);
    if (const std::optional<int64_t> extent = constantExtent(d)) {
      extents.push_back(
          {name, "static constexpr int64_t " + name + " = " + std::to_string(*extent) + ";\n"});
      continue;
    }
    std::vector<std::string> factors;
    for (DimId dim : fused[d].dims) {
      const std::optional<int64_t> extent = ofWork[workIndex(dim)];
      factors.push_back(extent ? std::to_string(*extent)
                               : "work[" + std::to_string(workIndex(dim)) + "].size()");
    }
    extents.push_back({name, "const int64_t " + name + " = " + join(factors, " * ") + ";\n"});
  }
}

void NodeScope::declareStrides(Role role) {
  const TensorBuffer &tensor = buffer(role);
  const std::vector<std::optional<int64_t>> ofTensor =
      constantStrides(layoutOf(tree, tensor.tensor, tensor.placement));
  const std::vector<DimId> &dims = dimsOf(tree, node.node, role);
  for (std::size_t d = 0; d < fused.size(); ++d) {
    // A dim that a tensor repeats walks along its diagonal: the strides add up.
    std::vector<std::string> terms;
    int64_t sum = 0;
    bool constant = true;
    for (std::size_t p = 0; p < dims.size(); ++p) {
      if (dims[p] != fused[d].dims.back())
        continue;
      terms.push_back(tensorName(tensor) + ".stride(" + std::to_string(p) + ")");
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
