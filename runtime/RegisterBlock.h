//===- RegisterBlock.h - blocks of a product that are summed in registers ---------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_REGISTERBLOCK_H
#define EINSUMC_RUNTIME_REGISTERBLOCK_H

#include "SimdVector.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace einsumc {

/// Some vectors along m by some columns along n of C = A * B with A and C contiguous along m, as
/// in the micro-kernels of Goto and van de Geijn (Anatomy of High-Performance Matrix
/// Multiplication, ACM TOMS 34, 2008). An array, and not a class: compilers keep only this one in
/// registers.
template <class T, int Vectors, int Columns>
using RegisterBlock = simd::Vector<T>[Columns][Vectors];

/// Adds all products first(i) * second(j) of vectors to sum(i, j). Nothing is loaded twice: what
/// there is less of stays in registers, which these, one of the others and the sums just fill.
template <int Firsts, int Seconds, class First, class Second, class Sum>
[[gnu::always_inline]] inline void addProducts(First &&first, Second &&second, Sum &&sum) {
  const auto keep = [](auto value, int uses) __attribute__((always_inline)) {
    if (uses > 1)
      simd::keepInRegister(value);
    return value;
  };
  constexpr int kFew = std::min(Firsts, Seconds), kMany = std::max(Firsts, Seconds);
  decltype(first(0)) few[kFew];
#pragma GCC unroll 32
  for (int i = 0; i < kFew; ++i)
    if constexpr (Firsts <= Seconds)
      few[i] = keep(first(i), Seconds);
    else
      few[i] = keep(second(i), Firsts);
#pragma GCC unroll 32
  for (int j = 0; j < kMany; ++j)
    if constexpr (Firsts <= Seconds) {
      const auto other = keep(second(j), Firsts);
#pragma GCC unroll 32
      for (int i = 0; i < kFew; ++i)
        sum(i, j) += few[i] * other;
    } else {
      const auto other = keep(first(j), Seconds);
#pragma GCC unroll 32
      for (int i = 0; i < kFew; ++i)
        sum(j, i) += other * few[i];
    }
}

/// Adds the product of vectors from \p a on and of a factor for each column, `factor(column)`.
/// With a tail the last vector has the lanes of the mask.
template <bool HasTail, class T, int Vectors, int Columns, class Factor>
[[gnu::always_inline]] inline void addProduct(RegisterBlock<T, Vectors, Columns> &sums, const T *a,
                                              const simd::LaneMask<T> &mask, Factor &&factor) {
  constexpr int kLanes = simd::kLanes<T>, kLast = Vectors - 1;
  addProducts<Vectors, Columns>(
      [&](int v) {
        return HasTail && v == kLast ? mask.load(a + v * kLanes) : simd::load(a + v * kLanes);
      },
      [&](int j) { return simd::broadcast<T>(factor(j)); },
      [&](int v, int j) -> auto & { return sums[j][v]; });
}

/// Writes sums to `target(column)`, or adds them to what is there.
template <bool HasTail, bool Accumulate, class T, int Vectors, int Columns, class Target>
[[gnu::always_inline]] inline void putSums(const RegisterBlock<T, Vectors, Columns> &sums,
                                           const simd::LaneMask<T> &mask, Target &&target) {
  constexpr int kLanes = simd::kLanes<T>, kLast = Vectors - 1;
#pragma GCC unroll 32
  for (int j = 0; j < Columns; ++j)
#pragma GCC unroll 32
    for (int v = 0; v < Vectors; ++v) {
      T *const to = target(j) + v * kLanes;
      if (HasTail && v == kLast)
        mask.template put<Accumulate>(to, sums[j][v]);
      else
        simd::put<Accumulate>(to, sums[j][v]);
    }
}

/// The same past the caches. \pre there is no tail, and columns begin at multiples of vectors
template <class T, int Vectors, int Columns, class Target>
[[gnu::always_inline]] inline void putSumsPastCaches(const RegisterBlock<T, Vectors, Columns> &sums,
                                                     Target &&target) {
#pragma GCC unroll 32
  for (int j = 0; j < Columns; ++j)
#pragma GCC unroll 32
    for (int v = 0; v < Vectors; ++v)
      simd::storePastCaches(target(j) + v * simd::kLanes<T>, sums[j][v]);
}

/// Functions by the vectors and columns of blocks, both less one: `make<vectors, columns>()` of
/// all that fit the registers.
template <class Function, int MostVectors, int MostColumns, class Make>
constexpr auto tableOfBlocks(Make &&make) {
  std::array<std::array<Function, MostColumns>, MostVectors> table = {};
  const auto set = [&]<std::size_t At>() {
    constexpr std::size_t v = At / MostColumns, n = At % MostColumns;
    if constexpr ((v + 1) * (n + 1) <= simd::kSums)
      table[v][n] = make.template operator()<static_cast<int>(v + 1), static_cast<int>(n + 1)>();
  };
  [&]<std::size_t... At>(std::index_sequence<At...>) {
    (set.template operator()<At>(), ...);
  }(std::make_index_sequence<static_cast<std::size_t>(MostVectors * MostColumns)>());
  return table;
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_REGISTERBLOCK_H
