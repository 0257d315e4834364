//===- DotKernel.cpp - tile products vectorised over k ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "CopyKernels.h"
#include "EvenPieces.h"
#include "LaneSums.h"
#include "RegisterBlock.h"
#include "SimdVector.h"
#include "TileFunctions.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace einsumc {

namespace {

constexpr int kMostRows = static_cast<int>(tiles::kDotRows);
constexpr int kMostColumns = static_cast<int>(tiles::dotColumns(simd::kVectorBytes));
static_assert(kMostRows * kMostColumns <= simd::kSums);
/// Sums that must be under way at once to hide the latency of an addition.
constexpr int kEnoughSums = 8;

/// Blocks of Rows x Columns dot products; when these are few, each in several partial sums.
template <class T, int Rows, int Columns>
void multiplyBlocks(const TileShape &s, const BlockLoop &loop, const T *a, const T *b, T *c) {
  using Vector = simd::Vector<T>;
  constexpr int kLanes = simd::kLanes<T>;
  constexpr int kDots = Rows * Columns;
  constexpr int kPartial = kDots >= kEnoughSums ? 1 : kEnoughSums / kDots;
  const int64_t aM = s.aM, bN = s.bN, rest = s.k % kLanes, whole = s.k - rest;
  const simd::LaneMask<T> mask(static_cast<int>(rest));
  for (int64_t block = 0; block < loop.count; ++block, a += loop.a, b += loop.b, c += loop.c) {
    Vector sums[Rows][Columns][kPartial] = {};
    const auto step = [&](int64_t k, int p, const auto &load) {
      addProducts<Rows, Columns>([&](int i) { return load(a + i * aM + k); },
                                 [&](int j) { return load(b + j * bN + k); },
                                 [&](int i, int j) -> auto & { return sums[i][j][p]; });
    };
    const auto loadAll = [](const T *source) { return simd::load(source); };
    int64_t k = 0;
    for (; k + kPartial * kLanes <= whole; k += kPartial * kLanes)
#pragma GCC unroll 8
      for (int p = 0; p < kPartial; ++p)
        step(k + p * kLanes, p, loadAll);
    for (; k < whole; k += kLanes)
      step(k, 0, loadAll);
    if (rest > 0)
      step(k, 0, [&](const T *source) { return mask.load(source); });
    Vector dots[kDots];
#pragma GCC unroll 32
    for (int dot = 0; dot < kDots; ++dot) {
      dots[dot] = sums[dot / Columns][dot % Columns][0];
#pragma GCC unroll 8
      for (int p = 1; p < kPartial; ++p)
        dots[dot] += sums[dot / Columns][dot % Columns][p];
    }
    T results[kDots + kLanes];
    putLaneSums<T, kDots>(dots, results);
#pragma GCC unroll 32
    for (int dot = 0; dot < kDots; ++dot) {
      T &target = c[dot / Columns * s.cM + dot % Columns * s.cN];
      target = simd::byItself((s.accumulate ? target : T(0)) + results[dot]);
    }
  }
}

template <class T>
using Blocks = void (*)(const TileShape &s, const BlockLoop &loop, const T *a, const T *b, T *c);

/// The blocks by rows, then by columns, both less one.
template <class T>
constexpr auto kBlocks = []<int... I>(std::integer_sequence<int, I...>) {
  return std::array<Blocks<T>, sizeof...(I)>{
      multiplyBlocks<T, I / kMostColumns + 1, I % kMostColumns + 1>...};
}(std::make_integer_sequence<int, kMostRows * kMostColumns>());

/// The rows of an operand in the order in which dots read them, to which the columns of B count,
/// too: those of each product of a batch, and then those of the next tile product.
struct DotRows {
  int64_t count, apart; ///< of one product of the batch
  int64_t batch, step;  ///< products, and from one of these to the next
  int64_t ahead;        ///< from the first to that of the next tile product, 0: it is not known
};

/// Goes some KiB ahead of dots through the rows of an operand and fetches them: at least those of a
/// block ahead, as it reads all of them side by side. Rows of a page processors find themselves.
template <class T> class RowsAheadOfDots {
public:
  /// \param isFetched whether there is anything to do
  /// \param inBlock the most rows of a block
  RowsAheadOfDots(bool isFetched, const T *first, const DotRows &rows, int64_t length,
                  int64_t inBlock)
      : first(first), rows(rows), length(length) {
    constexpr int64_t kAhead = 8192 / sizeof(T), kPage = 4096 / sizeof(T);
    isAhead = isFetched && length < kPage;
    if (!isAhead)
      return;
    row = std::min(std::max(ceilDiv(kAhead, length), inBlock), rows.count * rows.batch);
    turn();
  }

  /// Fetches as many rows as the next block reads.
  void fetch(int64_t inBlock) {
    if (!isAhead)
      return;
    for (; inBlock > 0; --inBlock) {
      const bool isOfNext = product >= rows.batch;
      if (isOfNext && rows.ahead == 0)
        return;
      const int64_t begin = isOfNext ? rows.ahead - rows.batch * rows.step : 0;
      prefetchRow(first + begin + product * rows.step + row * rows.apart, length);
      ++row;
      turn();
    }
  }

private:
  /// Small blocks do not wait for divisions.
  void turn() {
    for (; row >= rows.count; row -= rows.count)
      ++product;
  }

  const T *first;
  DotRows rows;
  int64_t length, row = 0, product = 0;
  bool isAhead;
};

template <class T> Blocks<T> blocksOf(int64_t rows, int64_t columns) {
  return kBlocks<T>[static_cast<std::size_t>((rows - 1) * kMostColumns + columns - 1)];
}

} // namespace

