//===- RowFetcher.h - fetching rows that are multiplied next ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_ROWFETCHER_H
#define EINSUMC_RUNTIME_ROWFETCHER_H

#include "EvenPieces.h"
#include "FetchTarget.h"
#include "Prefetch.h"

#include "einsumc/FetchingKernel.h"
#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace einsumc {

/// Bytes of a row of the longest tiles, six vectors of AVX-512, and of what is fetched at a time.
inline constexpr int64_t kBytesOfTileRow = 384;

/// Some pieces of some rows of A.
template <class T> struct FetchedRows {
  const T *a = nullptr;
  const int64_t *rowsOfA = nullptr; ///< by k: where a row begins
  int64_t k = 0;
  const PieceOfRows *pieces = nullptr;
  std::size_t pieceCount = 0;
};

/// Fetches rows of A, one after the other, and columns of C, a few lines at a time, while other
/// tiles are multiplied (into which cache: kFetchesIntoNearestCache). A row of several tiles is
/// fetched from end to end: memory gives rows of 24 lines a quarter faster than those of six
/// (Cascade Lake).
template <class T> class RowFetcher {
public:
  /// Nothing to fetch.
  RowFetcher() = default;

  /// \param tiles products during which the rows are to be fetched
  RowFetcher(const FetchedRows<T> &rows, int64_t tiles) : rows(rows) {
    int64_t calls = 0;
    for (std::size_t i = 0; i < rows.pieceCount; ++i)
      calls +=
          rows.k * ceilDiv(rows.pieces[i].count * static_cast<int64_t>(sizeof(T)), kBytesOfTileRow);
    callsOfTile = tiles > 1 ? ceilDiv(calls, tiles) : calls; // Small tiles wait for divisions.
  }

  /// Fetches columns of \p m elements, which begin at \p c + \p columns[0 to n - 1], during the
  /// next product.
  void addColumns(T *c, const int64_t *columns, int64_t n, int64_t m) {
    toWrite = c;
    column = columns;
    endColumns = columns + n;
    bytesOfColumn = static_cast<std::uintptr_t>(m) * sizeof(T);
  }

  /// Spreads what is due during the next product over its steps.
  void spread(int64_t steps) {
    const int64_t calls = callsOfTile + (endColumns - column);
    stepsOfCall = std::max<int64_t>(steps / std::max<int64_t>(calls, 1), 1);
  }

  /// After how many steps the next call of fetch is due.
  int64_t pace() const { return stepsOfCall; }

  /// Fetches some lines, and returns whether there were any left.
  [[gnu::always_inline]] bool fetch() {
    if (column != endColumns) {
      const auto first = reinterpret_cast<std::uintptr_t>(toWrite + *column++);
      fetchLines<true>(first, first + bytesOfColumn);
      return true;
    }
    if (rest > 0) {
      fetchRest();
      return true;
    }
    if (row == endRows && !beginPiece())
      return false;
    const auto first = reinterpret_cast<std::uintptr_t>(from + *row++);
    if (bytes <= kBytesAtOnce) {
      fetchLines<false>(first, first + bytes);
    } else {
      end = first + bytes;
      rest = bytes;
      fetchRest();
    }
    return true;
  }

private:
  static constexpr std::uintptr_t kBytesAtOnce = kBytesOfTileRow, kLine = copies::kLineBytes;

  /// A line in which more of the row begins comes with that.
  [[gnu::always_inline]] void fetchRest() {
    const std::uintptr_t first = end - rest;
    rest = rest > kBytesAtOnce ? rest - kBytesAtOnce : 0;
    fetchLines<false>(first, rest > 0 ? lineOf(end - rest) : end);
  }

  /// Returns false if there are no more.
  [[gnu::always_inline]] bool beginPiece() {
    if (piece == rows.pieceCount)
      return false;
    from = rows.a + rows.pieces[piece].toA;
    bytes = static_cast<std::uintptr_t>(rows.pieces[piece].count) * sizeof(T);
    row = rows.rowsOfA;
    endRows = row + rows.k;
    ++piece;
    return true;
  }

  static std::uintptr_t lineOf(std::uintptr_t at) { return at / kLine * kLine; }

  [[gnu::always_inline]] static void prefetchToRead(const void *line) {
    if (kFetchesIntoNearestCache)
      prefetchToUse(line);
    else
      prefetch(line);
  }

  template <bool ForWriting>
  [[gnu::always_inline]] static void fetchLines(std::uintptr_t at, std::uintptr_t till) {
    for (std::uintptr_t line = lineOf(at); line < till; line += kLine)
      if constexpr (ForWriting)
        prefetchToWrite(reinterpret_cast<const void *>(line));
      else
        prefetchToRead(reinterpret_cast<const void *>(line));
  }

  std::uintptr_t end = 0, rest = 0; ///< of the row that was begun, and its bytes that are left
  const int64_t *row = nullptr, *endRows = nullptr;
  const T *from = nullptr; ///< this piece of the rows
  std::uintptr_t bytes = 0;
  FetchedRows<T> rows;
  std::size_t piece = 0; ///< those that were begun
  int64_t callsOfTile = 0, stepsOfCall = 1;
  T *toWrite = nullptr;
  const int64_t *column = nullptr, *endColumns = nullptr;
  std::uintptr_t bytesOfColumn = 0;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_ROWFETCHER_H
