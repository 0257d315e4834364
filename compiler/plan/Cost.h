//===- Cost.h - what a schedule is predicted to take ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_COST_H
#define EINSUMC_PLAN_COST_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/Schedule.h"

namespace einsumc {

/// The prediction for one node, its moves included.
struct NodeCost {
  double seconds = 0;        ///< all; of a stepping loop with what its transfers hide behind
  double computeSeconds = 0; ///< of the busiest rank
  double bytes = 0;          ///< sent between ranks, summed over the ranks
};

/// Predicts a node with the machine's rates: what the busiest rank computes as `localCost` has it,
/// a stepping loop as `stepCost` has it, transfers before and after as alpha + beta * w per rank.
NodeCost costOf(const Tree &tree, const Machine &machine, const Schedule &schedule, NodeId node);

} // namespace einsumc

#endif // EINSUMC_PLAN_COST_H
