//===- Cost.h - what a schedule is predicted to take ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_COST_H
#define EINSUMC_PLAN_COST_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/Schedule.h"
#include "compiler/plan/StepSeconds.h"
#include "compiler/plan/TransferCost.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace einsumc {

/// What a node takes from when its operands lie as it needs them to when its result lies where it
/// is stored.
struct RunCost {
  double computeSeconds = 0;  ///< of the busiest rank
  double transferSeconds = 0; ///< of chunks under way and of sums that are added up, hidden or not
  double seconds = 0;         ///< with what hides behind compute
};

/// Predicts the schedules of a node: what the busiest rank computes as `localCost` has it, a
/// stepping loop as `stepCost` has it. Transfers that hide behind compute still take a share of the
/// cores and of the memory from it. Remembers what blocks of the work take.
class RunCosts {
public:
  RunCosts(const Tree &tree, NodeId node, const Machine &machine, const TransferCost &transfers)
      : tree(tree), node(node), machine(machine), transfers(transfers), parts(tree, node, machine) {
  }

  RunCost of(const NodeSchedule &on);

  /// In a fraction of the time, a number that is no more than the seconds.
  /// \param stepping of the schedule (steppingOf)
  double bound(const NodeSchedule &on, const std::optional<Stepping> &stepping);

private:
  /// Of the busiest rank, without a stepping loop.
  double computeSeconds(const NodeSchedule &on);
  double computeBound(const NodeSchedule &on) const;

  const Tree &tree;
  const NodeId node;
  const Machine &machine;
  const TransferCost &transfers;
  PartSeconds parts;
};

/// The same of a single schedule.
RunCost runCost(const Tree &tree, NodeId node, const NodeSchedule &on, const Machine &machine,
                const TransferCost &transfers);

/// The prediction for one node, its moves included.
struct NodeCost {
  double seconds = 0;         ///< all
  double computeSeconds = 0;  ///< of the busiest rank
  double transferSeconds = 0; ///< of the node's own, hidden or not
  double supplySeconds = 0;   ///< of operands that are moved to where the node needs them
  double bytes = 0;           ///< sent between ranks, summed over the ranks
};

/// The same so many times.
NodeCost operator*(double times, const NodeCost &cost);

/// Predicts a node within a schedule; of an output the move to where it ends is part of it.
NodeCost costOf(const Tree &tree, const Machine &machine, const TransferCost &transfers,
                const Schedule &schedule, NodeId node);

/// The prediction for a whole schedule, of all slices: when the last rank is done, where ranks that
/// do different nodes do so at the same time; of compute and transfers, those of the rank with
/// most; bytes of all.
NodeCost costOf(const Tree &tree, const Machine &machine, const Schedule &schedule);

} // namespace einsumc

#endif // EINSUMC_PLAN_COST_H
