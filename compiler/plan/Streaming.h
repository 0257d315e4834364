//===- Streaming.h - contractions that are computed on their tensors in place -----------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_STREAMING_H
#define EINSUMC_PLAN_STREAMING_H

#include "compiler/ir/Machine.h"
#include "compiler/plan/WorkDims.h"

namespace einsumc {

/// Elements at a time of kernels that stream through memory; and sums, where rows that are used
/// once go on for so long: a processor fetches them the faster from memory the longer they are.
constexpr int64_t kStream = 2048, kStreamedSums = 16384;

/// The tensor with the most elements.
Role largestTensor(const WorkDims &dims);

/// Tasks that keep the threads of a node busy that streams.
int64_t enoughTasks(const Machine &machine);

/// Indices of each dim in one call of a kernel that streams: it goes along a dim of each class.
DimCounts streamedCounts(const WorkDims &dims);

/// The same after dims of the result are cut into enough tasks for the threads.
DimCounts sharedCounts(const WorkDims &dims, const Machine &machine);

/// Iterations of the loops over a result of which a call has so many indices of each dim.
int64_t tasksOfCalls(const WorkDims &dims, const DimCounts &counts);

/// Whether a contraction moves more than it computes, so that its tensors are read in place: one
/// operand is (nearly) a vector, or the elements of a batch lie next to each other in the result
/// and in an operand or are few sums, and kernels go along vectors of the largest tensor; or a
/// batch has products so small that packing each would cost more.
bool isStreaming(const WorkDims &dims, const Machine &machine);

/// Whether one that streams has rows and columns, and enough iterations for packing to pay, so that
/// blocks may be faster than kernels that read short pieces in place.
bool mayBeBlocks(const WorkDims &dims);

/// Whether few columns pass by long rows of a large tensor, reading which takes far longer than to
/// write the results: kernels in place go along some of these rows at a time, which a processor
/// then fetches at the speed of memory by itself. A kernel must have all columns, and the rows stay
/// long where the threads share them.
bool goesAlongRows(const WorkDims &dims, const Machine &machine);

/// Whether a contraction lacks rows, columns or sums, or the elements of a batch of tiny products
/// lie next to each other in the result, or fill vectors best, so that it is reordered where it
/// does not stream. Other outer products have blocks of rows and columns.
bool canReorder(const WorkDims &dims);

/// Whether one that is not reordered for that has few sums and a result along a batch, so that
/// vectors along that may be faster than blocks.
bool mayReorder(const WorkDims &dims);

/// Whether a contraction that is not reordered anyway has few rows or columns and a large operand
/// along sums, so that dots of that in place may be faster than blocks, for which it is
/// packed.
bool mayBeDots(const WorkDims &dims);

} // namespace einsumc

#endif // EINSUMC_PLAN_STREAMING_H
