//===- Cost.h - what a schedule is predicted to take ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_IR_COST_H
#define EINSUMC_IR_COST_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/Schedule.h"

namespace einsumc {

/// The prediction for one node, its moves included.
struct NodeCost {
  double seconds = 0;        ///< compute, then transfer
  double computeSeconds = 0; ///< of the busiest rank: the larger of arithmetic and memory traffic
  double bytes = 0;          ///< sent between ranks, summed over the ranks
};

/// Predicts a node with the machine's rates: compute at the sustained rate or at the memory
/// bandwidth, whichever takes longer; transfers as alpha + beta * w per rank.
NodeCost costOf(const Tree &tree, const Machine &machine, const Schedule &schedule, NodeId node);

} // namespace einsumc

#endif // EINSUMC_IR_COST_H
