//===- CandidateLists.h - the candidates of a tree's nodes, each list made once ---------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_CANDIDATELISTS_H
#define EINSUMC_PLAN_CANDIDATELISTS_H

#include "compiler/ir/ShapeKey.h"
#include "compiler/plan/Candidates.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
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

  /// A node, and ranks that may compute it.
  struct NodeOn {
    NodeId node;
    RankRange ranks;
  };

  /// Makes lists that will be asked for, side by side.
  void prepare(llvm::ArrayRef<NodeOn> wanted, bool isSparing);
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
  /// Those of a node in the names of one that differs in names alone.
  std::vector<Candidate> renamed(std::vector<Candidate> list, NodeId from, NodeId to) const;

  /// First rank, number of ranks and whether memory is short.
  using Situation = std::tuple<int64_t, int64_t, bool>;
  static Situation situationOf(const RankRange &ranks, bool isSparing) {
    return {ranks.first, ranks.size, isSparing};
  }
  std::map<std::pair<NodeId, Situation>, std::vector<Candidate>> known;
  std::map<std::pair<ShapeKey, Situation>, NodeId> firstOfShape;
  std::map<NodeId, Candidate> given;
};

} // namespace einsumc

#endif // EINSUMC_PLAN_CANDIDATELISTS_H
