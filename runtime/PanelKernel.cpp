//===- PanelKernel.cpp - tile products vectorised over m --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Blocks of some vectors of m by some columns of n are summed over k in registers, as in the
// micro-kernels of Goto and van de Geijn (Anatomy of High-Performance Matrix Multiplication, ACM
// TOMS 34, 2008), but on the operands where they lie.
//
//===------------------------------------------------------------------------------------------===//

#include "SimdVector.h"
#include "TileFunctions.h"

#include <algorithm>
#include <array>
#include <utility>

namespace einsumc {

namespace {

constexpr int kMostColumns = simd::kSums / 2;
constexpr int kMostVectors = 8;

/// How many vectors of m a block of so many columns has.
constexpr int vectorsFor(int columns) { return std::min(kMostVectors, simd::kSums / columns); }

/// One block in registers; the last of its vectors has \p tail elements.
template <class T, int Vectors, int Columns, bool HasTail>
void multiplyBlock(const TileShape &s, int tail, const T *a, const T *b, T *c) {
  using Vector = simd::Vector<T>;
  constexpr int kLanes = simd::kLanes<T>;
  const simd::LaneMask<T> mask(tail);
  const auto load = [&](const T *source, int v) {
    return HasTail && v == Vectors - 1 ? mask.load(source + v * kLanes)
                                       : simd::load(source + v * kLanes);
  };
  Vector sums[Columns][Vectors] = {};
  const int64_t aK = s.aK, bK = s.bK, bN = s.bN;
  for (int64_t k = s.k; k > 0; --k, a += aK, b += bK) {
    Vector column[Vectors];
#pragma GCC unroll 32
    for (int v = 0; v < Vectors; ++v)
      column[v] = load(a, v);
#pragma GCC unroll 32
    for (int j = 0; j < Columns; ++j) {
      const T factor = b[j * bN];
#pragma GCC unroll 32
      for (int v = 0; v < Vectors; ++v)
        sums[j][v] += column[v] * factor;
    }
  }
  const int64_t cN = s.cN;
  if (s.accumulate) {
#pragma GCC unroll 32
    for (int j = 0; j < Columns; ++j)
#pragma GCC unroll 32
      for (int v = 0; v < Vectors; ++v)
        sums[j][v] += load(c + j * cN, v);
  }
#pragma GCC unroll 32
  for (int j = 0; j < Columns; ++j) {
#pragma GCC unroll 32
    for (int v = 0; v < Vectors - HasTail; ++v)
      simd::store(c + j * cN + v * kLanes, sums[j][v]);
    if constexpr (HasTail)
      mask.store(c + j * cN + (Vectors - 1) * kLanes, sums[j][Vectors - 1]);
  }
}

template <class T>
using Block = void (*)(const TileShape &s, int tail, const T *a, const T *b, T *c);

template <class T, bool HasTail, int Columns> constexpr auto blocksOfColumns() {
  return []<int... V>(std::integer_sequence<int, V...>) {
    return std::array<Block<T>, kMostVectors>{multiplyBlock<T, V + 1, Columns, HasTail>...};
  }(std::make_integer_sequence<int, vectorsFor(Columns)>());
}

/// The blocks by columns, then by vectors, both less one.
template <class T, bool HasTail>
constexpr auto kBlocks = []<int... N>(std::integer_sequence<int, N...>) {
  return std::array{blocksOfColumns<T, HasTail, N + 1>()...};
}(std::make_integer_sequence<int, kMostColumns>());

/// The rows of m in pieces of whole vectors, at most so many that they fit \p columns columns.
template <class T> EvenPieces vectorPieces(const TileShape &s, int64_t columns) {
  const int64_t vectors = (s.m + simd::kLanes<T> - 1) / simd::kLanes<T>;
  return {vectors, vectorsFor(static_cast<int>(columns))};
}

/// One block of so many columns and of `count` vectors beginning at vector `first`.
template <class T>
void multiplyPiece(const TileShape &s, int64_t columns, int64_t first, int64_t count, const T *a,
                   const T *b, T *c) {
  constexpr int kLanes = simd::kLanes<T>;
  const int64_t row = first * kLanes;
  const auto tail = static_cast<int>(std::min<int64_t>(s.m - row - (count - 1) * kLanes, kLanes));
  const auto &blocks = tail < kLanes ? kBlocks<T, true> : kBlocks<T, false>;
  const Block<T> block =
      blocks[static_cast<std::size_t>(columns - 1)][static_cast<std::size_t>(count - 1)];
  block(s, tail, a + row, b, c + row);
}

/// With k long, rows of A stay in the first-level cache while B and C pass by; with k short, it is
/// C that matters, and is written along its columns.
template <class T> void multiplyMatrix(const TileShape &s, const T *a, const T *b, T *c) {
  constexpr int64_t kShort = 16;
  const EvenPieces columns(s.n, kMostColumns);
  const EvenPieces rows = vectorPieces<T>(s, columns.largest());
  const auto piece = [&](int64_t n, int64_t columnCount, int64_t first, int64_t count) {
    multiplyPiece(s, columnCount, first, count, a, b + n * s.bN, c + n * s.cN);
  };
  if (s.k > kShort)
    rows.forEach([&](int64_t first, int64_t count) {
      columns.forEach([&](int64_t n, int64_t size) { piece(n, size, first, count); });
    });
  else
    columns.forEach([&](int64_t n, int64_t size) {
      rows.forEach([&](int64_t first, int64_t count) { piece(n, size, first, count); });
    });
}

/// With few columns and A beyond the cache, A must be read as it lies, a few long columns at once.
template <class T> bool shouldStream(const TileShape &s) {
  constexpr int64_t kCache = 32 * 1024, kFew = 2;
  return s.n <= kFew && s.m * s.k * static_cast<int64_t>(sizeof(T)) > kCache;
}

template <class T> void multiplyStreaming(const TileShape &s, const T *a, const T *b, T *c) {
  constexpr int64_t kStreams = 16;
  TileShape part = s;
  EvenPieces(s.k, kStreams).forEach([&](int64_t k, int64_t size) {
    part.k = size;
    multiplyMatrix(part, a + k * s.aK, b + k * s.bK, c);
    part.accumulate = true;
  });
}

} // namespace

template <class T> void multiplyPanels(const TileShape &s, const T *a, const T *b, T *c) noexcept {
  const auto multiply = shouldStream<T>(s) ? multiplyStreaming<T> : multiplyMatrix<T>;
  for (int64_t i = 0; i < s.c; ++i)
    multiply(s, a + i * s.aC, b + i * s.bC, c + i * s.cC);
}

template void multiplyPanels(const TileShape &, const float *, const float *, float *) noexcept;
template void multiplyPanels(const TileShape &, const double *, const double *, double *) noexcept;

} // namespace einsumc
