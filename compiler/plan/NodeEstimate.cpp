//===- NodeEstimate.cpp - about what a node takes on a number of ranks ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/NodeEstimate.h"

#include "compiler/plan/Candidates.h"

#include <algorithm>
#include <limits>

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

/// Each rank has an even share.
Placement spread(const Tree &tree, NodeId tensor, int64_t ranks) {
  const std::vector<int64_t> extents = tree.extents(tensor);
  const auto longest = std::max_element(extents.begin(), extents.end());
  if (extents.empty() || *longest < ranks)
    return {{{1}, 0}, {copied()}};
  return {{{ranks}, 0}, {split(static_cast<int>(longest - extents.begin()))}};
}

} // namespace

const TransferCost &NodeEstimate::transfersOn(int64_t ranks) {
  return transfers.try_emplace(ranks, machine, ranks).first->second;
}

double NodeEstimate::node(NodeId node, int64_t ranks) {
  const int64_t size = roundedDown(ranks);
  const auto [at, isNew] = known.try_emplace({node, size}, std::numeric_limits<double>::infinity());
  if (!isNew)
    return at->second;
  const CandidateLimits kFew = {{4, 4, 1, false}, 1, 8, false};
  const std::vector<int> lifetimes(tree.dims().size());
  for (const Candidate &candidate :
       candidatesOf(tree, node, machine, transfersOn(size), {0, size}, lifetimes, kFew)) {
    double seconds = candidate.score;
    for (std::size_t o = 0; o < candidate.needs.size(); ++o)
      seconds += supplySeconds(tree.node(node).operands[o].node, candidate.needs[o],
                               candidate.areChunks[o], size);
    at->second = std::min(at->second, seconds);
  }
  return at->second;
}

double NodeEstimate::supplySeconds(NodeId tensor, const Placement &need, bool areChunks,
                                   int64_t ranks) {
  const TransferCost &transfers = transfersOn(ranks);
  if (tree.node(tensor).kind == NodeKind::Input)
    return transfers.readSeconds(tree, tensor, need);
  return supply == Supply::InPlace
             ? 0
             : transfers.supplySeconds(tree, tensor, spread(tree, tensor, ranks), need, areChunks);
}

double NodeEstimate::move(NodeId tensor, int64_t from, int64_t to) {
  return transfersOn(to).moveSeconds(tree, tensor, spread(tree, tensor, from),
                                     spread(tree, tensor, to));
}

} // namespace einsumc
