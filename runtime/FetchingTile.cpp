//===- FetchingTile.cpp - a tile product that fetches the next tiles --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Blocks of some vectors of m by some columns of n are summed over k in registers. A processor
// waits for memory with all of its loads or none of them: it has few places for lines on their way,
// and what is fetched in a burst keeps the product from its operands. So some lines of the tiles
// that come next are fetched every few steps of the sums, spread evenly over the product.
//
//===------------------------------------------------------------------------------------------===//

#include "FetchingTile.h"

#include "EvenPieces.h"
#include "RegisterBlock.h"
#include "SimdVector.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace einsumc {

namespace {

using tiles::kFetchingColumns;

/// The most columns that a block in registers has.
constexpr int kMostColumns = std::min<int>(kFetchingColumns, simd::kSums);
/// The most vectors whose last one is in two pieces.
constexpr int kMostInPieces = std::min(kVectorsOfBlock, 3);

constexpr int columnsFor(int vectors) { return std::min(kMostColumns, simd::kSums / vectors); }

/// The most vectors that blocks of a tile have. Where registers are many, the columns of a tile's
/// only panel are all in one block, or in two of two vectors: rows that the first-level cache has
/// lost when other columns read them again take the places of lines that are fetched. Blocks of one
/// vector would load as often as they multiply, which is too often for processors that multiply two
/// vectors a cycle. What nothing has fetched is rather read by wide blocks, which wait for several
/// lines at a time.
template <class T> int64_t mostVectorsFor(const FetchingTile<T> &tile) {
  constexpr int kLeast = 2;
  if (kMayCopyRows || tile.n > kFetchingColumns || !tile.isFetched)
    return kVectorsOfBlock;
  return std::clamp(simd::kSums / static_cast<int>(tile.n), kLeast, kVectorsOfBlock);
}

/// A call of a few instructions: the sums stay in registers, as the compiler sees which others it
/// takes, and processors look no more than some hundred instructions ahead for loads that take
/// long.
template <class T> [[gnu::noinline]] bool fetchSome(RowFetcher<T> &fetcher) {
  return fetcher.fetch();
}

/// What the last vector of a block along m is.
enum class LastVector : uint8_t {
  Whole,
  InTwoPieces, ///< whole, but its last elements lie elsewhere
  Tail,        ///< of fewer elements, behind others
  OnlyTail,    ///< of fewer elements, and there are no others
};

/// The vectors of a row of A that a block takes. Each is loaded as a whole where it can be: loads
/// of some lanes wait long for memory. So a tail is the end of a vector whose first lanes others
/// have, too.
template <class T, int Vectors, LastVector Last> class VectorsOfRow {
public:
  VectorsOfRow(const FetchingTile<T> &tile, int64_t first)
      : a(tile.a + (tile.vectors ? tile.vectors[first].toA : first * kLanes)) {
    if constexpr (Last == LastVector::Tail)
      last = a + (tile.m - first * kLanes) - kLanes;
    if constexpr (Last == LastVector::OnlyTail)
      mask = simd::LaneMask<T>(static_cast<int>(tile.m));
    if constexpr (Last == LastVector::InTwoPieces) {
      const VectorInPieces &vector = tile.vectors[first + Vectors - 1];
      last = tile.a + vector.others;
      mask = simd::LaneMask<T>(vector.count);
    }
  }

  simd::Vector<T> load(int v, int64_t row) const {
    const T *const from = a + row + v * kLanes;
    if (Last == LastVector::Whole || v < Vectors - 1)
      return simd::load(from);
    if (Last == LastVector::OnlyTail)
      return mask.load(from);
    simd::Vector<T> end = simd::load(last + row);
    if (Last == LastVector::Tail)
      return end;
    simd::Vector<T> begin = simd::load(from);
    simd::keepInRegister(begin); // Both as a whole.
    simd::keepInRegister(end);
    return mask.select(begin, end);
  }

private:
  static constexpr int kLanes = simd::kLanes<T>;
  const T *a, *last = nullptr;
  simd::LaneMask<T> mask{kLanes};
};

/// Where a block reads the rows of A.
enum class Rows : uint8_t {
  InPlace,
  Copying, ///< in place, and copies them next to each other meanwhile
  Copied,  ///< where another block has copied them
};

/// Calls add(row of A, row of a panel) for all of k, and fetches meanwhile.
template <class T, class Add>
[[gnu::always_inline]] inline void forEachSum(const FetchingTile<T> &tile, const T *b,
                                              RowFetcher<T> &fetcher, Add &&add) {
  const int64_t *row = tile.rowsOfA;
  const int64_t rowOfPanel = tile.rowOfPanel, pace = fetcher.pace();
  for (int64_t left = tile.k; left > 0;) {
    int64_t steps = fetchSome(fetcher) && pace < left ? pace : left;
    left -= steps;
    for (; steps > 0; --steps, ++row, b += rowOfPanel)
      add(*row, b);
  }
}

/// A block in registers.
template <class T, int Vectors, int Columns, LastVector Last, Rows Source>
void sumBlock(const FetchingTile<T> &tile, int64_t firstVector, const T *b, const int64_t *columns,
              RowFetcher<T> &fetcher) {
  constexpr int kLanes = simd::kLanes<T>;
  const VectorsOfRow<T, Vectors, Last> vectors(tile, firstVector);
  T *copy = tile.copy;
  RegisterBlock<T, Vectors, Columns> sums = {};
  forEachSum(tile, b, fetcher, [&](int64_t row, const T *factors) __attribute__((always_inline)) {
    addProducts<Vectors, Columns>(
        [&](int v) {
          if constexpr (Source == Rows::Copied)
            return simd::load(copy + v * kLanes);
          const simd::Vector<T> vector = vectors.load(v, row);
          if constexpr (Source == Rows::Copying)
            simd::store(copy + v * kLanes, vector);
          return vector;
        },
        [&](int j) { return simd::broadcast<T>(factors[j]); },
        [&](int v, int j) -> auto & { return sums[j][v]; });
    if constexpr (Source != Rows::InPlace)
      copy += Vectors * kLanes;
  });
  constexpr bool kHasTail = Last == LastVector::Tail || Last == LastVector::OnlyTail;
  const int64_t lanesOfLast = tile.m - (firstVector + Vectors - 1) * kLanes;
  const simd::LaneMask<T> mask(static_cast<int>(std::min<int64_t>(lanesOfLast, kLanes)));
  if constexpr (Last == LastVector::Tail)
#pragma GCC unroll 32
    for (int j = 0; j < Columns; ++j)
      sums[j][Vectors - 1] = simd::lanesFrom<T>(sums[j][Vectors - 1], kLanes - lanesOfLast);
  const auto column = [&](int j) { return tile.c + columns[j] + firstVector * kLanes; };
  switch (tile.result) {
  case FetchingResult::Overwrite:
    return putSums<kHasTail, false, T, Vectors, Columns>(sums, mask, column);
  case FetchingResult::Accumulate:
    return putSums<kHasTail, true, T, Vectors, Columns>(sums, mask, column);
  case FetchingResult::PastCaches:
    return putSumsPastCaches<T, Vectors, Columns>(sums, column);
  }
}

/// Vectors of the columns of a panel, the last of which has more lanes where they are not whole;
/// and the most rows that a tail has which is summed along them.
template <class T> constexpr int kVectorsOfPanel = ceilDiv(kFetchingColumns, simd::kLanes<T>);
static_assert(simd::kLanes<float> <= tiles::kBehindPanels);
template <class T> constexpr int kMostTail = simd::kLanes<T> / 2;
static_assert(kVectorsOfPanel<float> * kMostTail<float> <= simd::kSums &&
              kVectorsOfPanel<double> * kMostTail<double> <= simd::kSums);

/// The last rows of a tile, a few, by vectors along the columns of a panel: along m they would
/// leave most lanes of theirs empty.
template <class T, int Vectors, int Rows>
void sumTail(const FetchingTile<T> &tile, const T *a, const T *b, const int64_t *columns,
             int64_t count, RowFetcher<T> &fetcher) {
  constexpr int64_t kLanes = simd::kLanes<T>;
  RegisterBlock<T, Vectors, Rows> sums = {};
  forEachSum(tile, b, fetcher, [&](int64_t row, const T *factors) __attribute__((always_inline)) {
    addProducts<Vectors, Rows>([&](int v) { return simd::load(factors + v * kLanes); },
                               [&](int i) { return simd::broadcast<T>(a[row + i]); },
                               [&](int v, int i) -> auto & { return sums[i][v]; });
  });
  T results[Rows][Vectors * kLanes];
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 32
    for (int v = 0; v < Vectors; ++v)
      simd::store(&results[i][v * kLanes], sums[i][v]);
  T *const c = tile.c + tile.m - Rows;
  for (int64_t j = 0; j < count; ++j)
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i) {
      T &target = c[columns[j] + i];
      const T before = tile.result == FetchingResult::Accumulate ? target : T(0);
      target = simd::byItself(before + results[i][j]);
    }
}

