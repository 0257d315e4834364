//===- WrittenBlocks.h - blocks of contractions that mostly write -----------------*- C++ -*-===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_WRITTENBLOCKS_H
#define EINSUMC_PLAN_WRITTENBLOCKS_H

#include "compiler/plan/WorkDims.h"

#include <optional>

namespace einsumc {

/// By dim: the indices in a block of a contraction whose result is by far the largest tensor. Such
/// blocks have long runs of the result and all sums; computed in scratch, in the order of the
/// result, they are written past the caches run by run. None if the result is not that large, if
/// kernels write long runs of it by themselves, or if no block has any.
/// \param vector elements of a vector
/// \param most elements of a block of all tensors together, of which there are at least \p tasks
std::optional<DimCounts> writtenBlocks(const WorkDims &dims, int64_t elementBytes, int64_t vector,
                                       int64_t most, int64_t tasks);

} // namespace einsumc

#endif // EINSUMC_PLAN_WRITTENBLOCKS_H
