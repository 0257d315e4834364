//===- NodeEstimate.cpp - about what a node takes on a number of ranks ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/NodeEstimate.h"

#include "compiler/plan/Algorithms.h"
#include "compiler/plan/LocalCost.h"
#include "compiler/plan/WorkCuts.h"

#include "llvm/ADT/STLExtras.h"

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

double NodeEstimate::node(NodeId node, int64_t ranks) {
  const int64_t size = roundedDown(ranks);
  const auto [at, isNew] = known.try_emplace({node, size}, 0);
  if (!isNew)
    return at->second;
  if (size == 1)
    return at->second = localCost(localWork(tree, node, localSchedule(1)), machine).seconds();
  const double alone = this->node(node, 1);
  const auto moved = llvm::count_if(tree.node(node).operands, [&](const Operand &operand) {
    return tree.node(operand.node).kind != NodeKind::Input;
  });
  const double messages = static_cast<double>(moved) * std::log2(static_cast<double>(size));
  const double shared =
      roughSeconds(tree, node, machine, size, alone) + messages * machine.linkOf(size).alpha;
  return known[{node, size}] = std::min(alone, shared);
}

double NodeEstimate::move(NodeId tensor, int64_t from, int64_t to) {
  const auto bytes = static_cast<double>(tree.elements(tensor) * sizeInBytes(tree.elementType()));
  const Link &used = machine.linkOf(to);
  return used.alpha * (1 + std::log2(static_cast<double>(to) / static_cast<double>(from))) +
         used.beta * bytes / static_cast<double>(from);
}

} // namespace einsumc
