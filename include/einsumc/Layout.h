//===- Layout.h - where every rank's part of a tensor lies ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Pure arithmetic on grids of ranks, block partitions and placements: no MPI, no memory. It is
// the one definition of "which rank holds what" that the compiler, which predicts volumes, and
// the runtime, which moves data, both use.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_LAYOUT_H
#define EINSUMC_LAYOUT_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace einsumc {

/// The half-open range [begin, end) of global indices of one dim.
struct Interval {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end > begin ? end - begin : 0; }
  bool empty() const { return end <= begin; }
  bool operator==(const Interval &) const = default;
};

/// The common part of two intervals; empty when they do not meet.
Interval intersect(Interval a, Interval b);

/// Block \p index of the range \p whole cut over \p parts: the first `size mod parts` blocks have
/// `ceil(size / parts)` indices, the others `floor(size / parts)`; a block may be empty.
/// \pre parts >= 1, 0 <= index < parts
Interval blockOf(Interval whole, int64_t parts, int64_t index);

/// A product of intervals, one a tensor position. A box of no positions holds one element.
using Box = std::vector<Interval>;

/// The number of elements of a box: 1 for a scalar's, 0 when any interval is empty.
int64_t volume(const Box &box);

/// The common part of two boxes of the same number of positions.
Box intersect(const Box &a, const Box &b);

/// Whether a box is one run of elements in the row-major block around it.
bool isContiguous(const Box &box, const Box &block);

/// Ranks seen as a Cartesian array, row-major: rank `firstRank + row-major index`. A grid without
/// axes is one rank alone.
struct Grid {
  std::vector<int64_t> extents;
  int64_t firstRank = 0;

  /// The number of ranks on the grid.
  int64_t size() const;
  bool contains(int64_t rank) const;
  /// The coordinates of a rank, one an axis. \pre contains(rank)
  std::vector<int64_t> coordinates(int64_t rank) const;
  /// From a rank to the next along an axis.
  int64_t stride(std::size_t axis) const;
  /// The rank at the given coordinates, one an axis.
  int64_t rankAt(const std::vector<int64_t> &coordinates) const;
  bool operator==(const Grid &) const = default;
};

/// Of the ranks of a grid those at the first and the last coordinate of each axis, or at every one
/// of the axes in \p every, if it says so: among them are the largest and the smallest of all
/// blocks, since the first block of a cut is the largest and the last the smallest.
std::vector<int64_t> outermostRanks(const Grid &grid, const std::vector<bool> &every = {});

/// How a tensor lies on one axis of a grid.
enum class AxisKind : uint8_t {
  Split,   ///< S(d): cut along one of the tensor's positions
  Copy,    ///< B: a full copy on each rank of the axis
  Partial, ///< P: partial sums still to be added over the axis
  Root,    ///< R: all of it on the rank at coordinate 0, nothing on the others
};

/// The placement on one axis.
struct AxisPlacement {
  AxisKind kind = AxisKind::Copy;
  /// For Split: the tensor's position that is cut, counted from 0.
  int position = 0;
  /// For Split: when several axes cut the same position, those of a lower level cut first, and
  /// within a level in the order of the axes. Level 0 is the cut of the work, level 1 that of the
  /// stored chunks of a tensor that travels along the axis: collecting the chunks of level 1
  /// leaves the contiguous block of level 0.
  int level = 0;

  bool operator==(const AxisPlacement &) const = default;
};

inline AxisPlacement split(int position, int level = 0) {
  return {AxisKind::Split, position, level};
}
inline AxisPlacement copied() { return {AxisKind::Copy, 0, 0}; }
inline AxisPlacement partial() { return {AxisKind::Partial, 0, 0}; }
inline AxisPlacement atRoot() { return {AxisKind::Root, 0, 0}; }

/// Of an extent that is cut into so many parts, in one step or in several: the first block, which
/// is the largest.
constexpr int64_t firstBlock(int64_t extent, int64_t parts) { return (extent + parts - 1) / parts; }

/// The parts into which the axes of a grid cut a tensor's position, all axes but `except`.
int64_t partsAlong(const Grid &grid, const std::vector<AxisPlacement> &axes, std::size_t position,
                   std::size_t except);

/// A tensor's extents and how it lies on a grid: everything that says which element is where.
struct Layout {
  std::vector<int64_t> extents; ///< one a position, in storage order (the last is the fastest)
  Grid grid;
  std::vector<AxisPlacement> axes; ///< one an axis of the grid

  /// Whether the rank is on the grid and, on every Root axis, at coordinate 0.
  bool holds(int64_t rank) const;
  /// What the block of a rank has of a position. \pre holds(rank)
  Interval range(std::size_t position, int64_t rank) const;
  /// The block that a rank stores; all intervals are [0, 0) when it holds nothing (no positions
  /// and no hold is told apart by `holds` alone).
  Box box(int64_t rank) const;
  /// Whether the rank holds its block and is at coordinate 0 of every Copy axis: each element of
  /// a tensor without Partial axes has exactly one primary holder.
  bool isPrimary(int64_t rank) const;
  /// Whether some axis holds partial sums.
  bool hasPartial() const;
  /// The number of elements a rank stores.
  int64_t localSize(int64_t rank) const;
  /// The number of elements that the grid's first rank stores, which has the largest block.
  int64_t largestSize() const { return largestSize(axes.size()); }
  /// The same of what it has once it has collected all blocks along an axis.
  int64_t largestSize(std::size_t collected) const;
  bool operator==(const Layout &) const = default;
};

/// A layout from its parts, for constants of emitted programs.
Layout makeLayout(std::initializer_list<int64_t> extents, std::initializer_list<int64_t> grid,
                  std::initializer_list<AxisPlacement> axes, int64_t firstRank = 0);

/// One message of a redistribution: `box` of the tensor goes from rank `from` to rank `to`
/// (which may be the same rank: a local copy). When the source has Partial axes, `to` receives
/// the same box from several ranks and adds them.
struct Transfer {
  int64_t from = 0;
  int64_t to = 0;
  Box box;
  bool operator==(const Transfer &) const = default;
};

/// What rank `to` receives when a tensor goes from one layout to another, ordered by sender.
/// Every element of `to`'s block comes from exactly one holder of each partial sum; among
/// replicas the receiver itself is preferred, then one chosen by the receiver's rank so that the
/// receivers spread over the replicas.
/// \pre source.extents == target.extents, !target.hasPartial()
std::vector<Transfer> incomingTransfers(const Layout &source, const Layout &target, int64_t to);

/// What rank `from` sends (its local copy included), ordered by receiver: the same transfers as
/// `incomingTransfers` of all receivers gives.
std::vector<Transfer> outgoingTransfers(const Layout &source, const Layout &target, int64_t from);

/// The elements that cross ranks when a tensor goes from one layout to another, summed over the
/// ranks; local copies do not count.
int64_t transferVolume(const Layout &source, const Layout &target);

/// The messages between ranks that it takes, summed over them.
int64_t transferMessages(const Layout &source, const Layout &target);

} // namespace einsumc

#endif // EINSUMC_LAYOUT_H
