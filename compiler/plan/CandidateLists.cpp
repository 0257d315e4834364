//===- CandidateLists.cpp - the candidates of a tree's nodes, each list made once -------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/CandidateLists.h"

namespace einsumc {

CandidateLimits limitsFor(const Tree &tree) {
  constexpr NodeId kFewNodes = 8, kSomeNodes = 24;
  if (tree.size() <= kFewNodes)
    return {{8, 48, 3, true}, 3, 96, false};
  if (tree.size() <= kSomeNodes)
    return {{6, 12, 1, true}, 2, 32, false};
  return {{5, 6, 1, false}, 2, 16, false};
}

std::vector<int> lifetimesFrom(const Tree &tree, NodeId node) {
  std::vector<int> lifetimes(tree.dims().size());
  for (NodeId id = node; id < tree.size(); ++id)
    for (const DimId dim : tree.node(id).dims)
      ++lifetimes[static_cast<std::size_t>(dim)];
  return lifetimes;
}

const std::vector<Candidate> &CandidateLists::of(NodeId node, const RankRange &ranks,
                                                 bool isSparing) {
  const auto [at, isNew] = known.try_emplace({node, ranks.first, ranks.size, isSparing});
  if (isNew) {
    CandidateLimits limits = limitsFor(tree);
    limits.isSparing = isSparing;
    at->second =
        candidatesOf(tree, node, machine, transfers, ranks, lifetimesFrom(tree, node), limits);
  }
  return at->second;
}

} // namespace einsumc
