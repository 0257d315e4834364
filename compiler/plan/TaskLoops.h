//===- TaskLoops.h - the order of tasks and how evenly they are shared ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_TASKLOOPS_H
#define EINSUMC_PLAN_TASKLOOPS_H

#include "compiler/plan/WorkDims.h"

namespace einsumc {

/// The dims that are cut into tasks, as the loops over these have them, the outermost first.
/// \param counts by dim: indices in a task
/// \param rowsOutside with m outside of n
DimIndices taskLoops(const WorkDims &dims, double elementBytes, const DimCounts &counts,
                     bool rowsOutside);

/// The work of the thread with the most: a number to compare.
double largestShare(const WorkDims &dims, double elementBytes, const DimCounts &counts,
                    bool rowsOutside, int64_t threads);

/// Makes the parts of dims equal where the thread with the most work then has much less: each
/// computes as many tasks as the others, or one more, in the order of the loops.
/// \param vector what parts of the dim along which C is written are multiples of
void evenTasks(const WorkDims &dims, double elementBytes, bool rowsOutside, int64_t threads,
               int64_t vector, DimCounts &counts);

} // namespace einsumc

#endif // EINSUMC_PLAN_TASKLOOPS_H
