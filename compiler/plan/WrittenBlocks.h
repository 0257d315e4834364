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

/// Blocks of a contraction with a large result that have long runs of it and all sums: computed in
/// scratch, they are written past the caches run by run.
struct WrittenBlocks {
  DimCounts counts; ///< by dim: the indices in a block
  /// The result is by far the largest tensor, and its runs decide: the estimate need not be asked.
  bool areMostlyWritten = false;
};

/// Blocks of a contraction with a large result for kernels that write whole lines of it: the
/// indices in a block by dim, all of the sums. None if rows of the result along m do not fill a
/// vector, sums are long, or vectors are short.
/// \param vector elements of a vector
/// \param most elements of a block of both operands, about; there are at least \p tasks blocks
std::optional<DimCounts> blocksInLines(const WorkDims &dims, int64_t elementBytes, int64_t vector,
                                       int64_t most, int64_t tasks);

/// None if the result is small or sums are long, if kernels write long runs by themselves, or if no
/// block has any.
/// \param vector elements of a vector
/// \param most elements of a block of all tensors together, of which there are at least \p tasks
std::optional<WrittenBlocks> writtenBlocks(const WorkDims &dims, int64_t elementBytes,
                                           int64_t vector, int64_t most, int64_t tasks);

} // namespace einsumc

#endif // EINSUMC_PLAN_WRITTENBLOCKS_H
