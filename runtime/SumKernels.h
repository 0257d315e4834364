//===- SumKernels.h - sums of rows of elements ------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// All add to what `out` has, for every step of a loop `around`, and take a loop of sums, which are
// neighbours in `out`, and one of their terms.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_SUMKERNELS_H
#define EINSUMC_RUNTIME_SUMKERNELS_H

#include "CopyLoops.h"
#include "SimdVector.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace einsumc::sums {

/// Elements of a row of sums that is kept in registers.
template <class T> inline constexpr int64_t kShortRow = 4 * simd::kLanes<T>;
/// Rows that are added up before they are added to longer ones.
inline constexpr int64_t kRowsAtOnce = 4;
/// Parts of a sum of far elements.
inline constexpr int kFarParts = 8;
/// Sums of so many terms have kernels with that number as a constant.
inline constexpr int kFewTerms = 16;

/// One past the last element that a kernel adds: up to there it may load whole vectors.
template <class T>
const T *endOf(const T *source, const Loop &sums, const Loop &terms, const Loop &around) {
  for (const Loop *loop : {&sums, &terms, &around})
    source += (loop->extent - 1) * loop->from;
  return source + 1;
}

/// Rows of some whole vectors and of a part of one.
template <class T, int Vectors, bool HasTail>
void addShortRows(T *out, const T *source, const Loop &sums, const Loop &terms,
                  const Loop &around) {
  constexpr int kLanes = simd::kLanes<T>, kAll = Vectors + (HasTail ? 1 : 0);
  constexpr int64_t kUnpaired = 64; // rows that are summed apart from the others
  const simd::LaneMask<T> mask(static_cast<int>(sums.extent % kLanes));
  const T *const lastWhole = endOf(source, sums, terms, around) - kAll * kLanes;
  const auto addRow = [&](simd::Vector<T> *to, const T *row) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v)
      to[v] += simd::load(row + v * kLanes);
    if constexpr (HasTail) // The other lanes are of no importance.
      to[Vectors] +=
          row <= lastWhole ? simd::load(row + Vectors * kLanes) : mask.load(row + Vectors * kLanes);
  };
  for (int64_t step = 0; step < around.extent; ++step, out += around.to, source += around.from) {
    simd::Vector<T> all[kAll] = {};
    const T *row = source;
    for (int64_t left = terms.extent; left > 0; left -= kUnpaired) {
      // Two rows at a time: a sum waits for the one before it.
      simd::Vector<T> even[kAll] = {}, odd[kAll] = {};
      int64_t i = std::min(left, kUnpaired);
      for (; i >= 2; i -= 2, row += 2 * terms.from) {
        addRow(even, row);
        addRow(odd, row + terms.from);
      }
      if (i > 0) {
        addRow(even, row);
        row += terms.from;
      }
      for (int v = 0; v < kAll; ++v)
        all[v] += even[v] + odd[v];
    }
    for (int v = 0; v < Vectors; ++v)
      simd::put<true>(out + v * kLanes, all[v]);
    if constexpr (HasTail)
      mask.template put<true>(out + Vectors * kLanes, all[Vectors]);
  }
}

/// The kernel for rows of so many elements. \pre 1 <= width <= kShortRow
template <class T> auto kernelOfShortRows(int64_t width) {
  using Kernel = void (*)(T *, const T *, const Loop &, const Loop &, const Loop &);
  static constexpr Kernel kWhole[] = {addShortRows<T, 1, false>, addShortRows<T, 2, false>,
                                      addShortRows<T, 3, false>, addShortRows<T, 4, false>};
  static constexpr Kernel kWithTail[] = {addShortRows<T, 0, true>, addShortRows<T, 1, true>,
                                         addShortRows<T, 2, true>, addShortRows<T, 3, true>};
  const int64_t vectors = width / simd::kLanes<T>;
  return width % simd::kLanes<T> == 0 ? kWhole[vectors - 1] : kWithTail[vectors];
}

/// Rows in the order of the source, some at a time.
template <class T>
void addLongRows(T *__restrict out, const T *__restrict source, int64_t width, int64_t rows,
                 int64_t far) {
  for (; rows >= kRowsAtOnce; rows -= kRowsAtOnce, source += kRowsAtOnce * far)
    for (int64_t x = 0; x < width; ++x)
      out[x] += (source[x] + source[far + x]) + (source[2 * far + x] + source[3 * far + x]);
  if (rows == 3)
    for (int64_t x = 0; x < width; ++x)
      out[x] += (source[x] + source[far + x]) + source[2 * far + x];
  else if (rows == 2)
    for (int64_t x = 0; x < width; ++x)
      out[x] += source[x] + source[far + x];
  else if (rows == 1)
    for (int64_t x = 0; x < width; ++x)
      out[x] += source[x];
}

