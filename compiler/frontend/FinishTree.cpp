//===- FinishTree.cpp - names and extents for a tree without ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/FinishTree.h"

#include "compiler/frontend/Extents.h"
#include "compiler/frontend/ReadSizes.h"
#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>
#include <set>
#include <tuple>

namespace einsumc {

namespace {

bool isNumber(const DimLabel &label) { return llvm::isDigit(label.text.front()); }

/// Numbers before names; a longer number is larger, since none has leading zeros.
bool comesBefore(const DimLabel &left, const DimLabel &right) {
  auto key = [](const DimLabel &label) {
    return std::make_tuple(!isNumber(label), isNumber(label) ? label.text.size() : 0,
                           llvm::StringRef(label.text));
  };
  return key(left) < key(right);
}

/// Renumbers \p ids, of which `order[new]` is the old one.
std::vector<int> inverse(const std::vector<int> &order) {
  std::vector<int> result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    result[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return result;
}

std::vector<int> identity(std::size_t size) {
  std::vector<int> result(size);
  std::iota(result.begin(), result.end(), 0);
  return result;
}

template <typename T> std::vector<T> reorder(std::vector<T> items, const std::vector<int> &order) {
  std::vector<T> result;
  result.reserve(items.size());
  for (int old : order)
    result.push_back(std::move(items[static_cast<std::size_t>(old)]));
  return result;
}

void sortDims(UnfinishedTree &tree) {
  std::vector<int> order = identity(tree.labels.size());
  llvm::sort(order, [&](int left, int right) {
    return comesBefore(tree.labels[static_cast<std::size_t>(left)],
                       tree.labels[static_cast<std::size_t>(right)]);
  });
  tree.labels = reorder(std::move(tree.labels), order);
  std::vector<int> renumbered = inverse(order);
  auto renumber = [&](std::vector<DimId> &dims) {
    for (DimId &dim : dims)
      dim = renumbered[static_cast<std::size_t>(dim)];
  };
  for (Node &node : tree.nodes) {
    renumber(node.dims);
    for (Operand &operand : node.operands)
      renumber(operand.dims);
  }
}

void moveInputsToFront(std::vector<Node> &nodes) {
  std::vector<int> order;
  for (bool isInputTurn : {true, false})
    for (std::size_t id = 0; id < nodes.size(); ++id)
      if ((nodes[id].kind == NodeKind::Input) == isInputTurn)
        order.push_back(static_cast<int>(id));
  nodes = reorder(std::move(nodes), order);
  std::vector<int> renumbered = inverse(order);
  for (Node &node : nodes)
    for (Operand &operand : node.operands)
      operand.node = renumbered[static_cast<std::size_t>(operand.node)];
}

void nameNodes(std::vector<Node> &nodes) {
  int inputs = 0;
  int intermediates = 0;
  for (Node &node : nodes)
    node.name = node.kind == NodeKind::Input ? "in" + std::to_string(inputs++)
                                             : "t" + std::to_string(intermediates++);
  nodes.back().name = "out";
  nodes.back().isOutput = true;
}

std::vector<Dim> nameDims(const std::vector<DimLabel> &labels,
                          const std::vector<int64_t> &extents) {
  std::set<std::string> taken;
  for (const DimLabel &label : labels)
    if (!isNumber(label))
      taken.insert(label.text);
  std::vector<Dim> dims;
  dims.reserve(labels.size());
  for (std::size_t l = 0; l < labels.size(); ++l)
    dims.push_back({isNumber(labels[l]) ? uniqueName("d" + labels[l].text, taken) : labels[l].text,
                    extents[l]});
  return dims;
}

} // namespace

std::optional<Tree> finishTree(UnfinishedTree tree, llvm::StringRef sizes, ElementType type,
                               Diagnostics &diagnostics) {
  sortDims(tree);
  std::optional<std::vector<int64_t>> extents = readSizes(sizes, tree.labels, diagnostics);
  if (!extents)
    return std::nullopt;
  std::vector<Dim> dims = nameDims(tree.labels, *extents);
  moveInputsToFront(tree.nodes);
  nameNodes(tree.nodes);
  bool isSound = true;
  for (const Node &node : tree.nodes)
    isSound =
        checkShape("'" + node.name + "'", node.dims, dims, node.where, diagnostics) && isSound;
  if (!isSound)
    return std::nullopt;
  return Tree::make(type, std::move(dims), std::move(tree.nodes));
}

} // namespace einsumc
