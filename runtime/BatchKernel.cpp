//===- BatchKernel.cpp - tile products vectorised over c --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "PastCaches.h"
#include "RegisterBlock.h"
#include "SimdVector.h"
#include "TileFunctions.h"

#include <algorithm>
#include <utility>

namespace einsumc {

namespace {

/// Sums under way at once: as many as hide the latency of an addition.
constexpr int kSumsAtOnce = 8;

/// Some vectors of c, loaded and stored by \p access, for Rows x Columns of m x n. B is the same
/// for all of c, or has it next to each other as A and C do.
template <class T, int Rows, int Columns, bool IsSameB, int Vectors, class Access>
void multiplyBlock(const TileShape &s, const Access &access, const T *a, const T *b, T *c) {
  using Vector = simd::Vector<T>;
  constexpr int kLanes = simd::kLanes<T>;
  Vector sums[Vectors][Rows][Columns] = {};
  const int64_t aM = s.aM, bN = s.bN;
  // No loops over vectors: compilers would go through the sums in memory.
  constexpr std::make_integer_sequence<int, Vectors> kEach;
  constexpr std::make_integer_sequence<int, Rows * Columns> kSums;
  const auto add = [&]<int... V>(std::integer_sequence<int, V...>) {
    (addProducts<Rows, Columns>([&](int i) { return access.load(a + i * aM + V * kLanes); },
                                [&](int j) {
                                  if constexpr (IsSameB)
                                    return simd::broadcast<T>(b[j * bN]);
                                  else
                                    return access.load(b + j * bN + V * kLanes);
                                },
                                [&](int i, int j) -> auto & { return sums[V][i][j]; }),
     ...);
  };
  for (int64_t k = s.k; k > 0; --k, a += s.aK, b += s.bK)
    add(kEach);
  const auto put = [&]<bool Accumulate, int At, int... V>(std::integer_sequence<int, V...>) {
    constexpr int kRow = At / Columns, kColumn = At % Columns;
    T *const target = c + kRow * s.cM + kColumn * s.cN;
    (access.template put<Accumulate>(target + V * kLanes, sums[V][kRow][kColumn]), ...);
  };
  const auto putAll = [&]<bool Accumulate, int... At>(std::integer_sequence<int, At...>) {
    (put.template operator()<Accumulate, At>(kEach), ...);
  };
  if (s.accumulate)
    putAll.template operator()<true>(kSums);
  else
    putAll.template operator()<false>(kSums);
}

template <class T> struct WholeVectors {
  simd::Vector<T> load(const T *source) const { return simd::load(source); }
  template <bool Accumulate> void put(T *target, simd::Vector<T> value) const {
    simd::put<Accumulate>(target, value);
  }
};

/// For whole lines only: memory would read a part of one first.
/// \pre the tile does not accumulate, and targets are aligned
template <class T> struct WholeVectorsPastCaches : WholeVectors<T> {
  template <bool Accumulate> void put(T *target, simd::Vector<T> value) const {
    simd::storePastCaches(target, value);
  }
};

/// Whole vectors of c from one to another, for Rows x Columns of m x n. Returns where they end.
template <class T, int Rows, int Columns, bool IsSameB, class Access>
int64_t multiplyVectors(const TileShape &s, const Access &access, const T *a, const T *b, T *c,
                        int64_t begin, int64_t end) {
  constexpr int kLanes = simd::kLanes<T>, kVectors = kSumsAtOnce / (Rows * Columns);
  int64_t i = begin;
  const auto block = [&]<int Vectors>() {
    multiplyBlock<T, Rows, Columns, IsSameB, Vectors>(s, access, a + i, IsSameB ? b : b + i, c + i);
    i += Vectors * kLanes;
  };
  while (i + kVectors * kLanes <= end)
    block.template operator()<kVectors>();
  while (i + kLanes <= end)
    block.template operator()<1>();
  return i;
}

/// All of c for Rows x Columns of m x n, which begin in the same place of a line if they go past
/// the caches.
template <class T, int Rows, int Columns, bool IsSameB = false>
void multiplyColumns(const TileShape &s, const T *a, const T *b, T *c) {
  constexpr int64_t kLine = kCacheLine<T>;
  int64_t i = 0;
  const auto whole = [&](const auto &access, int64_t end) {
    i = multiplyVectors<T, Rows, Columns, IsSameB>(s, access, a, b, c, i, end);
  };
  const auto upTo = [&](int64_t end) {
    whole(WholeVectors<T>(), end);
    if (i < end)
      multiplyBlock<T, Rows, Columns, IsSameB, 1>(s, simd::LaneMask<T>(static_cast<int>(end - i)),
                                                  a + i, IsSameB ? b : b + i, c + i);
    i = end;
  };
  if (s.pastCaches && !s.accumulate) {
    const int64_t head = std::min((kLine - pastLine(c)) % kLine, s.c);
    if (head > 0)
      upTo(head);
    whole(WholeVectorsPastCaches<T>(), head + (s.c - head) / kLine * kLine);
  }
  if (i < s.c)
    upTo(s.c);
}

/// Whether rows of C begin in the same place of a line.
template <class T> bool areRowsAlike(const TileShape &s) {
  return (s.m == 1 || s.cM % kCacheLine<T> == 0) && (s.n == 1 || s.cN % kCacheLine<T> == 0);
}

template <class T, int Rows> void multiplyRows(const TileShape &s, const T *a, const T *b, T *c) {
  int64_t n = 0;
  for (; n + 2 <= s.n; n += 2)
    multiplyColumns<T, Rows, 2>(s, a, b + n * s.bN, c + n * s.cN);
  if (n < s.n)
    multiplyColumns<T, Rows, 1>(s, a, b + n * s.bN, c + n * s.cN);
}

/// So many elements of c at a time that A and B stay in the cache while m and n are gone through.
template <class T> int64_t pieceOfC(const TileShape &s) {
  constexpr int64_t kCache = 32 * 1024, kLeast = 64;
  const int64_t operands = (s.m + s.n) * s.k * static_cast<int64_t>(sizeof(T));
  return s.m <= 2 && s.n <= 2 ? s.c : std::max(kLeast, kCache / operands / kLeast * kLeast);
}

} // namespace

template <class T> void multiplyBatch(const TileShape &s, const T *a, const T *b, T *c) noexcept {
  const bool areAlike = areRowsAlike<T>(s);
  // Single products need no neighbours: each row goes past the caches from its own begin on.
  if ((s.m == 1 && s.n == 1) || (s.pastCaches && s.k == 1 && !areAlike)) {
    for (int64_t m = 0; m < s.m; ++m)
      for (int64_t n = 0; n < s.n; ++n)
        multiplyColumns<T, 1, 1>(s, a + m * s.aM, b + n * s.bN, c + m * s.cM + n * s.cN);
    return;
  }
  TileShape part = s;
  part.pastCaches = s.pastCaches && areAlike;
  for (int64_t i = 0; i < s.c; i += part.c) {
    const int64_t piece = pieceOfC<T>(s), left = s.c - i;
    part.c = piece < left ? piece - pastLine(c + i) : left; // Up to the end of a line.
    int64_t m = 0;
    for (; m + 2 <= s.m; m += 2)
      multiplyRows<T, 2>(part, a + i + m * s.aM, b + i, c + i + m * s.cM);
    if (m < s.m)
      multiplyRows<T, 1>(part, a + i + m * s.aM, b + i, c + i + m * s.cM);
  }
}

template <class T> void multiplyScaled(const TileShape &s, const T *a, const T *b, T *c) noexcept {
  TileShape row;
  row.c = s.m;
  row.accumulate = s.accumulate;
  row.pastCaches = s.pastCaches;
  for (int64_t i = 0; i < s.c; ++i)
    multiplyColumns<T, 1, 1, true>(row, a + i * s.aC, b + i * s.bC, c + i * s.cC);
}

template void multiplyBatch(const TileShape &, const float *, const float *, float *) noexcept;
template void multiplyBatch(const TileShape &, const double *, const double *, double *) noexcept;
template void multiplyScaled(const TileShape &, const float *, const float *, float *) noexcept;
template void multiplyScaled(const TileShape &, const double *, const double *, double *) noexcept;

} // namespace einsumc