/// out[x] += the sum of the rows source[x + term * terms.from]. \pre sums.from == 1
template <class T>
void addRows(T *out, const T *source, const Loop &sums, const Loop &terms, const Loop &around) {
  if (sums.extent <= kShortRow<T>)
    return kernelOfShortRows<T>(sums.extent)(out, source, sums, terms, around);
  for (int64_t step = 0; step < around.extent; ++step, out += around.to, source += around.from)
    addLongRows(out, source, sums.extent, terms.extent, terms.from);
}

/// The sum of consecutive elements, in as many lanes as the latency of an addition needs. The mask
/// is of those beyond whole vectors, which may be loaded whole up to the end.
template <class T>
T sumConsecutive(const T *source, int64_t extent, const simd::LaneMask<T> &mask, const T *end) {
  constexpr int kLanes = simd::kLanes<T>, kAtOnce = 4;
  simd::Vector<T> sums[kAtOnce] = {};
  int64_t i = 0;
  for (; i + kAtOnce * kLanes <= extent; i += kAtOnce * kLanes)
    for (int v = 0; v < kAtOnce; ++v)
      sums[v] += simd::load(source + i + v * kLanes);
  for (; i + kLanes <= extent; i += kLanes)
    sums[0] += simd::load(source + i);
  if (i < extent)
    sums[1] +=
        source + i + kLanes <= end ? mask.keep(simd::load(source + i)) : mask.load(source + i);
  return simd::sumLanes<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// The sum of far elements, in some parts for the same reason.
template <class T> T sumFar(const T *source, int64_t extent, int64_t step) {
  T parts[kFarParts] = {};
  int64_t i = 0;
  for (; i + kFarParts <= extent; i += kFarParts)
#pragma GCC unroll 8
    for (int part = 0; part < kFarParts; ++part)
      parts[part] += source[(i + part) * step];
  for (int part = 0; i < extent; ++i, ++part)
    parts[part] += source[i * step];
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) +
         ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

/// Sums of a constant number of terms.
template <class T, int Terms>
void addFewTerms(T *__restrict out, const T *__restrict source, int64_t sums, int64_t from,
                 int64_t step) {
  for (int64_t i = 0; i < sums; ++i, source += from) {
    T sum = 0;
#pragma GCC unroll 16
    for (int term = 0; term < Terms; ++term)
      sum += source[term * step];
    out[i] += sum;
  }
}

template <class T, int Terms>
void addFewTerms(T *out, const T *source, const Loop &sums, const Loop &terms, const Loop &around) {
  for (int64_t step = 0; step < around.extent; ++step, out += around.to, source += around.from)
    addFewTerms<T, Terms>(out, source, sums.extent, sums.from, terms.from);
}

/// The kernel for sums of few terms. \pre 1 <= terms <= kFewTerms
template <class T> auto kernelOfFewTerms(int64_t terms) {
  return [&]<int... Terms>(std::integer_sequence<int, Terms...>) {
    using Kernel = void (*)(T *, const T *, const Loop &, const Loop &, const Loop &);
    static constexpr Kernel kTable[] = {addFewTerms<T, Terms + 1>...};
    return kTable[terms - 1];
  }(std::make_integer_sequence<int, kFewTerms>());
}

/// out[i] += the sum of source[i * sums.from + term * terms.from] over the terms.
template <class T>
void addTerms(T *out, const T *source, const Loop &sums, const Loop &terms, const Loop &around) {
  if (terms.extent <= kFewTerms)
    return kernelOfFewTerms<T>(terms.extent)(out, source, sums, terms, around);
  const simd::LaneMask<T> mask(static_cast<int>(terms.extent % simd::kLanes<T>));
  const T *const end = endOf(source, sums, terms, around);
  for (int64_t step = 0; step < around.extent; ++step)
    for (int64_t i = 0; i < sums.extent; ++i) {
      const T *const from = source + step * around.from + i * sums.from;
      out[step * around.to + i] += terms.from == 1 ? sumConsecutive(from, terms.extent, mask, end)
                                                   : sumFar(from, terms.extent, terms.from);
    }
}

} // namespace einsumc::sums

#endif // EINSUMC_RUNTIME_SUMKERNELS_H
