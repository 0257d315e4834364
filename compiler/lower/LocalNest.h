//===- LocalNest.h - the loops of one node on one rank ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_LOWER_LOCALNEST_H
#define EINSUMC_LOWER_LOCALNEST_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/Schedule.h"
#include "compiler/lower/ComputeShape.h"
#include "compiler/plan/LocalCost.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace einsumc {

/// Adjacent dims of one class that every tensor of the node stores next to each other and whole:
/// the nest treats them as one dim.
struct FusedDim {
  std::vector<DimId> dims; ///< from the outermost to the innermost
  DimClass dimClass = DimClass::C;
  int64_t extent = 1; ///< the largest local extent on any rank
  bool operator==(const FusedDim &) const = default;
};

/// A loop over a fused dim in steps of `step` indices.
struct NestLoop {
  std::size_t dim = 0; ///< index into LocalNest::dims
  int64_t step = 1;
  bool operator==(const NestLoop &) const = default;
};

/// The part of a dim that the kernel takes at a time: at most `count` indices. A kernel that
/// fetches L and computes C in scratch is given as many as a step of the dim's loop has and cuts
/// them itself.
struct SideDim {
  std::size_t dim = 0; ///< index into LocalNest::dims
  int64_t count = 1;
  bool operator==(const SideDim &) const = default;
};

/// What the kernel takes at a time along one of its roles, from the fastest dim to the slowest;
/// no dims: one index.
struct NestSide {
  std::vector<SideDim> dims;
  /// The largest number of elements along the role.
  int64_t size() const;
  bool operator==(const NestSide &) const = default;
};

/// How a kernel finds an operand's block.
enum class BlockAccess : uint8_t {
  Direct,  ///< in the tensor, with its strides
  Packed,  ///< copied into contiguous scratch before
  Fetched, ///< in the tensor, and fetched from memory tile by tile during the products
};

/// The local loop nest of a contraction: loops around a kernel that multiplies two blocks,
///   C[c,m,n] += sum over k of L[c,m,k] * R[c,k,n].
/// L is the operand that LIBXSMM calls A, whose m dims it wants contiguous in C; that is A, or B
/// when `swapped`: the classes M and N of the dims are then those after the exchange.
struct LocalNest {
  std::vector<FusedDim> dims;
  bool swapped = false;
  std::vector<NestLoop> loops; ///< outermost first
  /// The loops that the threads share: so many, from the first on. Loops before them are of class
  /// k, and every thread goes through all of those.
  std::size_t firstTeamLoop = 0, teamLoops = 0;
  NestKernel kernel = NestKernel::Block;
  NestSide c, m, n, k; ///< of c a block kernel has the dims of a batch that is packed
  BlockAccess left = BlockAccess::Direct;
  BlockAccess right = BlockAccess::Direct;
  /// A packed block of L is a row of panels: each holds the first `panelDims` dims of m, of the
  /// last of these `panelCount` indices (more in blocks that have fewer of the others), for every
  /// k. Or panels hold `panelRows` indices of all of m as one.
  std::size_t panelDims = 0;
  int64_t panelCount = 0;
  int64_t panelRows = 0;
  /// So is a packed block of R, of tiles::kPanelColumns indices of n; else of columns. Panels go on
  /// through the first `rightPanelDims` dims of n, and begin anew for the others.
  bool rightInPanels = false;
  std::size_t rightPanelDims = 0;
  /// Of a reordering nest: what it takes at a time, the innermost dim of a block first; how many of
  /// these dims are the vectors; and the elements of the blocks of L, R and C.
  NestSide block;
  std::size_t vectorDims = 0;
  std::array<int64_t, 3> blockElements = {};
  /// Those of L and R are packed for every call (ReorderChoice::isPackedEachTime).
  bool leftEachTime = false, rightEachTime = false;
  /// The team's loops are of class k, and each thread has its own copy of the result: the
  /// others have too few iterations.
  bool sumsInParallel = false;
  /// Steps before may have left sums in the result, to which the nest adds: told when it runs.
  bool adds = false;
  /// The threads may each have a copy of the result: it has a block of its own.
  bool maySplitSums = true;
  /// The tensors of L and R are too large to be found in a cache.
  bool leftFromMemory = false, rightFromMemory = false;
  /// The result is written once and too large for the caches.
  bool resultPastCaches = false;
  /// That is by whole lines, whatever part of one a row begins with.
  bool resultInLines = false;
  /// Blocks of the result are computed in scratch and then copied.
  bool resultThroughScratch = false;
  /// That is when all sums, whose loops are the innermost, have added up there.
  bool sumsInScratch = false;
  /// Too little work for a team of threads.
  bool serial = false;

  /// The role of the operand L or R in the tree.
  Role leftRole() const { return swapped ? Role::B : Role::A; }
  Role rightRole() const { return swapped ? Role::A : Role::B; }
};

/// Chooses the nest of a contraction from the local extents and storage orders of its tensors, and
/// the operand that plays L from the predicted cost (localCost).
/// \param adds whether the result may hold sums that the nest adds to
LocalNest chooseNest(const Tree &tree, NodeId node, const ComputeShape &shape, bool adds,
                     const Machine &machine);

/// The dims of a node fused as far as its tensors' storage allows; extents of 1 are left out.
std::vector<FusedDim> fuseDims(const Tree &tree, NodeId node, const ComputeShape &shape);

} // namespace einsumc

#endif // EINSUMC_LOWER_LOCALNEST_H
