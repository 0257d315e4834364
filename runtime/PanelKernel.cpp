//===- PanelKernel.cpp - tile products vectorised over m --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Blocks in registers are summed over k on the operands where they lie.
//
//===------------------------------------------------------------------------------------------===//

#include "EvenPieces.h"
#include "PastCaches.h"
#include "Prefetch.h"
#include "RegisterBlock.h"
#include "SimdVector.h"
#include "TileFunctions.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>

namespace einsumc {

namespace {

/// The most columns and vectors of m that a block has.
constexpr int kMostColumns = 12, kMostVectors = kMostPanelBlock;

/// The most vectors of m that a block of so many columns has.
constexpr int vectorsFor(int columns) { return std::min(kMostVectors, simd::kSums / columns); }

/// The most columns of blocks of a tile with so many vectors of m: blocks of one vector have many,
/// three vectors are one block, and with as many columns as others may have two are.
constexpr int columnsWith(int64_t vectors) {
  return vectors == 1 ? kMostColumns : simd::kSums / (vectors == 3 ? 3 : 2);
}

/// Blocks in registers; the last vector of each has \p tail elements. A B that is fetched lies in
/// columns along k; as many of them as a block has are multiplied next.
template <class T, int Vectors, int Columns, bool HasTail>
void multiplyBlocks(const TileShape &s, const BlockLoop &loop, int tail, const T *a, const T *b,
                    T *c) {
  const simd::LaneMask<T> mask(tail);
  const int64_t aK = s.aK, bK = s.bK, bN = s.bN, cN = s.cN;
  for (int64_t i = 0; i < loop.count; ++i, a += loop.a, b += loop.b, c += loop.c) {
    RegisterBlock<T, Vectors, Columns> sums = {};
    const T *row = a, *factors = b;
    const int64_t most = s.bFetched ? kCacheLine<T> : s.k;
    for (int64_t left = s.k; left > 0; left -= most) {
      if (s.bFetched)
#pragma GCC unroll 32
        for (int j = 0; j < Columns; ++j)
          prefetch(factors + (Columns + j) * bN);
      for (int64_t k = std::min(left, most); k > 0; --k, row += aK, factors += bK)
        addProduct<HasTail, T, Vectors, Columns>(sums, row, mask,
                                                 [&](int j) { return factors[j * bN]; });
    }
    const auto column = [&](int j) { return c + j * cN; };
    if (s.accumulate)
      putSums<HasTail, true, T, Vectors, Columns>(sums, mask, column);
    else
      putSums<HasTail, false, T, Vectors, Columns>(sums, mask, column);
  }
}

template <class T>
using Blocks = void (*)(const TileShape &s, const BlockLoop &loop, int tail, const T *a, const T *b,
                        T *c);

template <class T, bool HasTail>
constexpr auto kBlocks = tableOfBlocks<Blocks<T>, kMostVectors, kMostColumns>(
    []<int Vectors, int Columns>() { return multiplyBlocks<T, Vectors, Columns, HasTail>; });

/// Blocks of so many vectors and columns, the last vector of each with \p tail elements.
template <class T> Blocks<T> blocksOf(int64_t vectors, int64_t columns, int tail) {
  const auto &all = tail < simd::kLanes<T> ? kBlocks<T, true> : kBlocks<T, false>;
  return all[static_cast<std::size_t>(vectors - 1)][static_cast<std::size_t>(columns - 1)];
}

/// How the rows of m fall into vectors, and those into blocks.
template <class T> struct Rows {
  static constexpr int kLanes = simd::kLanes<T>;

  Rows(int64_t m, int64_t columns)
      : vectors((m + kLanes - 1) / kLanes), tail(static_cast<int>(m - (vectors - 1) * kLanes)),
        block(EvenPieces(vectors, vectorsFor(static_cast<int>(columns))).largest()) {}

  /// The vectors of blocks of the full size; those after them, of which the very last one may
  /// have a tail, are the rest.
  int64_t inFullBlocks() const {
    const int64_t whole = tail < kLanes ? vectors - 1 : vectors;
    return whole / block * block;
  }

  int64_t vectors;
  int tail; ///< elements of the last vector, kLanes when it is full
  int64_t block;
};

/// The rows of full blocks one after the other, then the rest, for some columns.
template <class T>
void multiplyRows(const TileShape &s, const Rows<T> &rows, int64_t columns, const T *a, const T *b,
                  T *c) {
  constexpr int kLanes = simd::kLanes<T>;
  const int64_t full = rows.inFullBlocks(), step = rows.block * kLanes;
  if (full > 0)
    blocksOf<T>(rows.block, columns, kLanes)(s, {full / rows.block, step, 0, step}, kLanes, a, b,
                                             c);
  if (full < rows.vectors)
    blocksOf<T>(rows.vectors - full, columns, rows.tail)(s, {1, 0, 0, 0}, rows.tail,
                                                         a + full * kLanes, b, c + full * kLanes);
}

/// With k long, rows of A stay in the first-level cache while B and C pass by; with k short, it is
/// C that matters, and is written along its columns.
template <class T>
void multiplyMatrix(const TileShape &s, const EvenPieces &columns, const T *a, const T *b, T *c) {
  constexpr int64_t kShort = 16;
  const Rows<T> rows(s.m, columns.largest());
  const int64_t step = s.k > kShort ? rows.block * simd::kLanes<T> : s.m;
  for (int64_t m = 0; m < s.m; m += step) {
    const Rows<T> part(std::min(step, s.m - m), columns.largest());
    columns.forEach([&](int64_t n, int64_t count) {
      multiplyRows(s, part, count, a + m, b + n * s.bN, c + m + n * s.cN);
    });
  }
}

/// With few columns and A beyond the caches, A must be read as it lies, a few long columns at once.
/// One or two columns of results are added up at so little cost that this goes for a second-level
/// cache, too.
template <class T> bool shouldStream(const TileShape &s) {
  constexpr int64_t kCache = 32 * 1024, kFew = 2, kMore = 8;
  return (s.n <= kFew && s.m * s.k * static_cast<int64_t>(sizeof(T)) > kCache) ||
         (s.n <= kMore && s.m * s.k > tiles::kStreamedElements);
}

template <class T>
void multiplyStreaming(const TileShape &s, const EvenPieces &columns, const T *a, const T *b,
                       T *c) {
  // Of long rows a processor follows fewer.
  constexpr int64_t kLongRow = (8 << 10) / sizeof(T), kStreams = 16, kLongStreams = 8;
  TileShape part = s;
  EvenPieces(s.k, s.m < kLongRow ? kStreams : kLongStreams).forEach([&](int64_t k, int64_t size) {
    part.k = size;
    multiplyMatrix(part, columns, a + k * s.aK, b + k * s.bK, c);
    part.accumulate = true;
  });
}

} // namespace

template <class T> void multiplyPanels(const TileShape &s, const T *a, const T *b, T *c) noexcept {
  const EvenPieces columns(s.n, columnsWith(ceilDiv(s.m, simd::kLanes<T>)));
  const Rows<T> rows(s.m, columns.largest());
  if (columns.pieces == 1 && rows.vectors == rows.block && !shouldStream<T>(s))
    return blocksOf<T>(rows.block, s.n, rows.tail)(s, {s.c, s.aC, s.bC, s.cC}, rows.tail, a, b, c);
  const auto multiply = shouldStream<T>(s) ? multiplyStreaming<T> : multiplyMatrix<T>;
  for (int64_t i = 0; i < s.c; ++i)
    multiply(s, columns, a + i * s.aC, b + i * s.bC, c + i * s.cC);
}

template void multiplyPanels(const TileShape &, const float *, const float *, float *) noexcept;
template void multiplyPanels(const TileShape &, const double *, const double *, double *) noexcept;

} // namespace einsumc
