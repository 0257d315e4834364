//===- TaskLoops.h - the order of tasks and how evenly they are shared ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_TASKLOOPS_H
#define EINSUMC_PLAN_TASKLOOPS_H

#include "compiler/plan/WorkDims.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace einsumc {

/// The order of tasks: batches outside, and within them n outside of m, unless told otherwise.
struct TaskOrder {
  bool rowsOutside = false; ///< m outside of n
  /// The next tasks after one have the rest of the lines of the result that it writes in parts, if
  /// there are such tasks.
  bool linesInside = false;
};

/// The dims that are cut into tasks, as the loops over these have them, the outermost first.
/// \param counts by dim: indices in a task
DimIndices taskLoops(const WorkDims &dims, double elementBytes, const DimCounts &counts,
                     TaskOrder order);

/// The first task of a thread, or one behind the last thread's: each has a row of tasks, as many as
/// the others or one more, as OpenMP's static schedule deals them. TaskShares spreads
/// those with one more over the team, and threads may take others' at the end.
int64_t firstTask(int64_t thread, int64_t threads, int64_t tasks);

/// How many times as much as all threads in the mean the one with the most work has: each computes
/// its own tasks, in the order of the loops, as if all were as fast.
/// \param counts by dim: indices in a task
/// \param loops as taskLoops has them
double imbalanceOf(const WorkDims &dims, const DimCounts &counts, const DimIndices &loops,
                   int64_t threads);

/// What a choice of parts takes: in all, and for kernels of the thread with the most work.
struct TeamTime {
  double seconds = 0, kernelSeconds = 0, imbalance = 1;
};

/// Takes shorter parts of the dims that are cut where that makes an uneven team clearly faster, of
/// kernels somewhat faster:
/// step by step those of one dim with which it is the fastest, as long as the threads' shares
/// become more equal.
/// \param counts by dim: indices in a task
/// \param vector elements of one
DimCounts evenParts(const WorkDims &dims, int64_t vector, const DimCounts &counts,
                    llvm::function_ref<TeamTime(const DimCounts &)> timeOf);

} // namespace einsumc

#endif // EINSUMC_PLAN_TASKLOOPS_H
