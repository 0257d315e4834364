//===- DotKernel.cpp - tile products vectorised over k ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "SimdVector.h"
#include "TileFunctions.h"

#include <array>
#include <utility>

namespace einsumc {

namespace {

constexpr int kMostRows = 4;
constexpr int kMostColumns = simd::kSums / kMostRows;
/// Sums that must be under way at once to hide the latency of an addition.
constexpr int kEnoughSums = 8;

/// Rows x Columns dot products; when these are few, each in several partial sums.
template <class T, int Rows, int Columns>
void multiplyBlock(const TileShape &s, const T *a, const T *b, T *c) {
  using Vector = simd::Vector<T>;
  constexpr int kLanes = simd::kLanes<T>;
  constexpr int kPartial = Rows * Columns >= kEnoughSums ? 1 : kEnoughSums / (Rows * Columns);
  Vector sums[Rows][Columns][kPartial] = {};
  const int64_t aM = s.aM, bN = s.bN;
  const auto step = [&](const auto &load, int p) {
    Vector row[Rows];
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i)
      row[i] = load(a + i * aM + p * kLanes);
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j) {
      const Vector column = load(b + j * bN + p * kLanes);
#pragma GCC unroll 8
      for (int i = 0; i < Rows; ++i)
        sums[i][j][p] += row[i] * column;
    }
  };
  const auto loadAll = [](const T *source) { return simd::load(source); };
  int64_t k = s.k;
  for (; k >= kPartial * kLanes; k -= kPartial * kLanes) {
#pragma GCC unroll 8
    for (int p = 0; p < kPartial; ++p)
      step(loadAll, p);
    a += kPartial * kLanes;
    b += kPartial * kLanes;
  }
  for (; k >= kLanes; k -= kLanes, a += kLanes, b += kLanes)
    step(loadAll, 0);
  if (k > 0) {
    const simd::LaneMask<T> mask(static_cast<int>(k));
    step([&](const T *source) { return mask.load(source); }, 0);
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j) {
      Vector sum = sums[i][j][0];
#pragma GCC unroll 8
      for (int p = 1; p < kPartial; ++p)
        sum += sums[i][j][p];
      T &target = c[i * s.cM + j * s.cN];
      target = (s.accumulate ? target : T(0)) + simd::sumLanes<T>(sum);
    }
}

template <class T> using Block = void (*)(const TileShape &s, const T *a, const T *b, T *c);

/// The blocks by rows, then by columns, both less one.
template <class T>
constexpr auto kBlocks = []<int... I>(std::integer_sequence<int, I...>) {
  return std::array<Block<T>, sizeof...(I)>{
      multiplyBlock<T, I / kMostColumns + 1, I % kMostColumns + 1>...};
}(std::make_integer_sequence<int, kMostRows * kMostColumns>());

template <class T> void multiplyMatrix(const TileShape &s, const T *a, const T *b, T *c) {
  const EvenPieces rows(s.m, kMostRows), columns(s.n, kMostColumns);
  rows.forEach([&](int64_t m, int64_t rowCount) {
    columns.forEach([&](int64_t n, int64_t count) {
      kBlocks<T>[static_cast<std::size_t>((rowCount - 1) * kMostColumns + count - 1)](
          s, a + m * s.aM, b + n * s.bN, c + m * s.cM + n * s.cN);
    });
  });
}

} // namespace

template <class T> void multiplyDots(const TileShape &s, const T *a, const T *b, T *c) noexcept {
  for (int64_t i = 0; i < s.c; ++i)
    multiplyMatrix(s, a + i * s.aC, b + i * s.bC, c + i * s.cC);
}

template void multiplyDots(const TileShape &, const float *, const float *, float *) noexcept;
template void multiplyDots(const TileShape &, const double *, const double *, double *) noexcept;

} // namespace einsumc
