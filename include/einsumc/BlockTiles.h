//===- BlockTiles.h - how blocks are cut into tiles -------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// What BlockKernel and FetchingKernel do, and what the compiler's estimates and einsumc-calibrate
// take it to do.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_BLOCKTILES_H
#define EINSUMC_BLOCKTILES_H

#include <algorithm>
#include <cstdint>

namespace einsumc::tiles {

/// The longest tiles, in elements.
inline constexpr int64_t kMostM = 64, kMostN = 48;
/// What numbers of columns should be multiples of, so that they fall into whole register blocks.
inline constexpr int64_t kStepN = 12;
/// Bytes of A in a tile that is read in place, which the first-level cache keeps while the columns
/// of B pass by.
inline constexpr int64_t kBytes = 20 << 10;
/// Vectors of a row of a panel of packed A: what a kernel takes at a time along m.
inline constexpr int64_t kPanelVectors = 4;
/// Tiles in C itself must have runs at least so long, along m in vectors and along n in elements:
/// kernels of fewer vectors along m have too few sums under way.
inline constexpr int64_t kLeastRunVectorsM = 3, kLeastRunN = 4;
/// Columns that are next to each other in a C that is written past the caches have up to so many
/// vectors; panels have whole ones.
inline constexpr int64_t kMostColumnVectors = 6;
/// The vectors of the longest panel of such columns: in f64 of as many elements as in f32.
constexpr int64_t mostPanelVectors(int64_t elementBytes) {
  return kMostColumnVectors * elementBytes / static_cast<int64_t>(sizeof(float));
}
/// Of these columns, so many can be computed as if they were one (`runtime/JoinedColumns.h`), with
/// so many vectors of a panel for all sums.
inline constexpr int64_t kLeastJoinedColumns = 3, kMostJoinedColumns = 5, kMostJoinedVectors = 192;
/// Whether columns of so many elements can: vectors lie in two of them at most. Only processors
/// with long vectors have enough registers for that to be faster than to bring whole columns
/// together afterwards.
constexpr bool mayJoinColumns(int64_t column, int64_t lanes, int64_t elementBytes) {
  constexpr int64_t kLongVector = 64;
  return lanes * elementBytes >= kLongVector && column >= lanes && column % lanes != 0;
}
/// The most elements along m of a panel of columns of so many, for so many sums.
constexpr int64_t mostOfColumns(int64_t column, int64_t sums, int64_t lanes, int64_t elementBytes) {
  const int64_t most = kMostColumnVectors * lanes;
  const int64_t columns = std::min({kMostJoinedColumns, kMostJoinedVectors / sums,
                                    mostPanelVectors(elementBytes) * lanes / column});
  // Longer ones are written by tiles in C itself.
  const bool areJoined = mayJoinColumns(column, lanes, elementBytes) &&
                         column < kLeastRunVectorsM * lanes && columns >= kLeastJoinedColumns;
  return areJoined ? std::max(columns * column, most) : most;
}
/// Vectors of a column of C that are computed by whole lines at a time (`runtime/WholeLines.h`),
/// and the most sums.
inline constexpr int kVectorsInLines = 3;
inline constexpr int64_t kMostSumsInLines = 256;
/// A tensor of so many bytes is too large to be found in a cache later: it is read from memory, and
/// a result is written past the caches.
inline constexpr int64_t kPastCachesBytes = 16 << 20;
/// Columns that are written past the caches have at least so many bytes of C next to each other,
/// if they are not of whole vectors.
inline constexpr int64_t kLeastPieceBytes = 512;
/// A block of C in scratch has the order in which tiles are written where a batch has so many bytes
/// of C next to each other: the copy exchanges dims in any case.
inline constexpr int64_t kLongBatchBytes = 64;
/// Columns of a panel of packed B: those of a block in registers with all vectors of a panel of A,
/// or half of them where registers are few.
inline constexpr int kPanelColumns = 6;
/// The most rows of a block of dots in registers, and columns: long vectors come with more of
/// those.
inline constexpr int64_t kDotRows = 4;
constexpr int64_t dotColumns(int64_t vectorBytes) { return vectorBytes >= 64 ? 6 : 3; }
/// A tile of A with more elements comes from beyond the second-level cache: if few columns pass by,
/// it is read a few rows at a time, all along m.
inline constexpr int64_t kStreamedElements = 128 << 10;
/// The most columns of a panel of B where A is fetched from memory during the product, and the
/// elements behind all panels that may be read, too.
inline constexpr int64_t kFetchingColumns = 24, kBehindPanels = 16;

/// The columns that each of these panels has room for. Few leave no gaps: B passes by for each tile
/// of A, and no more of it than need be.
constexpr int64_t fetchingPanel(int64_t columns) {
  return columns < kFetchingColumns ? columns : kFetchingColumns;
}

/// Elements of packed B there, for sums of length k.
constexpr int64_t fetchingPanels(int64_t columns, int64_t k) {
  const int64_t panels = (columns + kFetchingColumns - 1) / kFetchingColumns;
  return panels * fetchingPanel(columns) * k + kBehindPanels;
}

/// Tiles of an A that is fetched go on from one run of it to the next in scratch if runs have so
/// many elements, and at least a vector's, and vectors are put together for so many columns.
inline constexpr int64_t kLeastRunToJoin = 8, kLeastColumnsToJoin = 8;

/// The time that a tail of \p rows, which fill no vector of \p lanes, takes in a tile of a fetched
/// A, as a share of a vector's. Below 1 it is summed along the columns of panels, vector by vector;
/// few sums wait for each other then, and results have to be transposed.
constexpr double timeOfTail(int64_t rows, int64_t columns, int64_t lanes) {
  constexpr double kOfVector = 1.25;
  const auto vectorsOf = [lanes](int64_t count) { return (count + lanes - 1) / lanes; };
  const int64_t vectors = columns / kFetchingColumns * vectorsOf(kFetchingColumns) +
                          vectorsOf(columns % kFetchingColumns);
  const double time =
      kOfVector * static_cast<double>(rows * vectors) / static_cast<double>(columns);
  return time < 1 && 2 * rows <= lanes ? time : 1;
}

} // namespace einsumc::tiles

#endif // EINSUMC_BLOCKTILES_H
