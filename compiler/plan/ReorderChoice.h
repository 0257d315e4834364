//===- ReorderChoice.h - blocks of contractions whose tensors have different orders -----------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_REORDERCHOICE_H
#define EINSUMC_PLAN_REORDERCHOICE_H

#include "compiler/plan/WorkDims.h"

#include <array>

namespace einsumc {

/// Blocks of a contraction that lacks rows, columns or sums, or of a batch of tiny products, in
/// which the tensors have one order of the dims: as they lie there or, where they are packed, in
/// scratch.
struct ReorderChoice {
  DimCounts counts; ///< by dim: indices in a block
  DimIndices order; ///< the dims of a block, the innermost first
  /// The first so many dims are what kernels go along as one: a packed operand with some of them
  /// has its elements repeated along the others.
  std::size_t vectorDims = 1;
  std::array<bool, 3> packs = {}; ///< by role: whether its blocks lie in scratch
  LocalCost cost;

  bool isPacked(Role role) const { return packs[static_cast<std::size_t>(role)]; }
  /// Whether kernels go along sums, and neither the largest tensor nor the result is packed.
  bool areDotsInPlace(const WorkDims &dims) const;
  /// Whether there are blocks of the result for all threads, and of it or the sums enough to keep
  /// them busy.
  bool hasTasks(const WorkDims &dims, const Machine &machine) const;
  /// Whether an operand's block is packed for every call: it repeats along a dim that the operand
  /// lacks, and what is packed for the last, smaller, block does not begin as that for others does.
  bool isPackedEachTime(const WorkDims &dims, Role role) const;
  /// Elements of a packed block along a dim: 1 if it has neither the dim nor repeats along it.
  int64_t packedCount(const WorkDims &dims, Role role, std::size_t dim) const;
};

/// Chooses blocks that all large tensors have in long pieces, and of the orders of their dims that
/// one of the tensors suggests the one that is the cheapest by the machine's rates.
/// \pre canReorder, mayReorder or mayBeDots
ReorderChoice chooseReordering(const WorkDims &dims, ElementType type, const Machine &machine);

} // namespace einsumc

#endif // EINSUMC_PLAN_REORDERCHOICE_H
