//===- LaneSums.h - the sums of the lanes of several vectors ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_LANESUMS_H
#define EINSUMC_RUNTIME_LANESUMS_H

#include "SimdVector.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace einsumc {

/// The first (\p Half 0) or the second halves of groups of \p Width lanes: of vectors a and b by
/// turns.
template <class T, int Half, int Width, class V> V halvesOfGroups(V a, V b) {
  constexpr int kSize = sizeof(V) / sizeof(T), kHalf = Width / 2;
  const auto from = [](int lane) constexpr {
    const int group = lane / kHalf;
    return group / 2 * Width + Half * kHalf + lane % kHalf + (group % 2 == 0 ? 0 : kSize);
  };
  return [&]<int... Lane>(std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(a, b, from(Lane)...);
  }(std::make_integer_sequence<int, kSize>());
}

/// The same of one vector, next to each other in a smaller one.
template <class T, int Half, int Width, class V> auto halvesOfGroups(V a) {
  constexpr int kHalf = Width / 2;
  const auto from = [](int lane) constexpr {
    return lane / kHalf * Width + Half * kHalf + lane % kHalf;
  };
  return [&]<int... Lane>(std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(a, a, from(Lane)...);
  }(std::make_integer_sequence<int, sizeof(V) / sizeof(T) / 2>());
}

/// Adds the lanes of each group of \p Width lanes, and returns the sums next to each other.
template <class T, int Width, class V> [[gnu::always_inline]] inline auto sumsOfGroups(V value) {
  if constexpr (Width == 1)
    return value;
  else if constexpr (sizeof(V) == 2 * sizeof(T))
    return value[0] + value[1];
  else
    return sumsOfGroups<T, Width / 2>(halvesOfGroups<T, 0, Width>(value) +
                                      halvesOfGroups<T, 1, Width>(value));
}

/// Adds up the lanes of \p Count vectors in groups of \p Width as far as the vectors become one, in
/// groups for each of \p Count rounded up to a power of 2.
template <class T, int Count, int Width>
[[gnu::always_inline]] inline auto foldGroups(simd::Vector<T> *vectors) {
  if constexpr (Count == 1) {
    return sumsOfGroups<T, Width>(vectors[0]);
  } else {
    constexpr int kHalf = static_cast<int>(std::bit_ceil(static_cast<unsigned>(Count))) / 2;
#pragma GCC unroll 16
    for (int i = 0; i < kHalf; ++i) {
      const simd::Vector<T> a = vectors[i], b = vectors[i + kHalf < Count ? i + kHalf : i];
      vectors[i] = halvesOfGroups<T, 0, Width>(a, b) + halvesOfGroups<T, 1, Width>(a, b);
    }
    return foldGroups<T, kHalf, Width / 2>(vectors);
  }
}

/// Writes the sums of the lanes of each of \p Count vectors, which are overwritten, and then
/// whatever, less than a vector. Several are added together: an addition of vectors that have
/// halves of two serves both.
template <class T, int Count>
[[gnu::always_inline]] inline void putLaneSums(simd::Vector<T> *vectors, T *sums) {
  constexpr int kAtOnce = std::min(Count, simd::kLanes<T>);
  simd::store(sums, foldGroups<T, kAtOnce, simd::kLanes<T>>(vectors));
  if constexpr (Count > kAtOnce)
    putLaneSums<T, Count - kAtOnce>(vectors + kAtOnce, sums + kAtOnce);
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_LANESUMS_H