template <class T>
using Tail = void (*)(const FetchingTile<T> &tile, const T *a, const T *b, const int64_t *columns,
                      int64_t count, RowFetcher<T> &fetcher);
template <class T>
constexpr auto kTails = tableOfBlocks<Tail<T>, kVectorsOfPanel<T>, kMostTail<T>>(
    []<int Vectors, int Rows>() { return sumTail<T, Vectors, Rows>; });

/// The rows behind the whole vectors of a tile if they are rather summed along the columns, else 0.
template <class T> int64_t rowsOfTail(const FetchingTile<T> &tile) {
  const int64_t rows = tile.m % simd::kLanes<T>;
  return tiles::timeOfTail(rows, tile.n, simd::kLanes<T>) < 1 ? rows : 0;
}

template <class T>
using Block = void (*)(const FetchingTile<T> &tile, int64_t firstVector, const T *b,
                       const int64_t *columns, RowFetcher<T> &fetcher);

template <class T, Rows Source, LastVector Last, int MostVectors>
constexpr auto kBlocks = tableOfBlocks<Block<T>, MostVectors, kMostColumns>(
    []<int Vectors, int Columns>() { return sumBlock<T, Vectors, Columns, Last, Source>; });

/// By columns, less one.
template <class T, Rows Source>
const std::array<Block<T>, kMostColumns> &blocksOf(int64_t vectors, LastVector last) {
  const auto v = static_cast<std::size_t>(vectors - 1);
  switch (last) {
  case LastVector::Whole:
    return kBlocks<T, Source, LastVector::Whole, kVectorsOfBlock>[v];
  case LastVector::Tail:
    return kBlocks<T, Source, LastVector::Tail, kVectorsOfBlock>[v];
  case LastVector::InTwoPieces:
    return kBlocks<T, Source, LastVector::InTwoPieces, kMostInPieces>[v];
  case LastVector::OnlyTail:
    break;
  }
  return kBlocks<T, Source, LastVector::OnlyTail, 1>[0];
}

