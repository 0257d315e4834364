//===- TileColumns.h - the way of a tile's columns from a buffer to C -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_TILECOLUMNS_H
#define EINSUMC_RUNTIME_TILECOLUMNS_H

#include "PastCaches.h"
#include "SimdVector.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace einsumc {

// The columns of a buffer lie tiles::kMostM elements apart.

/// Fetches columns of so many rows that are to be written.
template <class T> void fetchRows(const T *c, int64_t rows, int64_t stride, int64_t columns) {
  constexpr int64_t kLine = kCacheLine<T>;
  for (int64_t column = 0; column < columns; ++column, c += stride) {
    for (int64_t row = 0; row < rows; row += kLine)
      __builtin_prefetch(c + row, 1);
    __builtin_prefetch(c + rows - 1, 1);
  }
}

/// Adds columns of a buffer to columns of as many rows, \p stride apart.
template <class T>
void addRuns(T *to, int64_t stride, const T *from, int64_t rows, int64_t columns) {
  constexpr int64_t kLanes = simd::kLanes<T>;
  const int64_t whole = rows / kLanes * kLanes;
  const simd::LaneMask<T> tail(static_cast<int>(rows - whole));
  for (int64_t column = 0; column < columns; ++column, to += stride, from += tiles::kMostM) {
    for (int64_t row = 0; row < whole; row += kLanes)
      simd::put<true>(to + row, simd::load(from + row));
    if (whole < rows)
      tail.template put<true>(to + whole, tail.load(from + whole));
  }
}

/// Brings rows of a buffer to where they lie in C, so far apart.
template <class T>
void scatterRows(T *to, int64_t stride, const T *from, int64_t rows, bool accumulate) {
  for (int64_t row = 0; row < rows; ++row)
    to[row * stride] = (accumulate ? to[row * stride] : T(0)) + from[row];
}

/// Copies columns of so many rows by pieces of so many bytes, the last of which overlap.
/// \pre the rows fill at least one piece
template <class T, int Bytes>
void copyPieces(T *to, int64_t stride, const T *from, int64_t rows, int64_t columns) {
  constexpr int64_t kPiece = Bytes / static_cast<int>(sizeof(T));
  for (int64_t column = 0; column < columns; ++column, to += stride, from += tiles::kMostM) {
    for (int64_t row = 0; row + kPiece < rows; row += kPiece)
      std::memcpy(to + row, from + row, Bytes);
    std::memcpy(to + rows - kPiece, from + rows - kPiece, Bytes);
  }
}

/// Copies columns of a buffer to columns \p stride apart, by the largest pieces of vectors that
/// the rows fill.
template <class T, int Bytes = simd::kVectorBytes>
void copyRuns(T *to, int64_t stride, const T *from, int64_t rows, int64_t columns) {
  if constexpr (Bytes > static_cast<int>(sizeof(T)))
    if (rows < Bytes / static_cast<int>(sizeof(T)))
      return copyRuns<T, Bytes / 2>(to, stride, from, rows, columns);
  copyPieces<T, Bytes>(to, stride, from, rows, columns);
}

/// Copies so many bytes of each column of a buffer to columns \p rows apart.
template <class T, int Bytes>
void copyColumns(T *to, const T *from, int64_t rows, int64_t columns) {
  for (int64_t column = 0; column < columns; ++column, to += rows, from += tiles::kMostM)
    std::memcpy(to, from, Bytes);
}

/// The same for the last rows, fewer than fill twice so many bytes: by pieces of half the size
/// each.
template <class T, int Bytes>
void copyTails(T *to, const T *from, int64_t tail, int64_t rows, int64_t columns) {
  if constexpr (Bytes >= static_cast<int>(sizeof(T))) {
    constexpr int64_t kPiece = Bytes / static_cast<int>(sizeof(T));
    const bool isPiece = tail >= kPiece;
    if (isPiece)
      copyColumns<T, Bytes>(to, from, rows, columns);
    const int64_t done = isPiece ? kPiece : 0;
    copyTails<T, Bytes / 2>(to + done, from + done, tail - done, rows, columns);
  }
}

/// Writes the columns of a buffer one after the other past the caches. They are first brought
/// together, a vector of all columns at a time: no store is wider than what it brings, as it would
/// reach into another cache line more often.
template <class T> void streamColumns(T *to, const T *from, int64_t rows, int64_t columns) {
  constexpr int64_t kLanes = simd::kLanes<T>;
  alignas(64) T line[tiles::kMostM * tiles::kMostN];
  int64_t row = 0;
  for (; row + kLanes <= rows; row += kLanes)
    copyColumns<T, simd::kVectorBytes>(line + row, from + row, rows, columns);
  copyTails<T, simd::kVectorBytes / 2>(line + row, from + row, rows - row, rows, columns);
  writePastCaches(to, line, rows * columns);
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_TILECOLUMNS_H
