//===- Plan.h - chooses how every node and tensor lies on the ranks ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_PLAN_H
#define EINSUMC_PLAN_PLAN_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/ReadPlan.h"
#include "compiler/ir/Schedule.h"

namespace einsumc {

struct PlanOptions {
  int64_t ranks = 1;
  PartialSchedule fixed; ///< what the user decided; the planner chooses the rest
};

/// A valid schedule of the tree. What is fixed stays; pins of inputs and outputs are kept; every
/// other node is
///   - `local` on all ranks when it is too small for a message to pay,
///   - else cut along a c dim (`dist_c`),
///   - else along an m or n dim (`tp1d`), the other operand copied,
///   - else along a k dim (`reduce_k`), partial sums added up into blocks,
/// along the dim that leaves the fewest ranks idle, the longest of equals; an input lies where its
/// first user needs it.
/// \pre tree.isBinary(), and what is fixed passes checkNodeSchedule and checkPlacement
Schedule plan(const Tree &tree, const Machine &machine, const PlanOptions &options);

} // namespace einsumc

#endif // EINSUMC_PLAN_PLAN_H