/// The blocks of the first columns and of the others, by columns, less one.
template <class T>
auto blocksByColumns(const FetchingTile<T> &tile, int64_t vectors, LastVector last) {
  using Blocks = const std::array<Block<T>, kMostColumns> &;
  if constexpr (kMayCopyRows)
    if (tile.copy && tile.n > columnsFor(static_cast<int>(vectors)))
      return std::pair<Blocks, Blocks>(blocksOf<T, Rows::Copying>(vectors, last),
                                       blocksOf<T, Rows::Copied>(vectors, last));
  Blocks blocks = blocksOf<T, Rows::InPlace>(vectors, last);
  return std::pair<Blocks, Blocks>(blocks, blocks);
}

/// How often blocks of so many columns go over all k.
int64_t piecesOf(int64_t n, int64_t most) {
  return n / kFetchingColumns * EvenPieces(kFetchingColumns, most).pieces +
         (n % kFetchingColumns > 0 ? EvenPieces(n % kFetchingColumns, most).pieces : 0);
}

/// Calls body(first vector, count, what the last one is) for the blocks along m, but for a tail: as
/// even as can be, or, of vectors in pieces, up to the end of each.
template <class T, class Body>
void forEachVectors(const FetchingTile<T> &tile, int64_t tail, Body &&body) {
  constexpr int kLanes = simd::kLanes<T>;
  const int64_t vectors = ceilDiv(tile.m - tail, kLanes), whole = tile.m / kLanes;
  const auto call = [&](int64_t v, int64_t count) {
    const int64_t last = v + count - 1;
    body(v, count,
         last == whole ? (whole > 0 ? LastVector::Tail : LastVector::OnlyTail)
         : tile.vectors && tile.vectors[last].count < kLanes ? LastVector::InTwoPieces
                                                             : LastVector::Whole);
  };
  if (vectors == 0)
    return;
  const int64_t most = mostVectorsFor(tile);
  if (tile.vectors == nullptr)
    return EvenPieces(vectors, most).forEach(call);
  const int64_t mostInPieces = std::min<int64_t>(most, kMostInPieces);
  for (int64_t v = 0, end = 0; v < vectors; v = end) {
    const auto isNextInPiece = [&] {
      const VectorInPieces &last = tile.vectors[end - 1];
      return last.count == kLanes && tile.vectors[end].toA == last.toA + kLanes;
    };
    for (end = v + 1; end < vectors && end - v < mostInPieces && isNextInPiece();)
      ++end;
    call(v, end - v);
  }
}

