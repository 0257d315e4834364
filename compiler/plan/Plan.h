//===- Plan.h - chooses how every node and tensor lies on the ranks ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_PLAN_H
#define EINSUMC_PLAN_PLAN_H

#include "compiler/ir/AssignStorage.h"
#include "compiler/ir/Machine.h"
#include "compiler/ir/ReadPlan.h"
#include "compiler/ir/Schedule.h"
#include "compiler/plan/Candidates.h"
#include "compiler/plan/CommunicationBound.h"

#include <functional>
#include <optional>

namespace einsumc {

struct PlanOptions {
  int64_t ranks = 1;
  PartialSchedule fixed = {}; ///< what the user decided; the planner chooses the rest
  /// Bytes that a rank may use; none: any number.
  std::optional<int64_t> memory = std::nullopt;
  /// Independent nodes may be computed at the same time, each on some of the ranks.
  bool mayGroup = true;
  /// One of many plans that are compared: of DAGs, and where memory is short, found in little time.
  bool isDraft = false;
  /// One of many of which the best is planned again: with few candidates a node.
  bool isRough = false;
  /// Counts the bytes that the busiest rank uses under a schedule of the tree, those among them
  /// that later stages decide on; none: those of tensors alone (storedBytes).
  std::function<double(const Tree &, const Schedule &)> countBytes = nullptr;

  double bytesOf(const Tree &tree, const Schedule &schedule) const {
    return countBytes ? countBytes(tree, schedule) : storedBytes(tree, schedule);
  }
};

/// The schedule of the tree that is predicted to take the least time (costOf) of those that its
/// nodes' candidates (candidatesOf) and the placements of its inputs make together, moves between
/// placements included, and of inputs what reading copies of them takes
/// (TransferCost::readSeconds). What is fixed stays; pins of inputs and outputs are kept.
///
/// Nodes may have all ranks, all of them fewer where messages take most of the time, or independent
/// parts of the tree groups of them (`rankGroups`, of small trees also `allRankGroups`): each of
/// these is planned, and the best taken.
/// For given ranks exact over the candidates on trees, and on DAGs as `minimiseSum` is, as far as
/// the sum over the nodes is what counts. Where the result needs more memory than there is, bytes
/// are given a price at the nodes where they are too many (H. Everett, "Generalized Lagrange
/// multiplier method", Operations Research 11, 1963), which is raised until the schedule fits; if
/// none does, the result is one that needs little.
/// \pre tree.isBinary(), and what is fixed passes checkNodeSchedule and checkPlacement
Schedule plan(const Tree &tree, const Machine &machine, const PlanOptions &options);

/// One of the schedules of a node that were thought about, and what comes of it, in all slices.
struct Alternative {
  NodeSchedule schedule;
  NodeCost cost;       ///< of the node
  RankTraffic traffic; ///< of the node
  /// Of the whole tree: what is charged for reading inputs, and all seconds, these among them,
  /// with the best that the other nodes can then do (in a large tree: as they are).
  double readSeconds = 0;
  double seconds = 0;
  /// What is added to the seconds of the whole tree for doubt.
  double doubtSeconds = 0;
  /// All of that, node by node, one after the other: the sum that the search makes least.
  double sumSeconds = 0;
  double otherComputeSeconds = 0; ///< of the other nodes; 0 in a large tree: not counted
  double bytes =
      0; ///< of the busiest rank at a time, for all tensors; 0 in a large tree: not counted
  bool isChosen = false;
  /// Of a node with a fixed schedule: what the planner takes where no schedules are fixed.
  bool isPlanned = false;

  /// What is compared.
  double countedSeconds() const { return seconds + doubtSeconds; }
};

struct Alternatives {
  /// By node: what `plan` chooses, then of every other algorithm (algorithmName) the best
  /// candidate, the fastest for the whole tree first; where there is one algorithm alone, its other
  /// candidates. Of a node with a fixed schedule that, then those that it has where no schedules
  /// and placements are fixed. Empty for inputs.
  std::vector<std::vector<Alternative>> ofNode;
  std::vector<RankRange> ranges; ///< by node: the ranks that it may have
  double countedSeconds = 0;     ///< of the whole tree in all slices, with what is added for doubt
  /// The same where each node may have all ranks, if that was tried and fits the memory.
  std::optional<double> onAllRanks;
};

/// What `plan` chose from, of each node at most so many.
Alternatives alternatives(const Tree &tree, const Machine &machine, const PlanOptions &options,
                          std::size_t most);

} // namespace einsumc

#endif // EINSUMC_PLAN_PLAN_H
