//===- SumKernels.h - sums of rows of elements ------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// All add to what `out` has, or write new rows of it, for every step of a loop `around`, and take a
// loop of sums, which are neighbours in `out`, and one of their terms.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_SUMKERNELS_H
#define EINSUMC_RUNTIME_SUMKERNELS_H

#include "CopyLoops.h"
#include "LaneSums.h"
#include "Prefetch.h"
#include "RegisterBlock.h"
#include "SimdVector.h"
#include "StreamAhead.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace einsumc::sums {

/// So many terms are added to each sum without pairing.
inline constexpr int64_t kUnpaired = 64;
/// Vectors and elements of a row of sums that is kept in registers.
inline constexpr int kRowVectors = 4;
template <class T> inline constexpr int64_t kShortRow = kRowVectors * simd::kLanes<T>;
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

/// Rows of some vectors, the last a part of one if there is a tail.
/// \param areNew `out` has zeros, in rows that follow each other, and room for a vector behind
/// them: tails are written as whole vectors, of which the next rows overwrite the rest
template <class T, int Vectors, bool HasTail>
void addShortRows(T *out, const T *source, const Loop &sums, const Loop &terms, const Loop &around,
                  bool areNew) {
  constexpr int kLanes = simd::kLanes<T>, kLast = Vectors - 1;
  using Row = RegisterBlock<T, Vectors, 1>;
  const simd::LaneMask<T> mask(static_cast<int>(sums.extent % kLanes));
  // Up to here, tails can be read as whole vectors: the other lanes are of no importance.
  const int64_t lastWhole = endOf(source, sums, terms, around) - source - Vectors * kLanes;
  const auto addRow = [&](Row &to, int64_t at) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors - HasTail; ++v)
      to[0][v] += simd::load(source + at + v * kLanes);
    if constexpr (HasTail) {
      const T *const tail = source + at + kLast * kLanes;
      to[0][kLast] += at <= lastWhole ? simd::load(tail) : mask.load(tail);
    }
  };
  for (int64_t step = 0; step < around.extent; ++step, out += around.to) {
    Row all = {};
    int64_t at = step * around.from;
    for (int64_t left = terms.extent; left > 0; left -= kUnpaired) {
      // Two rows at a time: a sum waits for the one before it.
      Row even = {}, odd = {};
      int64_t i = std::min(left, kUnpaired);
      for (; i >= 2; i -= 2, at += 2 * terms.from) {
        addRow(even, at);
        addRow(odd, at + terms.from);
      }
      if (i == 1) {
        addRow(even, at);
        at += terms.from;
      }
      for (int v = 0; v < Vectors; ++v)
        all[0][v] += even[0][v] + odd[0][v];
    }
    if (HasTail && areNew)
      for (int v = 0; v < Vectors; ++v)
        simd::store(out + v * kLanes, all[0][v]);
    else
      putSums<HasTail, true, T, Vectors, 1>(all, mask, [&](int) { return out; });
  }
}

template <class T>
using RowKernel = void (*)(T *, const T *, const Loop &sums, const Loop &terms, const Loop &around,
                           bool areNew);

/// The kernel for rows of so many elements. \pre 1 <= width <= kShortRow
template <class T> RowKernel<T> kernelOfShortRows(int64_t width) {
  static constexpr auto kWhole = tableOfBlocks<RowKernel<T>, kRowVectors, 1>(
      []<int Vectors, int>() { return addShortRows<T, Vectors, false>; });
  static constexpr auto kWithTail = tableOfBlocks<RowKernel<T>, kRowVectors, 1>(
      []<int Vectors, int>() { return addShortRows<T, Vectors, true>; });
  const auto &all = width % simd::kLanes<T> == 0 ? kWhole : kWithTail;
  return all[static_cast<std::size_t>((width - 1) / simd::kLanes<T>)][0];
}

/// Rows of up to a vector of type V, of a constant number of terms, for steps that can be read as
/// whole vectors; returns how many. \pre the rows are new as above
template <class T, class V, int Terms>
int64_t putNarrowRows(T *__restrict out, const T *__restrict source, const Loop &sums,
                      const Loop &terms, const Loop &around) {
  constexpr int64_t kLanes = sizeof(V) / sizeof(T);
  const int64_t last = endOf(source, sums, terms, around) - source - kLanes;
  const int64_t behind = last - (Terms - 1) * terms.from;
  const int64_t steps = behind < 0 ? 0 : std::min(around.extent, behind / around.from + 1);
  for (int64_t step = 0; step < steps; ++step, out += around.to, source += around.from) {
    prefetch(source + StreamAhead<T>::kAhead);
    V sum = simd::loadAs<V>(source);
#pragma GCC unroll 16
    for (int term = 1; term < Terms; ++term)
      sum += simd::loadAs<V>(source + term * terms.from);
    simd::store(out, sum);
  }
  return steps;
}

/// The kernel for so many terms of rows of so many elements, of vectors that are not longer than
/// these need: fewer of them lie in two cache lines.
/// \pre 1 <= terms <= kFewTerms and 1 <= width <= simd::kLanes<T>
template <class T, int Bytes = simd::kVectorBytes>
auto kernelOfNarrowRows(int64_t width, int64_t terms) {
  using V = typename simd::VectorOf<T, Bytes>::type;
  constexpr int kLeastBytes = 16;
  if constexpr (Bytes > kLeastBytes)
    if (2 * width * static_cast<int64_t>(sizeof(T)) <= Bytes)
      return kernelOfNarrowRows<T, Bytes / 2>(width, terms);
  return [&]<int... Terms>(std::integer_sequence<int, Terms...>) {
    static constexpr decltype(&putNarrowRows<T, V, 1>) kTable[] = {
        putNarrowRows<T, V, Terms + 1>...};
    return kTable[terms - 1];
  }(std::make_integer_sequence<int, kFewTerms>());
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

/// out[x] += the sum of the rows source[x + term * terms.from]; areNew: as above.
/// \pre sums.from == 1
template <class T>
void addRows(T *out, const T *source, const Loop &sums, const Loop &terms, const Loop &around,
             bool areNew) {
  if (areNew && around.from > 0 && sums.extent <= simd::kLanes<T> && terms.extent <= kFewTerms) {
    const int64_t done =
        kernelOfNarrowRows<T>(sums.extent, terms.extent)(out, source, sums, terms, around);
    const Loop rest = {around.extent - done, around.to, around.from};
    return kernelOfShortRows<T>(sums.extent)(out + done * around.to, source + done * around.from,
                                             sums, terms, rest, areNew);
  }
  if (sums.extent <= kShortRow<T>)
    return kernelOfShortRows<T>(sums.extent)(out, source, sums, terms, around, areNew);
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
        end - source >= i + kLanes ? mask.keep(simd::load(source + i)) : mask.load(source + i);
  return sumsOfGroups<T, simd::kLanes<T>>((sums[0] + sums[1]) + (sums[2] + sums[3]));
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

template <class T>
using TermKernel = void (*)(T *, const T *, const Loop &sums, const Loop &terms,
                            const Loop &around);

/// The kernel for sums of few terms. \pre 1 <= terms <= kFewTerms
template <class T> TermKernel<T> kernelOfFewTerms(int64_t terms) {
  return [&]<int... Terms>(std::integer_sequence<int, Terms...>) {
    static constexpr TermKernel<T> kTable[] = {addFewTerms<T, Terms + 1>...};
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
