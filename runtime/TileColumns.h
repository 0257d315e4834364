//===- TileColumns.h - the way of a tile's columns from a buffer to C -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_TILECOLUMNS_H
#define EINSUMC_RUNTIME_TILECOLUMNS_H

#include "CopyKernels.h"
#include "NarrowTranspose.h"
#include "PastCaches.h"
#include "Prefetch.h"
#include "SimdVector.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

namespace einsumc {

/// The most elements along m of tiles whose columns are brought together.
template <class T>
inline constexpr int64_t kMostTogether = simd::kLanes<T> * tiles::mostPanelVectors(sizeof(T));
/// Elements between the columns of a buffer.
template <class T>
inline constexpr int64_t kBufferColumn = std::max(tiles::kMostM, kMostTogether<T>);
/// Elements of a buffer: of the last column more than it has are read.
template <class T>
inline constexpr int64_t kBufferElements = kBufferColumn<T> * tiles::kMostN + simd::kLanes<T>;

/// Fetches columns of so many rows that are to be written.
template <class T> void fetchRows(const T *c, int64_t stride, int64_t rows, int64_t columns) {
  for (int64_t column = 0; column < columns; ++column)
    fetchToWrite(c + column * stride, rows);
}

/// Adds columns of a buffer to columns of as many rows, \p stride apart.
template <class T>
void addRuns(T *to, int64_t stride, const T *from, int64_t rows, int64_t columns) {
  constexpr int64_t kLanes = simd::kLanes<T>;
  const int64_t whole = rows / kLanes * kLanes;
  const simd::LaneMask<T> tail(static_cast<int>(rows - whole));
  for (int64_t column = 0; column < columns; ++column, to += stride, from += kBufferColumn<T>) {
    for (int64_t row = 0; row < whole; row += kLanes)
      simd::put<true>(to + row, simd::load(from + row));
    if (whole < rows)
      tail.template put<true>(to + whole, tail.load(from + whole));
  }
}

/// The most neighbours that are copied as a piece.
inline constexpr int kMostPiece = 7;

/// Where the rows of a tile lie in C: pieces of so many neighbours, but for the first \p head rows,
/// which are fewer, and those that are left at the end.
struct RowsInPieces {
  std::span<const int64_t> inC;
  int64_t piece, head;
};

template <class T, bool Accumulate, int Piece>
void spreadRows(T *to, const T *from, std::span<const int64_t> rows) {
  static_assert(!Accumulate || Piece == 1);
  const int64_t count = std::ssize(rows);
#pragma GCC unroll 4
  for (int64_t row = 0; row < count; row += Piece)
    if constexpr (Accumulate)
      to[rows[row]] += from[row];
    else
      std::memcpy(to + rows[row], from + row, Piece * sizeof(T));
}

/// Brings columns of a buffer to where they begin in C, by pieces of so many rows.
template <class T, bool Accumulate, int Piece>
void spreadPiecesOf(T *c, std::span<const int64_t> columns, const T *from,
                    const RowsInPieces &rows) {
  const int64_t whole = (std::ssize(rows.inC) - rows.head) / Piece * Piece;
  const int64_t tail = rows.head + whole;
  for (const int64_t column : columns) {
    spreadRows<T, Accumulate, 1>(c + column, from, rows.inC.first(rows.head));
    spreadRows<T, Accumulate, Piece>(c + column, from + rows.head,
                                     rows.inC.subspan(rows.head, whole));
    spreadRows<T, Accumulate, 1>(c + column, from + tail, rows.inC.subspan(tail));
    from += kBufferColumn<T>;
  }
}

/// The same for pieces of 1 to kMostPiece rows; or adds them, row by row.
template <class T>
[[gnu::noinline]] // Callers would no longer have the loops of other ways inline.
void spreadPieces(T *c, std::span<const int64_t> columns, const T *from, const RowsInPieces &rows,
                  bool accumulate) {
  if (accumulate)
    return spreadPiecesOf<T, true, 1>(c, columns, from, rows);
  [&]<int... P>(std::integer_sequence<int, P...>) {
    static constexpr decltype(&spreadPiecesOf<T, false, 1>) kTable[] = {
        spreadPiecesOf<T, false, P + 1>...};
    kTable[rows.piece - 1](c, columns, from, rows);
  }(std::make_integer_sequence<int, kMostPiece>());
}

/// Brings so many columns of a buffer that are neighbours in C to where its rows begin there, a
/// packet of rows at a time, the last of which overlap.
template <class T, int Columns>
void spreadPacketsOf(T *c, std::span<const int64_t> rows, const T *from) {
  constexpr int64_t kSize = kPacket<T>;
  const int64_t count = std::ssize(rows);
  for (int64_t r = 0; r < count; r += kSize) {
    const int64_t row = std::min(r, count - kSize);
    Packet<T> packets[kSize] = {};
#pragma GCC unroll 16
    for (int j = 0; j < Columns; ++j)
      packets[j] = simd::loadAs<Packet<T>>(from + row + j * kBufferColumn<T>);
    transposeRegisters<T>(packets);
#pragma GCC unroll 16
    for (int i = 0; i < kSize; ++i)
      storeFew<Columns>(c + rows[row + i], packets[i]);
  }
}

/// The same for any number of columns.
/// \pre there are as many rows as a packet has
template <class T>
[[gnu::noinline]] // As above.
void spreadPackets(T *c, std::span<const int64_t> rows, const T *from, int64_t columns) {
  constexpr int64_t kSize = kPacket<T>;
  if (columns < kSize) {
    [&]<int... N>(std::integer_sequence<int, N...>) {
      static constexpr decltype(&spreadPacketsOf<T, kSize>) kTable[] = {
          spreadPacketsOf<T, N + 1>...};
      kTable[columns - 1](c, rows, from);
    }(std::make_integer_sequence<int, kSize - 1>());
    return;
  }
  for (int64_t first = 0; first < columns; first += kSize) {
    const int64_t column = std::min(first, columns - kSize);
    spreadPacketsOf<T, kSize>(c + column, rows, from + column * kBufferColumn<T>);
  }
}

/// Brings rows of a buffer to where they lie in C, so far apart.
template <class T>
void scatterRows(T *to, int64_t stride, const T *from, int64_t rows, bool accumulate) {
  for (int64_t row = 0; row < rows; ++row)
    to[row * stride] = (accumulate ? to[row * stride] : T(0)) + from[row];
}

/// Brings columns of a buffer to rows of C whose elements are next to each other, \p stride apart.
template <class T>
void transposeColumns(T *to, int64_t stride, const T *from, int64_t rows, int64_t columns,
                      bool accumulate) {
  const Loop x = {columns, 1, kBufferColumn<T>}, y = {rows, stride, 1};
  if (accumulate)
    transposeNear<T, Increment>(to, from, x, y);
  else
    transposeNear<T, Overwrite>(to, from, x, y);
}

/// Copies columns of so many rows by pieces of so many bytes, the last of which overlap.
/// \pre the rows fill at least one piece
template <class T, int Bytes>
void copyPieces(T *to, int64_t stride, const T *from, int64_t rows, int64_t columns) {
  constexpr int64_t kPiece = Bytes / static_cast<int>(sizeof(T));
  for (int64_t column = 0; column < columns; ++column, to += stride, from += kBufferColumn<T>) {
    for (int64_t row = 0; row + kPiece < rows; row += kPiece)
      std::memcpy(to + row, from + row, Bytes);
    std::memcpy(to + rows - kPiece, from + rows - kPiece, Bytes);
  }
}

/// Copies columns of a buffer to columns \p stride apart, by the largest pieces of vectors that
/// the rows fill.
template <class T, int Bytes = simd::kVectorBytes>
[[gnu::always_inline]] inline void copyRuns(T *to, int64_t stride, const T *from, int64_t rows,
                                            int64_t columns) {
  if constexpr (Bytes > static_cast<int>(sizeof(T)))
    if (rows < Bytes / static_cast<int>(sizeof(T)))
      return copyRuns<T, Bytes / 2>(to, stride, from, rows, columns);
  copyPieces<T, Bytes>(to, stride, from, rows, columns);
}

/// Fetches what the first columns of those that writeRuns writes need.
template <class T> void fetchForRuns(const T *to, int64_t stride, int64_t rows, int64_t columns) {
  for (int64_t column = 0; column < std::min(columns, kRowsToWriteAhead); ++column)
    fetchForWritingPast(to + column * stride, rows);
}

/// As copyRuns, past the caches if runs are long.
template <class T>
void writeRuns(T *to, int64_t stride, const T *from, int64_t rows, int64_t columns) {
  for (int64_t column = 0; column < columns; ++column, to += stride, from += kBufferColumn<T>) {
    if (column + kRowsToWriteAhead < columns)
      fetchForWritingPast(to + kRowsToWriteAhead * stride, rows);
    writeFetched(to, from, rows);
  }
}

/// Writes the columns of a buffer one after the other past the caches, line by line: each vector
/// begins in one column, and has its other lanes from those behind.
template <class T> void streamColumns(T *to, const T *from, int64_t rows, int64_t columns) {
  constexpr int64_t kLanes = simd::kLanes<T>, kLine = kCacheLine<T>;
  int64_t row = 0;
  const auto copyElements = [&](int64_t elements) {
    for (int64_t i = 0; i < elements; ++i) {
      *to++ = from[row++];
      if (row == rows) {
        row = 0;
        from += kBufferColumn<T>;
      }
    }
  };
  const int64_t count = rows * columns;
  const int64_t head = std::min((kLine - pastLine(to)) % kLine, count);
  const int64_t whole = (count - head) / kLine * kLine;
  copyElements(head);
  for (int64_t left = whole; left > 0; left -= kLanes, to += kLanes) {
    simd::Vector<T> vector = simd::load(from + row);
    for (row += kLanes; row >= rows;) {
      row -= rows;
      from += kBufferColumn<T>;
      if (row > 0) // Else the next column, if there is one, begins a vector.
        vector = simd::loadBehind<T>(vector, from - (kLanes - row), kLanes - row);
    }
    simd::storePastCaches(to, vector);
  }
  copyElements(count - head - whole);
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_TILECOLUMNS_H
