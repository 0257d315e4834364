//===- JoinedColumns.cpp - products whose columns follow each other in C ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// A vector of C along two columns is a sum of products of vectors: the rows of both that it has,
// and for each lane the factor of its column. Blocks in registers have some m by some n, so that
// these are put together as seldom as other kernels load theirs, and whole lines of C are written
// from registers.
//
//===------------------------------------------------------------------------------------------===//

#include "JoinedColumns.h"

#include "EvenPieces.h"
#include "RegisterBlock.h"

#include <algorithm>
#include <numeric>

namespace einsumc {

namespace {

/// The runs along m of a block in registers, and the most along n.
constexpr int kLeastRuns = tiles::kLeastJoinedColumns, kMostRuns = tiles::kMostJoinedColumns;
constexpr int kMostN = simd::kSums / kLeastRuns;
/// The fewest along n with which vectors of A are used often enough.
constexpr std::size_t kLeastN = 3;
/// Vectors of A for all k that leave room in the first-level cache.
constexpr std::size_t kMostOfA = tiles::kMostJoinedVectors;
static_assert(tiles::mayJoinColumns(simd::kLanes<float> + 1, simd::kLanes<float>, sizeof(float)) ==
              (simd::kSums >= 24));

/// A vector of a run of C.
struct VectorOfRun {
  int64_t row = 0, column = 0; ///< of the first lane
  int64_t inFirst = 0;         ///< lanes of the first column
};

/// Brings together the rows of A that such a vector has, for each k and each run along m.
template <class T>
void gatherRows(const JoinedColumns<T> &work, const VectorOfRun &vector, T *target) {
  const simd::LaneMask<T> mask(static_cast<int>(vector.inFirst));
  const T *a = work.a + vector.row;
  for (int64_t k = 0; k < work.k; ++k, a += work.aK)
    for (std::size_t i = 0; i < work.mCount; ++i, target += simd::kLanes<T>) {
      const T *const rows = a + static_cast<int64_t>(i) * work.rows;
      simd::store(target, mask.loadOthers(mask.load(rows), rows - work.rows));
    }
}

/// Sums vectors of C. \param b the column of B of the first lane, for the first n
template <class T, int Runs, int N, bool IsInTwo>
void sumVectors(const JoinedColumns<T> &work, int64_t inFirst, const T *a, const T *b,
                const int64_t *n, T *c) {
  const int64_t bN = work.bN, step = work.columns * bN;
  const simd::LaneMask<T> mask(static_cast<int>(inFirst));
  RegisterBlock<T, Runs, N> sums = {};
  for (int64_t k = work.k; k > 0; --k, a += Runs * simd::kLanes<T>, ++b)
    addProducts<Runs, N>([&](int i) { return simd::load(a + i * simd::kLanes<T>); },
                         [&](int j) {
                           const T *const factor = b + j * step;
                           const simd::Vector<T> first = simd::broadcast<T>(*factor);
                           return IsInTwo ? mask.select(first, simd::broadcast<T>(factor[bN]))
                                          : first;
                         },
                         [&](int i, int j) -> auto & { return sums[j][i]; });
#pragma GCC unroll 32
  for (int j = 0; j < N; ++j)
#pragma GCC unroll 32
    for (int i = 0; i < Runs; ++i)
      simd::storePastCaches(c + work.m[static_cast<std::size_t>(i)] + n[j], sums[j][i]);
}

template <class T>
using Vectors = void (*)(const JoinedColumns<T> &work, int64_t inFirst, const T *a, const T *b,
                         const int64_t *n, T *c);

/// By runs from the fewest on, and by those along n less one.
template <class T, bool IsInTwo>
constexpr auto kVectors = tableOfBlocks<Vectors<T>, kMostRuns - kLeastRuns + 1, kMostN>(
    []<int More, int N>() -> Vectors<T> {
      constexpr int kRuns = More + kLeastRuns - 1;
      if constexpr (kRuns * N <= simd::kSums)
        return sumVectors<T, kRuns, N, IsInTwo>;
      else
        return nullptr;
    });

} // namespace

template <class T> bool multiplyJoinedColumns(const JoinedColumns<T> &work) noexcept {
  constexpr int64_t kLanes = simd::kLanes<T>;
  if (work.rows * work.columns % kLanes != 0 || work.mCount < kLeastRuns ||
      work.n.size() < kLeastN || work.mCount * static_cast<std::size_t>(work.k) > kMostOfA)
    return false;
  const auto runs = static_cast<int64_t>(work.mCount);
  alignas(64) T a[kMostOfA * static_cast<std::size_t>(kLanes)];
  // Vectors that have the same rows follow each other: so many columns, and elements of C, apart.
  const int64_t elements = std::lcm(work.rows, kLanes);
  for (int64_t begin = 0; begin < elements; begin += kLanes) {
    VectorOfRun vector{begin % work.rows, begin / work.rows, 0};
    vector.inFirst = std::min(kLanes, work.rows - vector.row);
    gatherRows(work, vector, a);
    const auto &table = vector.inFirst < kLanes ? kVectors<T, true> : kVectors<T, false>;
    const auto &ofRuns = table[static_cast<std::size_t>(runs - kLeastRuns)];
    EvenPieces(static_cast<int64_t>(work.n.size()), simd::kSums / runs)
        .forEach([&](int64_t n, int64_t count) {
          const Vectors<T> sum = ofRuns[static_cast<std::size_t>(count - 1)];
          const T *b = work.b + (n * work.columns + vector.column) * work.bN;
          for (int64_t at = begin; at < work.rows * work.columns; at += elements) {
            sum(work, vector.inFirst, a, b, work.n.data() + n, work.c + at);
            b += elements / work.rows * work.bN;
          }
        });
  }
  return true;
}

template bool multiplyJoinedColumns(const JoinedColumns<float> &) noexcept;
template bool multiplyJoinedColumns(const JoinedColumns<double> &) noexcept;

} // namespace einsumc
