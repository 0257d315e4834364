//===- GrowBlock.h - what a block of a contraction has for the caches -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_GROWBLOCK_H
#define EINSUMC_PLAN_GROWBLOCK_H

#include "compiler/plan/BlockChoice.h"
#include "compiler/plan/BlockCounts.h"
#include "compiler/plan/WorkDims.h"

namespace einsumc {

/// By dim: indices of a batch that make runs of operands which are not short, and that make lines.
struct BatchCounts {
  DimCounts runs, lines;
};

/// Panels and vectors of rows.
inline BlockCounts::Steps rowSteps(const BlockLimits &limits) {
  return {limits.panelRows, limits.lanes()};
}

/// What blocks are grown for.
struct BlockAims {
  bool areSumsInScratch = false; ///< short sums and many rows
  Role sumsAlong = Role::B;      ///< the operand that has the longer runs of sums
  bool areVectorsFuller = false; ///< rows of panels across dims, with a little more room
  bool isLeftFar = false;        ///< L may come from the third-level cache, so that sums are longer
  bool areColumnsMore = false;   ///< of R, with shorter sums: L is packed less often

  /// The share of the lanes of vectors that rows of panels across dims should fill.
  double fullness() const { return isLeftFar ? 1 : areVectorsFuller ? 0.98 : 0.95; }
};

/// Grows a block of one index of each dim to what the caches have room for: parts of dims of all
/// classes that make long runs, then long sums, rows of L and columns of R.
BatchCounts growBlock(const WorkDims &dims, const BlockLimits &limits, int64_t elementBytes,
                      const BlockAims &aims, BlockCounts &block);

} // namespace einsumc

#endif // EINSUMC_PLAN_GROWBLOCK_H
