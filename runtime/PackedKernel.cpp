//===- PackedKernel.cpp - tile products of any strides ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "TileFunctions.h"
#include "einsumc/StridedCopy.h"

#include <algorithm>

namespace einsumc {

namespace {

constexpr int64_t kMostM = 64, kMostN = 64, kMostK = 128;

/// A block of A with m consecutive, all of k in blocks, for all of \p s, whose C has m consecutive.
template <class T>
void multiplyPackingA(const TileShape &s, const T *a, const T *b, T *c) noexcept {
  alignas(64) T packed[kMostM * kMostK];
  TileShape part = s;
  part.aM = 1;
  part.aK = s.m;
  for (int64_t k = 0; k < s.k; k += part.k) {
    part.k = std::min(kMostK, s.k - k);
    copyStrided<T>(packed, a + k * s.aK, {{s.m, 1, s.aM}, {part.k, s.m, s.aK}});
    multiplyPanels(part, packed, b + k * s.bK, c);
    part.accumulate = true;
  }
}

/// The same for a C of any strides, with at most kMostN columns.
template <class T>
void multiplyPackingC(const TileShape &s, const T *a, const T *b, T *c) noexcept {
  alignas(64) T packed[kMostM * kMostN];
  TileShape part = s;
  part.cM = 1;
  part.cN = s.m;
  part.accumulate = false;
  if (s.aM == 1)
    multiplyPanels(part, a, b, packed);
  else
    multiplyPackingA(part, a, b, packed);
  const CopyLoop back[] = {{s.m, s.cM, 1}, {s.n, s.cN, s.m}};
  if (s.accumulate)
    addStrided<T>(c, packed, back);
  else
    copyStrided<T>(c, packed, back);
}

} // namespace

template <class T> void multiplyPacked(const TileShape &s, const T *a, const T *b, T *c) noexcept {
  TileShape part = s;
  part.c = 1;
  const auto multiply = s.cM == 1 ? multiplyPackingA<T> : multiplyPackingC<T>;
  const int64_t mostN = s.cM == 1 ? s.n : kMostN;
  for (int64_t i = 0; i < s.c; ++i)
    for (int64_t m = 0; m < s.m; m += part.m) {
      part.m = std::min(kMostM, s.m - m);
      for (int64_t n = 0; n < s.n; n += part.n) {
        part.n = std::min(mostN, s.n - n);
        multiply(part, a + i * s.aC + m * s.aM, b + i * s.bC + n * s.bN,
                 c + i * s.cC + m * s.cM + n * s.cN);
      }
    }
}

template <class T> void multiplyPlain(const TileShape &s, const T *a, const T *b, T *c) noexcept {
  for (int64_t i = 0; i < s.c; ++i)
    for (int64_t m = 0; m < s.m; ++m)
      for (int64_t n = 0; n < s.n; ++n) {
        const T *const row = a + i * s.aC + m * s.aM;
        const T *const column = b + i * s.bC + n * s.bN;
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t k = 0; k < s.k; ++k)
          sum += row[k * s.aK] * column[k * s.bK];
        T &target = c[i * s.cC + m * s.cM + n * s.cN];
        target = (s.accumulate ? target : T(0)) + sum;
      }
}

template void multiplyPacked(const TileShape &, const float *, const float *, float *) noexcept;
template void multiplyPacked(const TileShape &, const double *, const double *, double *) noexcept;
template void multiplyPlain(const TileShape &, const float *, const float *, float *) noexcept;
template void multiplyPlain(const TileShape &, const double *, const double *, double *) noexcept;

} // namespace einsumc