template <class T> void multiplyDots(const TileShape &s, const T *a, const T *b, T *c) noexcept {
  // Rows that are used once come one after the other, as memory is read the fastest.
  if (s.n == 1 || s.m == 1) {
    const BlockLoop batch = {s.c, s.aC, s.bC, s.cC};
    const BlockLoop lines =
        s.n == 1 ? BlockLoop{s.m, s.aM, 0, s.cM} : BlockLoop{s.n, 0, s.bN, s.cN};
    const BlockLoop &inner = lines.count > 1 ? lines : batch,
                    &outer = lines.count > 1 ? batch : lines;
    for (int64_t i = 0; i < outer.count; ++i, a += outer.a, b += outer.b, c += outer.c)
      multiplyBlocks<T, 1, 1>(s, inner, a, b, c);
    return;
  }
  const bool fetches = s.aFetched || s.bFetched;
  if (s.m <= kMostRows && s.n <= kMostColumns && !fetches)
    return blocksOf<T>(s.m, s.n)(s, {s.c, s.aC, s.bC, s.cC}, a, b, c);
  RowsAheadOfDots<T> nextA(s.aFetched, a, {s.m, s.aM, s.c, s.aC, s.aAhead}, s.k, kMostRows);
  RowsAheadOfDots<T> nextB(s.bFetched, b, {s.n, s.bN, s.c, s.bC, s.bAhead}, s.k, kMostColumns);
  const EvenPieces rows(s.m, kMostRows), columns(s.n, kMostColumns);
  for (int64_t i = 0; i < s.c; ++i)
    rows.forEach([&](int64_t m, int64_t rowCount) {
      columns.forEach([&](int64_t n, int64_t columnCount) {
        if (n == 0)
          nextA.fetch(rowCount);
        if (m == 0)
          nextB.fetch(columnCount);
        blocksOf<T>(rowCount, columnCount)(s, {1, 0, 0, 0}, a + i * s.aC + m * s.aM,
                                           b + i * s.bC + n * s.bN,
                                           c + i * s.cC + m * s.cM + n * s.cN);
      });
    });
}

template void multiplyDots(const TileShape &, const float *, const float *, float *) noexcept;
template void multiplyDots(const TileShape &, const double *, const double *, double *) noexcept;

} // namespace einsumc
