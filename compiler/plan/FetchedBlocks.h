//===- FetchedBlocks.h - blocks of contractions whose L is read in place ------------*- C++ -*-===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_FETCHEDBLOCKS_H
#define EINSUMC_PLAN_FETCHEDBLOCKS_H

#include "compiler/plan/BlockChoice.h"
#include "compiler/plan/WorkDims.h"

#include <optional>

namespace einsumc {

/// Blocks with all sums of a contraction with a large L that meets few columns: it is fetched from
/// memory during the product. None if packing L takes little of the time, or it cannot be read in
/// long enough rows.
/// \param dims with A as L
/// \param enoughTasks that keep so many threads busy; both are 1 where one thread computes all
std::optional<BlockChoice> fetchedBlocks(const WorkDims &dims, int64_t elementBytes,
                                         const BlockLimits &limits, int64_t threads,
                                         int64_t enoughTasks);

} // namespace einsumc

#endif // EINSUMC_PLAN_FETCHEDBLOCKS_H
