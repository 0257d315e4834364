//===- CandidateLists.h - the candidates of a tree's nodes, each list made once ---------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_CANDIDATELISTS_H
#define EINSUMC_PLAN_CANDIDATELISTS_H

#include "compiler/ir/ShapeKey.h"
#include "compiler/plan/Candidates.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace einsumc {

/// How many candidates of a node are thought about in a tree of so many nodes.
/// \param isRough for a plan that is compared with many others
CandidateLimits limitsFor(const Tree &tree, bool isRough = false);

/// By dim: of how many results from a node on it is one.
std::vector<int> lifetimesFrom(const Tree &tree, NodeId node);

/// `candidatesOf` the nodes of a tree on any of a schedule's ranks. Trees are planned with one
/// choice of ranks after the other: what these have in common is found once, and so is what nodes
/// have in common that differ in the names of dims alone.
class CandidateLists {
public:
  /// \param isRough as of limitsFor
  CandidateLists(const Tree &tree, const Machine &machine, int64_t ranks, bool isRough = false)
      : tree(tree), machine(machine), transfers(machine, ranks), limits(limitsFor(tree, isRough)) {}

  /// \param isSparing memory is short
  const std::vector<Candidate> &of(NodeId node, const RankRange &ranks, bool isSparing);
  /// The only one of a node whose schedule is given.
  const Candidate &of(NodeId node, const NodeSchedule &fixed);

  const Tree &tree;
  const Machine &machine;
  const TransferCost transfers;
  const CandidateLimits limits;

private:
  /// What candidates depend on.
  ShapeKey keyOf(NodeId node) const;
  std::vector<Candidate> listOf(NodeId node, const RankRange &ranks, bool isSparing);

  /// By node or shape, first rank, number of ranks and whether memory is short.
  std::map<std::tuple<NodeId, int64_t, int64_t, bool>, std::vector<Candidate>> known;
  std::map<std::tuple<ShapeKey, int64_t, int64_t, bool>, NodeId> firstOfShape;
  std::map<NodeId, Candidate> given;
};

} // namespace einsumc

#endif // EINSUMC_PLAN_CANDIDATELISTS_H
