//===- ShareWork.h - blocks of a contraction that keep a team busy ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_SHAREWORK_H
#define EINSUMC_PLAN_SHAREWORK_H

#include "compiler/plan/BlockChoice.h"
#include "compiler/plan/BlockCounts.h"
#include "compiler/plan/GrowBlock.h"
#include "compiler/plan/WorkDims.h"

#include <cstdint>

namespace einsumc {

/// What keeps a team busy.
struct TeamNeeds {
  int64_t tasks = 1; ///< blocks of the result
  int64_t sums = 1;  ///< blocks of the sums, if these are shared instead
  int64_t threads = 1;
  bool maySplitSums = true; ///< each thread may have a result of its own
};

/// Gives the threads enough blocks of the sums if there are as many, else of the result, or at last
/// shorter ones of the sums, or of a batch along which operands are then read in lines, and in
/// parts of lines if there still are very few. Returns whether the threads share the sums.
bool shareWork(const WorkDims &dims, const BlockLimits &limits, const BlockAims &aims,
               const TeamNeeds &needs, const BatchCounts &batch, BlockCounts &block);

} // namespace einsumc

#endif // EINSUMC_PLAN_SHAREWORK_H
