//===- NodeEstimate.cpp - about what a node takes on a number of ranks ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/NodeEstimate.h"

#include "compiler/ir/ShapeKey.h"
#include "compiler/plan/Algorithms.h"
#include "compiler/plan/LocalCost.h"
#include "compiler/plan/WorkCuts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace einsumc {

namespace {

/// The largest number up to another that is small, a power of two, or three times one.
int64_t roundedDown(int64_t ranks) {
  constexpr int64_t kFew = 8;
  if (ranks <= kFew)
    return ranks;
  int64_t two = kFew;
  while (2 * two <= ranks)
    two *= 2;
  return two / 2 * 3 <= ranks ? two / 2 * 3 : two;
}

} // namespace

NodeEstimate::NodeEstimate(const Tree &tree, const Machine &machine,
                           std::function<bool(NodeId)> isFree)
    : tree(tree), machine(machine), mayBeMoved(std::move(isFree)) {
  std::map<ShapeKey, NodeId> firsts;
  for (NodeId id = 0; id < tree.size(); ++id)
    firstAlike.push_back(tree.node(id).kind == NodeKind::Input
                             ? id
                             : firsts.try_emplace(shapeOf(tree, id), id).first->second);
}

double NodeEstimate::node(NodeId node, int64_t ranks) {
  const int64_t size = roundedDown(ranks);
  const NodeId alike = firstAlike[static_cast<std::size_t>(node)];
  const double alone = computing(alike, 1);
  if (size == 1)
    return alone;
  const auto moved = llvm::count_if(tree.node(node).operands, [&](const Operand &operand) {
    return tree.node(operand.node).kind != NodeKind::Input;
  });
  const double messages = static_cast<double>(moved) * std::log2(static_cast<double>(size));
  const double shared = computing(alike, size) + messages * machine.linkOf(size).alpha;
  return std::min(alone, shared);
}

double NodeEstimate::computing(NodeId node, int64_t ranks) {
  if (const auto at = known.find({node, ranks}); at != known.end())
    return at->second;
  const double seconds =
      ranks == 1 ? localCost(localWork(tree, node), machine, TeamShares::Equal).seconds()
                 : roughSeconds(tree, node, machine, ranks, computing(node, 1));
  return known[{node, ranks}] = seconds;
}

double NodeEstimate::move(NodeId tensor, int64_t from, int64_t to) {
  const auto bytes = static_cast<double>(tree.elements(tensor) * sizeInBytes(tree.elementType()));
  const Link &used = machine.linkOf(to);
  return used.alpha * (1 + std::log2(static_cast<double>(to) / static_cast<double>(from))) +
         used.beta * bytes / static_cast<double>(from);
}

} // namespace einsumc
