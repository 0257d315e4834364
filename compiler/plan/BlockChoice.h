//===- BlockChoice.h - how a contraction is cut into blocks -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_BLOCKCHOICE_H
#define EINSUMC_PLAN_BLOCKCHOICE_H

#include "compiler/plan/TaskLoops.h"
#include "compiler/plan/WorkDims.h"

#include "einsumc/BlockTiles.h"

namespace einsumc {

/// The blocks of a contraction that the processor limits, after Goto and van de Geijn, "Anatomy of
/// High-Performance Matrix Multiplication" (ACM TOMS 34, 2008), over dims instead of m, n and k:
/// the threads share the blocks m x n of C, and multiply a packed m x k block of L by a packed
/// k x n block of R for each. A block holds parts of as many dims as it takes to read and write
/// whole cache lines of all three tensors.
struct BlockChoice {
  DimCounts counts; ///< by dim: indices in a block
  /// By dim: indices in a task, which has a block or, of a result through scratch, some.
  DimCounts taskCounts;
  int64_t m = 1, n = 1, k = 1; ///< elements of a block along each role
  int64_t mBlocks = 1, nBlocks = 1, kBlocks = 1;
  /// Blocks of the operand are copied into contiguous scratch, not read in the tensor.
  bool packsLeft = false, packsRight = false;
  /// Panels of L end in the midst of dims, as whole ones would leave too much of vectors empty.
  bool panelsAcross = false;
  /// L is read in the tensor while it is fetched from memory, tile by tile: it is used too seldom
  /// to be packed. A block then has all of n and k.
  bool fetchesLeft = false;
  /// Blocks of C are computed in scratch and then copied, as L is not contiguous where C is, or for
  /// longer than C, or as tiles would write a large C in short runs.
  bool resultThroughScratch = false;
  /// A large C is written from registers by whole lines (`runtime/WholeLines.h`), whatever part of
  /// one its rows along m begin with.
  bool resultInLines = false;
  /// The sums of a block of C, which is not contiguous for long enough where tiles would add them
  /// to it, add up in scratch and are copied when they are complete.
  bool sumsInScratch = false;
  /// Whether these are products of packed blocks, of which those of R follow each other within one
  /// of L.
  bool isPackedInScratch() const { return resultThroughScratch && !fetchesLeft; }
  /// Whether all of a packed block of L is one panel, for which blocks of R follow each other.
  bool hasOnePanel() const { return resultInLines || isPackedInScratch(); }
  /// The elements along m of a column where columns are next to each other in C, and tiles write
  /// them together past the caches if there is nothing to add to; 0: they are not.
  int64_t columnTogether = 0;
  /// The next tasks after one have the rest of the lines of C that it writes in parts if they can,
  /// although operands are packed again for that.
  bool linesInside = false;
  TaskOrder taskOrder() const { return {hasOnePanel(), linesInside}; }
  /// The operand whose order of the dims of k blocks have, as it is the one that is gone through in
  /// place or takes longer to be packed.
  Role sumsAsIn = Role::B;
  /// The tensor whose order of the dims of m blocks have: the operand, if much more is packed than
  /// written, as dims of both then lie next to each other on the way.
  Role rowsAsIn = Role::C;
  /// The threads share the sums, each with a copy of the result: there are few blocks of it.
  bool sumsInParallel = false;
  /// The loops over k are inside those over the blocks of C.
  bool sumsInside = false;
};

/// How large blocks should be on a machine.
struct BlockLimits {
  int64_t leftBytes = 0; ///< of L, or of C in scratch, which stays in the second-level cache
  int64_t streamedLeftBytes = 0; ///< the same where kernels go through it only once or twice
  int64_t rightBytes = 0;        ///< of R, which is streamed from the third-level cache
  int64_t leftBytesOfSums = 0;   ///< of L whose sums add up in scratch: with many rows
  int64_t wholeRightBytes = 0;   ///< of all of R if it passes by there for every tile of L
  bool isRightFar = false;       ///< the third-level cache is as slow as memory
  int64_t threads = 1;           ///< that have each their own packed R
  int64_t panelRows = 0;         ///< elements along m of a panel of packed L
  bool hasFewRegisters = false;  ///< for sums: packed R is rather in panels, too
  /// Elements of the result along n with which L is streamed.
  static constexpr int64_t kFewColumns = 96;
  /// Elements of a block along m: beyond these, longer ones gain nothing.
  static constexpr int64_t kMostM = 2048;
  /// Elements of a block along k that a block of L with many rows has nevertheless: it then comes
  /// in part from the third-level cache.
  static constexpr int64_t kLeastK = 384;
  /// The shortest side along n to which blocks are cut for a team.
  static constexpr int64_t kLeastN = 96;
  /// With blocks of C so long along m and n sums that would be added to it in short runs add up in
  /// scratch instead.
  static constexpr int64_t kLongSideOfSums = 256;

  BlockLimits(const Machine &machine, int64_t elementBytes);
  /// Leaves one of so many parts of the caches.
  void divide(int64_t parts);
  /// Whether the third-level cache has room for more of L beside a larger R.
  bool mayLeftBeFar() const { return leftBytesOfSums > leftBytes; }
  /// Elements of a vector.
  int64_t lanes() const { return panelRows / tiles::kPanelVectors; }
  /// The share of the lanes that are full in vectors of so many rows.
  double fullness(int64_t rows) const;
};

/// What blocks are for.
struct BlockUse {
  bool isSerial = false;    ///< one thread computes all
  bool maySplitSums = true; ///< the threads may share the sums
  bool adds = false;        ///< C may hold sums that are added to
  /// The parts of dims are even for the sake of shares of tasks.
  TeamShares shares = TeamShares::OfTasks;
};

/// Chooses the blocks.
/// \param dims with A as L
BlockChoice chooseBlocks(const WorkDims &dims, ElementType type, const Machine &machine,
                         const BlockUse &use);

/// Whether there is so little to compute that a team of threads costs more than it gains.
inline bool isForOneThread(const WorkDims &dims) {
  constexpr double kFlops = 200'000;
  return 2 * dims.iterations() < kFlops;
}

} // namespace einsumc

#endif // EINSUMC_PLAN_BLOCKCHOICE_H
