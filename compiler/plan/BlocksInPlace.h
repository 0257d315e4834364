//===- BlocksInPlace.h - blocks of contractions whose R is read in place ------------*- C++ -*-===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_BLOCKSINPLACE_H
#define EINSUMC_PLAN_BLOCKSINPLACE_H

#include "compiler/plan/BlockChoice.h"
#include "compiler/plan/BlockCounts.h"
#include "compiler/plan/WorkDims.h"

namespace einsumc {

/// Grows a block of one index of each dim along columns of R as kernels read them in the tensor:
/// all its sums are neighbours there, whatever their order in L. Returns whether these are enough,
/// and lie, with the columns that follow each other, in long enough runs.
bool growInPlace(const WorkDims &dims, const BlockLimits &limits, int64_t elementBytes,
                 BlockCounts &block);

} // namespace einsumc

#endif // EINSUMC_PLAN_BLOCKSINPLACE_H
