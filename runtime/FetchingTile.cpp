//===- FetchingTile.cpp - a tile product that fetches the next tile ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Blocks of some vectors of m by some columns of n are summed over k in registers. A processor
// waits for memory with all of its loads or none of them: it has few places for lines on their way,
// and what is fetched in a burst keeps the product from its operands. So one row of the next tile
// is fetched every few steps of the sums, as many as spread them evenly over the product, and into
// the second-level cache: on AMD's Zen 4 the places of the first one are enough for half of what
// memory gives a core, and what does not get one is not fetched at all.
//
//===------------------------------------------------------------------------------------------===//

#include "FetchingTile.h"

#include "EvenPieces.h"
#include "RegisterBlock.h"
#include "SimdVector.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>

namespace einsumc {

namespace {

using tiles::kFetchingColumns;

/// The most columns that a block in registers has, and the most vectors, with at least so many
/// columns that each vector of A is used often enough.
constexpr int kMostColumns = 12, kLeastColumns = 6;
constexpr int kMostVectors = simd::kSums / kLeastColumns;

constexpr int columnsFor(int vectors) { return std::min(kMostColumns, simd::kSums / vectors); }

/// The rows of the next tile, and the columns of its C, that are yet to be fetched.
template <class T> class Fetcher {
public:
  /// \param passes how often the sums of the product go over all k
  Fetcher(const FetchingTile<T> &tile, int64_t passes)
      : next(tile.next.a), row(tile.next.rowsOfA), endRows(row + tile.next.k), nextC(tile.nextC),
        column(tile.columnsOfC), endColumns(column + (tile.nextC ? tile.n : 0)),
        bytes(static_cast<std::uintptr_t>(tile.next.m) * sizeof(T)) {
    const int64_t count = tile.next.k + (endColumns - column);
    pace = std::clamp<int64_t>(passes * tile.k / std::max<int64_t>(count, 1), 1, tile.k);
  }

  /// Fetches a row if one is left, and returns after how many of \p left steps the next is due.
  int64_t fetch(int64_t left) {
    if (row != endRows)
      fetchLines<0>(next + *row++);
    else if (column != endColumns)
      fetchLines<1>(nextC + *column++);
    else
      return left;
    return std::min(pace, left);
  }

private:
  template <int ForWriting> void fetchLines(const T *from) const {
    constexpr std::uintptr_t kLine = 64;
    const auto first = reinterpret_cast<std::uintptr_t>(from);
    for (std::uintptr_t line = first / kLine * kLine; line < first + bytes; line += kLine)
      __builtin_prefetch(reinterpret_cast<const void *>(line), ForWriting, 2);
  }

  const T *next;
  const int64_t *row, *endRows;
  T *nextC;
  const int64_t *column, *endColumns;
  std::uintptr_t bytes;
  int64_t pace;
};

/// A block in registers; its last vector has \p tail elements.
template <class T, int Vectors, int Columns, bool HasTail>
void sumBlock(const FetchingTile<T> &tile, int64_t firstRow, const T *b, const int64_t *columns,
              int tail, Fetcher<T> &fetcher) {
  const simd::LaneMask<T> mask(tail);
  RegisterBlock<T, Vectors, Columns> sums = {};
  const T *const a = tile.a + firstRow;
  const int64_t *row = tile.rowsOfA;
  for (int64_t left = tile.k; left > 0;) {
    int64_t steps = fetcher.fetch(left);
    left -= steps;
    for (; steps > 0; --steps, b += kFetchingColumns)
      addProduct<HasTail, T, Vectors, Columns>(sums, a + *row++, mask, [&](int j) { return b[j]; });
  }
  const auto column = [&](int j) { return tile.c + columns[j] + firstRow; };
  switch (tile.result) {
  case FetchingResult::Overwrite:
    return putSums<HasTail, false, T, Vectors, Columns>(sums, mask, column);
  case FetchingResult::Accumulate:
    return putSums<HasTail, true, T, Vectors, Columns>(sums, mask, column);
  case FetchingResult::PastCaches:
    return putSumsPastCaches<T, Vectors, Columns>(sums, column);
  }
}

template <class T>
using Block = void (*)(const FetchingTile<T> &tile, int64_t firstRow, const T *b,
                       const int64_t *columns, int tail, Fetcher<T> &fetcher);

template <class T, bool HasTail>
constexpr auto kBlocks = tableOfBlocks<Block<T>, kMostVectors, kMostColumns>(
    []<int Vectors, int Columns>() { return sumBlock<T, Vectors, Columns, HasTail>; });

template <class T> Block<T> blockOf(int64_t vectors, int64_t columns, bool hasTail) {
  const auto &all = hasTail ? kBlocks<T, true> : kBlocks<T, false>;
  return all[static_cast<std::size_t>(vectors - 1)][static_cast<std::size_t>(columns - 1)];
}

/// How often blocks of so many columns go over all k.
int64_t piecesOf(int64_t n, int64_t most) {
  return n / kFetchingColumns * EvenPieces(kFetchingColumns, most).pieces +
         (n % kFetchingColumns > 0 ? EvenPieces(n % kFetchingColumns, most).pieces : 0);
}

} // namespace

template <class T> void multiplyFetching(const FetchingTile<T> &tile) noexcept {
  constexpr int kLanes = simd::kLanes<T>;
  const int64_t vectors = (tile.m + kLanes - 1) / kLanes;
  const int tail = static_cast<int>(tile.m - (vectors - 1) * kLanes);
  const EvenPieces parts(vectors, kMostVectors);
  const int64_t most = columnsFor(static_cast<int>(parts.largest()));
  Fetcher<T> fetcher(tile, parts.pieces * piecesOf(tile.n, most));
  parts.forEach([&](int64_t v, int64_t count) {
    const bool hasTail = v + count == vectors && tail < kLanes;
    for (int64_t n = 0; n < tile.n; n += kFetchingColumns) {
      const T *const panel = tile.b + n / kFetchingColumns * tile.panel;
      EvenPieces(std::min<int64_t>(kFetchingColumns, tile.n - n), most)
          .forEach([&](int64_t j, int64_t columns) {
            blockOf<T>(count, columns, hasTail)(tile, v * kLanes, panel + j,
                                                tile.columnsOfC + n + j, tail, fetcher);
          });
    }
  });
}

template void multiplyFetching(const FetchingTile<float> &) noexcept;
template void multiplyFetching(const FetchingTile<double> &) noexcept;

} // namespace einsumc
