//===- Normalise.cpp - repeated and lone dims become unary nodes ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/order/Normalise.h"

#include "compiler/order/TreeEditor.h"

#include <algorithm>
#include <map>
#include <set>

namespace einsumc {

namespace {

/// The distinct dims of an operand that the result or another factor has.
std::vector<DimId> neededDims(const std::vector<DimId> &dims, const std::map<DimId, int> &uses) {
  std::vector<DimId> needed;
  std::set<DimId> seen;
  for (DimId dim : dims)
    if (seen.insert(dim).second && uses.at(dim) > 1)
      needed.push_back(dim);
  return needed;
}

/// In how many of the factors and the result each dim appears.
std::map<DimId, int> countUses(const Node &product) {
  std::map<DimId, int> uses;
  auto count = [&](const std::vector<DimId> &dims) {
    for (DimId dim : std::set<DimId>(dims.begin(), dims.end()))
      ++uses[dim];
  };
  count(product.dims);
  for (const Operand &operand : product.operands)
    count(operand.dims);
  return uses;
}

} // namespace

Tree normalise(const Tree &tree) {
  TreeEditor editor(tree);
  for (const Node &source : tree.nodes()) {
    Node node = editor.renumbered(source);
    if (node.kind == NodeKind::Product) {
      const std::map<DimId, int> uses = countUses(node);
      for (Operand &operand : node.operands) {
        std::vector<DimId> needed = neededDims(operand.dims, uses);
        if (needed.size() == operand.dims.size())
          continue;
        const NodeId reduced = editor.addFresh(NodeKind::Unary, source, needed, {operand});
        operand = {reduced, std::move(needed)};
      }
    }
    editor.add(std::move(node));
  }
  return editor.finish();
}

} // namespace einsumc
