//===- ColumnPanelKernel.cpp - tile products whose B lies in panels of columns ----------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "EvenPieces.h"
#include "Prefetch.h"
#include "RegisterBlock.h"
#include "SimdVector.h"
#include "TileFunctions.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>

namespace einsumc {

namespace {

using tiles::kPanelColumns;

/// Vectors of a block in registers with all columns of a panel. One of fewer has more panels, so
/// that as many sums are under way.
constexpr int kMostVectors = simd::kSums / kPanelColumns;
constexpr int kMostColumns = kMostVectors * kPanelColumns;

/// A block in registers; its last vector has \p tail elements. The block of C, which is needed when
/// all products are there, is fetched meanwhile.
template <class T, int Vectors, int Columns, bool HasTail>
void multiplyBlock(const TileShape &s, int tail, const T *a, const T *b, T *c) {
  constexpr int kLanes = simd::kLanes<T>;
  const simd::LaneMask<T> mask(tail);
  const auto column = [&](int j) { return c + j * s.cN; };
#pragma GCC unroll 32
  for (int j = 0; j < Columns; ++j) {
    prefetchToWrite(column(j));
    prefetchToWrite(column(j) + (Vectors - 1) * kLanes + tail - 1);
  }
  RegisterBlock<T, Vectors, Columns> sums = {};
  const int64_t products = s.k, aK = s.aK, panel = kPanelColumns * products;
#pragma GCC unroll 4
  for (int64_t k = 0; k < products; ++k)
    addProduct<HasTail, T, Vectors, Columns>(sums, a + k * aK, mask, [&](int j) {
      return b[j / kPanelColumns * panel + k * kPanelColumns + j % kPanelColumns];
    });
  if (s.accumulate)
    putSums<HasTail, true, T, Vectors, Columns>(sums, mask, column);
  else
    putSums<HasTail, false, T, Vectors, Columns>(sums, mask, column);
}

template <class T>
using Block = void (*)(const TileShape &s, int tail, const T *a, const T *b, T *c);

template <class T, bool HasTail>
constexpr auto kBlocks = tableOfBlocks<Block<T>, kMostVectors, kMostColumns>(
    []<int Vectors, int Columns>() { return multiplyBlock<T, Vectors, Columns, HasTail>; });

} // namespace

template <class T>
void multiplyColumnPanels(const TileShape &s, const T *a, const T *b, T *c) noexcept {
  constexpr int kLanes = simd::kLanes<T>, kRows = kMostVectors * kLanes;
  // Few rows of A, which stay in a near cache, meet all panels.
  for (int64_t m = 0; m < s.m; m += kRows) {
    const auto rows = static_cast<int>(std::min<int64_t>(s.m - m, kRows));
    const int vectors = ceilDiv(rows, kLanes), tail = rows - (vectors - 1) * kLanes;
    const auto &blocks = tail < kLanes ? kBlocks<T, true> : kBlocks<T, false>;
    const auto &ofColumns = blocks[static_cast<std::size_t>(vectors - 1)];
    const int64_t together = kMostVectors / vectors * kPanelColumns;
    for (int64_t n = 0; n < s.n; n += together) {
      const int64_t columns = std::min(s.n - n, together);
      ofColumns[static_cast<std::size_t>(columns - 1)](s, tail, a + m, b + n * s.k,
                                                       c + m + n * s.cN);
    }
  }
}

template void multiplyColumnPanels(const TileShape &, const float *, const float *,
                                   float *) noexcept;
template void multiplyColumnPanels(const TileShape &, const double *, const double *,
                                   double *) noexcept;

} // namespace einsumc
