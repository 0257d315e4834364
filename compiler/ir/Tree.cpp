//===- Tree.cpp - an einsum tree --------------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Tree.h"

#include "compiler/support/Text.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <limits>

namespace einsumc {

llvm::StringRef name(ElementType type) { return type == ElementType::F32 ? "f32" : "f64"; }

std::optional<ElementType> elementTypeFromName(llvm::StringRef name) {
  if (name == "f32")
    return ElementType::F32;
  if (name == "f64")
    return ElementType::F64;
  return std::nullopt;
}

int64_t sizeInBytes(ElementType type) { return type == ElementType::F32 ? 4 : 8; }

std::optional<int64_t> checkedBytes(const std::vector<int64_t> &extents, int64_t elementBytes) {
  int64_t product = elementBytes;
  for (int64_t extent : extents)
    if (__builtin_mul_overflow(product, extent, &product))
      return std::nullopt;
  return product;
}

namespace {

bool contains(const std::vector<DimId> &dims, DimId dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

bool allDistinct(std::vector<DimId> dims) {
  std::sort(dims.begin(), dims.end());
  return std::adjacent_find(dims.begin(), dims.end()) == dims.end();
}

std::string checkOperand(const std::vector<Dim> &dims, const std::vector<Node> &nodes,
                         const Node &node, const Operand &operand) {
  const Node &source = nodes[static_cast<std::size_t>(operand.node)];
  if (operand.dims.size() != source.dims.size())
    return "an operand of '" + node.name + "' has not as many dims as '" + source.name + "'";
  for (std::size_t p = 0; p < operand.dims.size(); ++p)
    if (dims[static_cast<std::size_t>(operand.dims[p])].extent !=
        dims[static_cast<std::size_t>(source.dims[p])].extent)
      return "an operand of '" + node.name + "' differs in extent from '" + source.name + "'";
  return {};
}

std::string checkNode(const std::vector<Dim> &dims, const std::vector<Node> &nodes, NodeId id) {
  const Node &node = nodes[static_cast<std::size_t>(id)];
  const std::size_t operands = node.operands.size();
  if (node.kind == NodeKind::Input ? operands != 0
                                   : (node.kind == NodeKind::Unary ? operands != 1 : operands < 2))
    return "'" + node.name + "' has a wrong number of operands";
  if (node.kind != NodeKind::Input && !allDistinct(node.dims))
    return "'" + node.name + "' repeats a dim";
  std::vector<int64_t> extents;
  for (DimId dim : node.dims)
    extents.push_back(dims[static_cast<std::size_t>(dim)].extent);
  if (!checkedBytes(extents, 8))
    return "'" + node.name + "' has more elements than 64 bits can count";
  for (const Operand &operand : node.operands) {
    if (operand.node < 0 || operand.node >= id)
      return "'" + node.name + "' uses a tensor that is not defined before it";
    if (std::string text = checkOperand(dims, nodes, node, operand); !text.empty())
      return text;
  }
  for (DimId dim : node.dims)
    if (node.kind != NodeKind::Input &&
        std::none_of(node.operands.begin(), node.operands.end(),
                     [&](const Operand &operand) { return contains(operand.dims, dim); }))
      return "'" + node.name + "' has a dim that no operand has";
  return {};
}

} // namespace

std::string Tree::check(const std::vector<Dim> &dims, const std::vector<Node> &nodes) {
  llvm::StringSet<> names;
  for (const Dim &dim : dims)
    if (dim.extent < 1 || !isIdentifier(dim.name) || !names.insert(dim.name).second)
      return "dim '" + dim.name + "' has no valid, unique name or an extent below 1";
  names.clear();
  for (const Node &node : nodes)
    if (!isIdentifier(node.name) || !names.insert(node.name).second)
      return "tensor '" + node.name + "' has no valid, unique name";
  for (const Node &node : nodes) {
    auto valid = [&](DimId dim) { return dim >= 0 && dim < static_cast<DimId>(dims.size()); };
    bool ok = std::all_of(node.dims.begin(), node.dims.end(), valid);
    for (const Operand &operand : node.operands)
      ok = ok && std::all_of(operand.dims.begin(), operand.dims.end(), valid);
    if (!ok)
      return "'" + node.name + "' uses a dim that does not exist";
  }
  for (std::size_t id = 0; id < nodes.size(); ++id)
    if (std::string text = checkNode(dims, nodes, static_cast<NodeId>(id)); !text.empty())
      return text;
  return {};
}

Tree Tree::make(ElementType type, std::vector<Dim> dims, std::vector<Node> nodes) {
  if (std::string text = check(dims, nodes); !text.empty())
    llvm::report_fatal_error(llvm::Twine("malformed tree: ") + text);
  Tree tree;
  tree.type = type;
  tree.allDims = std::move(dims);
  tree.allNodes = std::move(nodes);
  for (const Node &node : tree.allNodes) {
    std::vector<DimId> &all = tree.allIterations.emplace_back(node.dims);
    for (const Operand &operand : node.operands)
      for (const DimId dim : operand.dims)
        if (!contains(all, dim))
          all.push_back(dim);
  }
  return tree;
}

std::optional<NodeId> Tree::find(llvm::StringRef name) const {
  for (NodeId id = 0; id < size(); ++id)
    if (node(id).name == name)
      return id;
  return std::nullopt;
}

bool Tree::isBinary() const {
  return std::all_of(allNodes.begin(), allNodes.end(), [](const Node &node) {
    if (node.kind != NodeKind::Product)
      return true;
    if (node.operands.size() != 2)
      return false;
    for (std::size_t o = 0; o < 2; ++o) {
      const std::vector<DimId> &dims = node.operands[o].dims;
      const std::vector<DimId> &others = node.operands[1 - o].dims;
      if (!allDistinct(dims) || !std::all_of(dims.begin(), dims.end(), [&](DimId dim) {
            return contains(node.dims, dim) || contains(others, dim);
          }))
        return false;
    }
    return true;
  });
}

std::vector<int64_t> Tree::extents(NodeId id) const {
  const std::vector<DimId> &dims = node(id).dims;
  std::vector<int64_t> result;
  result.reserve(dims.size());
  for (DimId d : dims)
    result.push_back(dim(d).extent);
  return result;
}

int64_t Tree::elements(NodeId id) const {
  int64_t product = 1; // No overflow: a tree is not made of such tensors.
  for (DimId d : node(id).dims)
    product *= dim(d).extent;
  return product;
}

double Tree::flops(NodeId id) const {
  const Node &n = node(id);
  const std::vector<DimId> &all = iterationDims(id);
  double iterations = 1;
  for (DimId d : all)
    iterations *= static_cast<double>(dim(d).extent);
  if (n.kind == NodeKind::Product)
    return iterations * static_cast<double>(n.operands.size());
  return n.kind == NodeKind::Unary && all.size() > n.dims.size() ? iterations : 0;
}

std::string tensorText(const Tree &tree, llvm::StringRef name, const std::vector<DimId> &dims) {
  std::vector<std::string> names;
  for (DimId dim : dims)
    names.push_back(tree.dim(dim).name);
  return (name + "[" + join(names, ",") + "]").str();
}

std::string equationText(const Tree &tree, NodeId id) {
  const Node &node = tree.node(id);
  std::vector<std::string> factors;
  for (const Operand &operand : node.operands)
    factors.push_back(tensorText(tree, tree.node(operand.node).name, operand.dims));
  std::string left = tensorText(tree, node.name, node.dims);
  return factors.empty() ? left : left + " = " + join(factors, " * ");
}

void print(const Tree &tree, llvm::raw_ostream &stream,
           llvm::function_ref<std::string(NodeId)> comment) {
  stream << "dtype " << name(tree.elementType()) << ";\n";
  for (const Dim &dim : tree.dims())
    stream << "dim " << dim.name << " = " << dim.extent << ";\n";
  stream << "\n";
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Node &node = tree.node(id);
    std::string left = tensorText(tree, node.name, node.dims);
    std::string pin;
    if (node.pin.kind == Pin::Kind::Root)
      pin = " at root";
    if (node.pin.kind == Pin::Kind::Split)
      pin = " split(" + tree.dim(node.dims[static_cast<std::size_t>(node.pin.position)]).name + ")";
    if (node.kind == NodeKind::Input)
      stream << "input " << left << pin << ";";
    else
      stream << (node.isOutput ? "output " : "") << left << pin
             << equationText(tree, id).substr(left.size()) << ";";
    const std::string behind = comment ? comment(id) : "";
    stream << (behind.empty() ? "" : "  # ") << behind << "\n";
  }
}

} // namespace einsumc
