//===- TileKernel.cpp - the product of two small strided tiles --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/TileKernel.h"

#include "JitKernel.h"
#include "PortableKernel.h"
#include "SimdVector.h"
#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <utility>

namespace einsumc {

namespace {

#if defined(__AVX__) && !defined(__AVX512F__)
/// Whether LIBXSMM's blocks of so many vectors keep the processor busy. It takes four vectors at a
/// time and then those that are left: of one or two there are too few sums under way, which matters
/// less with few terms, where starting and ending blocks takes longer.
constexpr bool hasLongBlocks(int64_t vectors, int64_t k) {
  constexpr int64_t kAtOnce = 4, kFewTerms = 32;
  const int64_t left = vectors % kAtOnce;
  return left == 0 || left == kAtOnce - 1 || (vectors > kAtOnce && k <= kFewTerms);
}
#else
constexpr bool hasLongBlocks(int64_t /*vectors*/, int64_t /*k*/) { return true; }
#endif

/// Whether multiplyPanels computes the tile and fetches the next columns of B meanwhile: it does
/// where these have some lines, and rows are so few that the processor would rather wait for them.
template <class T> bool isFetchedByPanels(const TileShape &s) {
  constexpr int64_t kLeastBytes = 2 * copies::kLineBytes;
  return s.bFetched && s.bK == 1 && isRow(s.m, s.aM) && isRow(s.m, s.cM) &&
         s.m <= simd::kLanes<T> && s.k * static_cast<int64_t>(sizeof(T)) >= kLeastBytes;
}

/// Whether LIBXSMM's machine code beats the portable kernel, as tools/bench/kernels.cpp measures:
/// it does for long blocks of whole vectors while the first-level cache keeps its part of A, and
/// for a single tile so small that the choice among blocks would take longer than the product.
template <class T> bool isWorthGenerating(const TileShape &s) {
  if (!isRow(s.m, s.cM) || s.n == 1)
    return false;
#ifdef __AVX512F__
  // A part of a vector costs what a whole one does; such machines have more cache, too.
  constexpr bool hasMasks = true;
  constexpr int64_t kCacheBytes = 256 << 10;
#else
  constexpr bool hasMasks = false;
  constexpr int64_t kCacheBytes = 24 << 10;
#endif
  constexpr int64_t kTiny = 64;
  // A panel that is read from end to end, or nearly so, comes from the second-level cache as fast.
  constexpr int64_t kPanelBytes = 512 << 10;
  const int64_t bytes = s.m * s.k * static_cast<int64_t>(sizeof(T));
  const bool fitsCache = bytes <= (s.aK <= 2 * s.m ? kPanelBytes : kCacheBytes);
  const bool areWhole = s.m % simd::kLanes<T> == 0 && hasLongBlocks(s.m / simd::kLanes<T>, s.k);
  const bool isTiny = !hasMasks && s.c == 1 && s.m * s.n * s.k <= kTiny;
  return isTiny || (fitsCache && (hasMasks || areWhole));
}

} // namespace

void endStoresPastCaches() noexcept { simd::endStoresPastCaches(); }

template <class T> struct TileKernel<T>::Runs {
  static void nothing(const TileKernel & /*kernel*/, const T * /*a*/, const T * /*b*/,
                      T * /*c*/) noexcept {}

  static void clear(const TileKernel &kernel, const T * /*a*/, const T * /*b*/, T *c) noexcept {
    const TileShape &s = kernel.work;
    const T zero = 0;
    copyStrided<T>(c, &zero, {{s.c, s.cC, 0}, {s.m, s.cM, 0}, {s.n, s.cN, 0}});
  }

  template <bool IsExchanged>
  static void portable(const TileKernel &kernel, const T *a, const T *b, T *c) noexcept {
    kernel.portable(kernel.work, IsExchanged ? b : a, IsExchanged ? a : b, c);
  }

  template <bool IsExchanged>
  static void jit(const TileKernel &kernel, const T *a, const T *b, T *c) noexcept {
    const TileShape &s = kernel.work;
    if constexpr (IsExchanged)
      std::swap(a, b);
    for (int64_t i = 0; i < s.c; ++i)
      kernel.jit(a + i * s.aC, b + i * s.bC, c + i * s.cC);
  }
};

template <class T> TileKernel<T>::TileKernel(const TileShape &shape) : tile(shape), work(shape) {
  if (shape.c == 0 || shape.m == 0 || shape.n == 0 || (shape.k == 0 && shape.accumulate)) {
    run = Runs::nothing;
    return;
  }
  if (shape.k == 0) {
    run = Runs::clear;
    return;
  }
  if (shape.bInPanels) {
    portable = multiplyColumnPanels<T>;
    run = Runs::template portable<false>;
    return;
  }
  const bool isExchanged = shouldExchange(shape);
  if (isExchanged)
    work = exchangeOperands(shape);
  work.bFetched = isFetchedByPanels<T>(work);
  jit = !work.bFetched && isWorthGenerating<T>(work) ? generateTile<T>(work) : nullptr;
  portable = portableTile<T>(work);
  if (jit)
    run = isExchanged ? Runs::template jit<true> : Runs::template jit<false>;
  else
    run = isExchanged ? Runs::template portable<true> : Runs::template portable<false>;
}

template <class T>
TileKernelSet<T>::TileKernelSet(TileRange c, TileRange m, TileRange n, TileRange k,
                                const TileShape &strides)
    : tileC(std::min(c.tile, c.extent)), tileM(std::min(m.tile, m.extent)),
      tileN(std::min(n.tile, n.extent)), tileK(std::min(k.tile, k.extent)), kernels(32) {
  // The size that a bit of select's index stands for; 0 for a remainder that is none.
  const auto sizeOf = [](const TileRange &range, int64_t tile, bool isRemainder) {
    return isRemainder ? (tile > 0 ? range.extent % tile : 0) : tile;
  };
  for (std::size_t index = 0; index < kernels.size(); ++index) {
    const auto bit = [&](int position) { return (index >> position & 1) != 0; };
    TileShape shape = strides;
    shape.c = sizeOf(c, tileC, bit(4));
    shape.m = sizeOf(m, tileM, bit(3));
    shape.n = sizeOf(n, tileN, bit(2));
    shape.k = sizeOf(k, tileK, bit(1));
    shape.accumulate = bit(0);
    const bool isEmptyRemainder = (bit(4) && shape.c == 0) || (bit(3) && shape.m == 0) ||
                                  (bit(2) && shape.n == 0) || (bit(1) && shape.k == 0);
    if (!isEmptyRemainder)
      kernels[index] = TileKernel<T>(shape);
  }
}

template class TileKernel<float>;
template class TileKernel<double>;
template class TileKernelSet<float>;
template class TileKernelSet<double>;

} // namespace einsumc