/// Calls body(first column, columns) for the panels of B.
template <class T, class Body> void forEachPanel(const FetchingTile<T> &tile, Body &&body) {
  for (int64_t n = 0; n < tile.n; n += kFetchingColumns)
    body(n, std::min<int64_t>(kFetchingColumns, tile.n - n));
}

} // namespace

template <class T> void multiplyFetching(const FetchingTile<T> &tile) noexcept {
  const int64_t tail = rowsOfTail(tile);
  int64_t passes = tail > 0 ? ceilDiv(tile.n, kFetchingColumns) : 0;
  forEachVectors(tile, tail, [&](int64_t, int64_t count, LastVector) {
    passes += piecesOf(tile.n, columnsFor(static_cast<int>(count)));
  });
  RowFetcher<T> &fetcher = *tile.fetcher;
  fetcher.spread(passes * tile.k);
  const auto panelAt = [&](int64_t n) { return tile.b + n / kFetchingColumns * tile.panel; };
  forEachVectors(tile, tail, [&](int64_t v, int64_t count, LastVector last) {
    const auto [first, others] = blocksByColumns(tile, count, last);
    const int64_t most = columnsFor(static_cast<int>(count));
    forEachPanel(tile, [&](int64_t n, int64_t inPanel) {
      EvenPieces(inPanel, most).forEach([&](int64_t j, int64_t columns) {
        const auto &blocks = n + j == 0 ? first : others;
        blocks[static_cast<std::size_t>(columns - 1)](tile, v, panelAt(n) + j,
                                                      tile.columnsOfC + n + j, fetcher);
      });
    });
  });
  if (tail == 0)
    return;
  const int64_t first = tile.m - tail;
  const T *const a = tile.a + (tile.vectors ? tile.vectors[first / simd::kLanes<T>].toA : first);
  forEachPanel(tile, [&](int64_t n, int64_t inPanel) {
    const int64_t vectors = ceilDiv(inPanel, simd::kLanes<T>);
    kTails<T>[static_cast<std::size_t>(vectors - 1)][static_cast<std::size_t>(tail - 1)](
        tile, a, panelAt(n), tile.columnsOfC + n, inPanel, fetcher);
  });
}

template void multiplyFetching(const FetchingTile<float> &) noexcept;
template void multiplyFetching(const FetchingTile<double> &) noexcept;

} // namespace einsumc
