//===- LocalNest.h - the loops of one node on one rank ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_LOWER_LOCALNEST_H
#define EINSUMC_LOWER_LOCALNEST_H

#include "compiler/ir/Schedule.h"

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

/// The part of a tile along one role of the kernel: fused dims from the fastest to the slowest.
/// All are taken whole but the last, of which `count` indices at a time are.
struct TileSide {
  std::vector<std::size_t> dims; ///< indices into LocalNest::dims; empty: one index
  int64_t count = 1;
  bool operator==(const TileSide &) const = default;
};

/// How a kernel finds an operand's tile.
enum class TileAccess : uint8_t {
  Direct, ///< in the tensor, with its strides
  Packed, ///< copied into contiguous scratch before (A, B), or written from it after (C)
};

/// The local loop nest of a contraction: loops over the dims that a tile does not take whole,
/// those of class k innermost, around a kernel that multiplies two tiles,
///   C[c,m,n] += sum over k of L[c,m,k] * R[c,k,n].
/// L is the operand whose m dim is the fastest in C (LIBXSMM wants m contiguous in C); that is A,
/// or B when `swapped`: the classes M and N of the dims are then those after the exchange.
struct LocalNest {
  std::vector<FusedDim> dims;
  bool swapped = false;
  std::vector<NestLoop> loops; ///< outermost first; the k loops last
  TileSide c, m, n, k;
  TileAccess left = TileAccess::Direct;
  TileAccess right = TileAccess::Direct;
  TileAccess result = TileAccess::Direct;
  /// The threads share the k loops, each with its own copy of the result, because the others have
  /// too few iterations.
  bool sumsInParallel = false;
  /// Too little work for a team of threads.
  bool serial = false;

  /// The number of loops before the first of class k.
  std::size_t outerLoops() const;
  /// The role of the operand L or R in the tree.
  Role leftRole() const { return swapped ? Role::B : Role::A; }
  Role rightRole() const { return swapped ? Role::A : Role::B; }
};

/// Chooses the nest of a contraction from the local extents and storage orders of its tensors.
/// \param stored the layouts in which the compute finds A and B and leaves C.
LocalNest chooseNest(const Tree &tree, NodeId node, const NodeSchedule &schedule,
                     const std::array<Layout, 3> &stored);

/// The dims of a node fused as far as its tensors' storage allows; extents of 1 are left out.
std::vector<FusedDim> fuseDims(const Tree &tree, NodeId node, const NodeSchedule &schedule,
                               const std::vector<Layout> &stored);

} // namespace einsumc

#endif // EINSUMC_LOWER_LOCALNEST_H
