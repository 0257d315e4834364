//===- CopyKernels.h - the two innermost loops of a copy --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_COPYKERNELS_H
#define EINSUMC_RUNTIME_COPYKERNELS_H

#include "CopyLoops.h"
#include "EvenPieces.h"
#include "PastCaches.h"
#include "Prefetch.h"
#include "RegisterTranspose.h"
#include "RowsToWrite.h"
#include "SimdVector.h"
#include "StreamAhead.h"

#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace einsumc {

/// What happens to a target element. An operation that is idempotent may be done twice. One past
/// the caches saves reading what will be overwritten, when the target is too large to stay anyway.
struct Overwrite {
  static constexpr bool isIdempotent = true, isPastCaches = false;
  template <class V> static V combine(V /*old*/, V value) { return value; }
};
struct OverwritePastCaches : Overwrite {
  static constexpr bool isPastCaches = true;
};
struct Increment {
  static constexpr bool isIdempotent = false, isPastCaches = false;
  template <class V> static V combine(V old, V value) { return old + value; }
};

/// Computes two loops; which is the inner one is the kernel's choice. The source of the call that
/// it should fetch for, the next one or a later one, lies \p ahead elements further on. Rows past
/// the caches go through \p lines.
template <class T>
using CopyKernel = void (*)(T *__restrict target, const T *__restrict source, const Loop &inner,
                            const Loop &outer, int64_t ahead, LineWriter<T> &lines) noexcept;

/// Inner extents up to this have a kernel each, with the inner loop unrolled.
inline constexpr int kMostUnrolled = 16;

/// The elements of the whole vectors, of any size, that a piece fills or begins.
template <class T, int Extent>
inline constexpr int kInVectors =
    Extent < simd::kLanes<T>
        ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(Extent)))
        : static_cast<int>((Extent + simd::kLanes<T> - 1) / simd::kLanes<T> * simd::kLanes<T>);

/// Copies elements that are neighbours in both.
template <class T, class Op, int Extent>
void copyPiece(T *__restrict target, const T *__restrict source) {
  if constexpr (Op::isIdempotent)
    std::memcpy(target, source, Extent * sizeof(T)); // Whole vectors.
  else
#pragma GCC unroll 16
    for (int e = 0; e < Extent; ++e)
      target[e] = Op::combine(target[e], source[e]);
}

template <class T, class Op, int Extent>
void copyUnrolled(T *__restrict target, const T *__restrict source, const Loop &inner,
                  const Loop &outer, int64_t /*ahead*/, LineWriter<T> & /*lines*/) noexcept {
  using One = std::integral_constant<int64_t, 1>;
  const int64_t to = inner.to, from = inner.from;
  // Neighbours in the source are only asked for where they are in the target, too.
  const auto step = [=](int64_t i, auto innerTo, auto innerFrom) {
    T *const t = target + i * outer.to;
    const T *const s = source + i * outer.from;
    if constexpr (std::is_same_v<decltype(innerFrom), One>)
      copyPiece<T, Op, Extent>(t, s);
    else
#pragma GCC unroll 16
      for (int e = 0; e < Extent; ++e)
        t[e * innerTo] = Op::combine(t[e * innerTo], s[e * innerFrom]);
  };
  if (to == 1 && from == 1) {
    int64_t i = 0;
    // Pieces that follow each other are written as whole vectors: what these have beyond is
    // overwritten by the next ones.
    constexpr int kWhole = kInVectors<T, Extent>;
    if constexpr (Op::isIdempotent && kWhole <= kPacket<T>)
      if (outer.to == Extent && outer.from >= kWhole - Extent)
        for (; i + 1 < outer.extent; ++i)
          std::memcpy(target + i * Extent, source + i * outer.from, kWhole * sizeof(T));
    for (; i < outer.extent; ++i)
      step(i, One(), One());
  } else if (to == 1)
    for (int64_t i = 0; i < outer.extent; ++i)
      step(i, One(), from);
  else
    for (int64_t i = 0; i < outer.extent; ++i)
      step(i, to, from);
}

/// Fetches a row of the source, whose lines lie next to each other, into the second-level cache: in
/// the first one lines of many rows could all compete for the same places.
template <class T> void prefetchRow(const T *row, int64_t extent) {
  for (int64_t i = 0; i < extent; i += kCacheLine<T>)
    prefetch(row + i);
  prefetch(row + extent - 1);
}

/// Calls square(column) for the first columns of squares of a packet a side that cover \p columns:
/// the last one ends with these. Between them fetchRow(row) is called for as many rows as a square
/// has, which the processor would drop in part if it had no room for all at once.
/// \pre \p columns is 0 or at least a packet's
template <class T, class Fetch, class Square>
[[gnu::always_inline]] inline void forEachSquareOfRows(int64_t columns, const Fetch &fetchRow,
                                                       const Square &square) {
  constexpr int64_t kSize = kPacket<T>;
  const int64_t squares = ceilDiv(columns, kSize);
  int64_t row = 0, due = 0;
  for (int64_t column = 0; column < columns; column += kSize) {
#pragma GCC unroll 1
    for (due += kSize; due >= squares; due -= squares)
      fetchRow(row++);
    square(std::min(column, columns - kSize));
  }
}

/// Rows that are consecutive in both. Shorter ones than a page are fetched ahead: they end before a
/// processor's prefetchers have found them. So is what rows past the caches need; that of the first
/// ones is fetched before the call.
template <class T, class Op>
void copyRows(T *__restrict target, const T *__restrict source, const Loop &inner,
              const Loop &outer, int64_t ahead, LineWriter<T> &lines) noexcept {
  constexpr int64_t kBytesAhead = 4096;
  const int64_t bytes = inner.extent * static_cast<int64_t>(sizeof(T));
  const int64_t rowsAhead =
      bytes >= kBytesAhead ? 0 : std::min(kBytesAhead / bytes + 1, outer.extent);
  const RowsToWrite<T> written = Op::isPastCaches ? RowsToWrite<T>(inner, outer) : RowsToWrite<T>();
  for (int64_t i = 0; i < outer.extent; ++i) {
    T *__restrict const t = target + i * outer.to;
    const T *__restrict const s = source + i * outer.from;
    if (rowsAhead > 0) {
      const int64_t row = i + rowsAhead, rest = row - outer.extent;
      prefetchRow(rest < 0 ? source + row * outer.from : source + ahead + rest * outer.from,
                  inner.extent);
    }
    written.fetchBehind(target, i);
    if (Op::isPastCaches && lines.hasLongRuns)
      lines.write(t, s, inner.extent);
    else if constexpr (Op::isPastCaches)
      writeFetched(t, s, inner.extent);
    else if constexpr (Op::isIdempotent)
      std::memcpy(t, s, static_cast<std::size_t>(bytes));
    else
      for (int64_t e = 0; e < inner.extent; ++e)
        t[e] = Op::combine(t[e], s[e]);
  }
}

/// Any steps, by blocks in which the cache lines of both tensors are used up.
template <class T, class Op>
void copyStridedBlocks(T *__restrict target, const T *__restrict source, const Loop &inner,
                       const Loop &outer, int64_t /*ahead*/, LineWriter<T> & /*lines*/) noexcept {
  constexpr int64_t kBlock = 16;
  for (int64_t i0 = 0; i0 < outer.extent; i0 += kBlock)
    for (int64_t e0 = 0; e0 < inner.extent; e0 += kBlock) {
      const int64_t iEnd = std::min(i0 + kBlock, outer.extent);
      const int64_t eEnd = std::min(e0 + kBlock, inner.extent);
      for (int64_t i = i0; i < iEnd; ++i)
        for (int64_t e = e0; e < eEnd; ++e) {
          T &t = target[i * outer.to + e * inner.to];
          t = Op::combine(t, source[i * outer.from + e * inner.from]);
        }
    }
}

/// target[x + y * yTo] = source[x * xFrom + y], for as many x as \p V has lanes and \p Columns y.
template <int Columns, class V, class T, class Op>
[[gnu::always_inline]] inline void transposeVectors(T *target, int64_t yTo, const T *source,
                                                    int64_t xFrom) {
  transposeRowsOfVector<Columns, V>(source, xFrom, [=](int y, V value) {
    T *const row = target + y * yTo;
    simd::store(row, Op::combine(simd::loadAs<V>(row), value));
  });
}

/// The same for a square of a packet a side.
template <class T> void transposePackets(T *target, int64_t yTo, const T *source, int64_t xFrom) {
  transposeVectors<kPacket<T>, Packet<T>, T, Overwrite>(target, yTo, source, xFrom);
}

/// Whether rows of a target, \p apart elements from each other, begin where packets do.
template <class T> bool beginPackets(const T *target, int64_t apart) {
  return reinterpret_cast<std::uintptr_t>(target) % kPacketBytes == 0 && apart % kPacket<T> == 0;
}

/// Whether rows so far apart compete for the same places of the first-level cache.
template <class T> bool competeForPlaces(int64_t step) {
  constexpr int64_t kBytesOfWay = 4096;
  return step * static_cast<int64_t>(sizeof(T)) % kBytesOfWay == 0;
}

/// target[x + y * yTo] = source[x * xFrom + y], for a square of a cache line a side, of which rows
/// from \p firstY on are written, each once. Lines of the source are touched once where few would
/// stay cached.
template <class T, class Op>
void transposeLines(T *target, int64_t yTo, const T *source, int64_t xFrom, int64_t firstY) {
  constexpr int kSize = kCacheLine<T>, kStep = kPacket<T>;
  if constexpr (Op::isPastCaches && simd::kVectorBytes == copies::kLineBytes)
    if (beginsLine(target) && yTo % kSize == 0 && !competeForPlaces<T>(xFrom)) {
#pragma GCC unroll 1
      for (int column = 0; column < kSize; column += kQuarter<T>)
        transposeRowsOfVector<kQuarter<T>, simd::Vector<T>>(
            source + column, xFrom, [=](int y, simd::Vector<T> row) {
              if (column + y >= firstY)
                simd::storePastCaches(target + (column + y) * yTo, row);
            });
      return;
    }
  alignas(64) T buffer[kSize * kSize];
  for (int x = 0; x < kSize; x += kStep)
    for (int y = 0; y < kSize; y += kStep)
      transposePackets<T>(buffer + x + y * kSize, kSize, source + x * xFrom + y, xFrom);
  const auto write = [&](auto put) {
    for (int64_t y = firstY; y < kSize; ++y)
      for (int x = 0; x < kSize; x += kStep)
        put(target + y * yTo + x, simd::loadAs<Packet<T>>(buffer + y * kSize + x));
  };
  if (Op::isPastCaches && beginPackets(target, yTo))
    write([](T *packet, Packet<T> value) { simd::storePastCaches(packet, value); });
  else
    write([](T *packet, Packet<T> value) {
      simd::store(packet, Op::combine(simd::loadAs<Packet<T>>(packet), value));
    });
}

/// Calls body(xBegin, xEnd, yBegin, yEnd) for blocks of a transpose, whose pages stay known to the
/// TLB.
template <class Body> void forEachTransposeBlock(int64_t xExtent, int64_t yExtent, Body &&body) {
  constexpr int64_t kBlockX = 64, kBlockY = 256;
  for (int64_t x = 0; x < xExtent; x += kBlockX)
    for (int64_t y = 0; y < yExtent; y += kBlockY)
      body(x, std::min(x + kBlockX, xExtent), y, std::min(y + kBlockY, yExtent));
}

/// Calls body(x, y, first) with the corners of all squares of cache lines, the last ones moved back
/// to cover the rest as well: those along y have \p first rows that others have, too.
template <class T, class Body> void forEachSquare(int64_t xExtent, int64_t yExtent, Body &&body) {
  constexpr int64_t kSize = kCacheLine<T>;
  const int64_t xLast = xExtent - kSize, yLast = yExtent - kSize;
  forEachTransposeBlock(
      xExtent, yExtent, [&](int64_t xBegin, int64_t xEnd, int64_t yBegin, int64_t yEnd) {
        for (int64_t x = xBegin; x < xEnd; x += kSize)
          for (int64_t y = yBegin; y < yEnd; y += kSize)
            body(std::min(x, xLast), std::min(y, yLast), std::max<int64_t>(y - yLast, 0));
      });
}

/// Whether rows \p x that are transposed are short and lie so close behind each other that most of
/// what lies there is read.
template <class T> bool areRowsInOrder(const Loop &x, const Loop &y) {
  constexpr int64_t kMostBytes = 1024;
  return x.from >= y.extent && 3 * x.from <= 4 * y.extent &&
         x.from * static_cast<int64_t>(sizeof(T)) <= kMostBytes;
}

/// A transpose past the caches into rows that begin anywhere in cache lines. As many of them as a
/// line of the source has are brought together in a strip, and written from there one after the
/// other.
/// \pre both extents are at least kPacket
template <class T>
[[gnu::noinline]] // Other transposes need no stack for a strip.
void transposeStrips(T *target, const T *source, const Loop &x, const Loop &y, int64_t ahead,
                     LineWriter<T> &lines) noexcept {
  constexpr int64_t kSize = kPacket<T>, kRows = kCacheLine<T>, kMost = 4096 / sizeof(T);
  alignas(64) T strip[kRows * (kMost + kRows)];
  // Rows that are neighbours in the target are in the strip, too; others do not compete for the
  // same places of a cache.
  const bool areNeighbours = y.to == x.extent && x.extent <= kMost;
  const int64_t inStrip = areNeighbours ? x.extent : kMost + kRows;
  EvenPieces(x.extent, kMost).forEach([&](int64_t firstX, int64_t length) {
    for (int64_t firstY = 0; firstY < y.extent; firstY += kRows) {
      const int64_t rows = std::min(kRows, y.extent - firstY);
      // Packets at the ends begin earlier, in a strip of few rows with some that are written.
      const int64_t begin = std::min(firstY, y.extent - kSize);
      const int64_t end = firstY + rows - begin;
      const T *const from = source + firstX * x.from + begin;
      const bool isLast = firstY + kRows >= y.extent;
      const int64_t next = isLast ? ahead - begin : kRows;
      for (int64_t toX = 0; toX < length; toX += kSize) {
        const int64_t x0 = std::min(toX, length - kSize);
        for (int64_t i = x0; i < x0 + kSize; ++i) {
          if (isLast)
            prefetch(from + i * x.from + next);
          prefetch(from + i * x.from + next + kRows - 1);
        }
        for (int64_t toY = 0; toY < end; toY += kSize) {
          const int64_t y0 = std::min(toY, end - kSize);
          transposePackets<T>(strip + x0 + y0 * inStrip, inStrip, from + x0 * x.from + y0, x.from);
        }
      }
      const T *const written = strip + (firstY - begin) * inStrip;
      T *const to = target + firstX + firstY * y.to;
      if (areNeighbours)
        lines.write(to, written, rows * length);
      else
        for (int64_t row = 0; row < rows; ++row)
          lines.write(to + row * y.to, written + row * inStrip, length);
    }
  });
}

/// Rows of a transpose that go through registers together: as many as fill a vector, fewer where
/// fewer are \p left. The last ones may begin earlier, with some that others have, if they
/// \p mayOverlap.
/// \pre \p extent is at least kQuarter, and \p left a multiple of it unless they may
template <class T>
int64_t rowsTogether(int64_t left, int64_t extent, int64_t most, bool mayOverlap) {
  int64_t rows = most;
  while (rows > kQuarter<T> && (rows > extent || (mayOverlap ? rows / 2 >= left : rows > left)))
    rows /= 2;
  return rows;
}

/// Transposes \p rows rows from columns \p begin to \p end of \p extent, the last of which may
/// begin earlier. Before columns from y on are read, fetch(y, columns) is called.
/// \tparam Bytes of the largest vector, in which \p rows may be
template <int Bytes, class T, class Op, class Fetch>
void transposeRows(int64_t rows, T *target, int64_t yTo, const T *source, int64_t xFrom,
                   int64_t begin, int64_t end, int64_t extent, const Fetch &fetch) {
  if constexpr (Bytes > 16)
    if (rows < Bytes / static_cast<int64_t>(sizeof(T)))
      return transposeRows<Bytes / 2, T, Op>(rows, target, yTo, source, xFrom, begin, end, extent,
                                             fetch);
  using V = typename simd::VectorOf<T, Bytes>::type;
  int64_t column = begin;
  if constexpr (kTakesPackets<V>) {
    // A few columns that are left go with some of those before them, or alone.
    constexpr int kSize = kPacket<T>;
    const int64_t left = Op::isIdempotent && extent >= kSize ? kQuarter<T> + 1 : kSize;
    for (; end - column >= left; column += kSize) {
      fetch(column, kSize);
      const int64_t y = std::min(column, extent - kSize);
      transposeVectors<kSize, V, T, Op>(target + y * yTo, yTo, source + y, xFrom);
    }
  }
  for (; column < end; column += kQuarter<T>) {
    fetch(column, kQuarter<T>);
    const int64_t y = std::min(column, extent - kQuarter<T>);
    transposeVectors<kQuarter<T>, V, T, Op>(target + y * yTo, yTo, source + y, xFrom);
  }
}

/// What a transpose reads next, fetched into the second-level cache: no prefetcher of a processor
/// follows the steps of its rows, and in the first-level cache they could all compete for the same
/// places.
template <class T> class RowsAhead {
public:
  /// \param x,y of the transpose
  RowsAhead(const T *source, const Loop &x, const Loop &y, int64_t ahead)
      : source(source), x(x), y(y), ahead(ahead), stream(source, x.extent * x.from, ahead),
        isStream(stream.isLong() && areRowsInOrder<T>(x, y)) {}

  /// Before so many rows are read from column \p y0 on: what follows in the order of memory, or
  /// the same of the call to fetch for.
  /// \param isLast these are the last columns
  void fetchFor(int64_t x0, int64_t rows, int64_t y0, bool isLast) const {
    const bool beginsLine = y0 % kCacheLine<T> == 0;
    if (isStream && beginsLine)
      fetchStream(x0, rows, y0, kCacheLine<T>);
    else if (!isStream && (beginsLine || isLast))
      fetchRows(x0, rows, (beginsLine ? y0 : y.extent - 1) + ahead);
  }

  /// The same for a square of a cache line a side, but rather what is below it.
  void fetchForSquare(int64_t x0, int64_t y0) const {
    constexpr int64_t kLine = kCacheLine<T>;
    if (!isStream)
      fetchRows(x0, kLine, y0 + (x0 + kLine < x.extent ? kLine * x.from : ahead - x0 * x.from));
    else if (y0 % kLine == 0)
      fetchStream(x0, kLine, y0, 2 * kLine); // The next square may begin in the midst of a line.
  }

private:
  void fetchRows(int64_t x0, int64_t rows, int64_t at) const {
    const T *const row = source + x0 * x.from + at;
    for (int64_t i = 0; i < rows; ++i)
      prefetch(row + i * x.from);
  }

  /// What is between the rows belongs to their last lines.
  void fetchStream(int64_t x0, int64_t rows, int64_t y0, int64_t room) const {
    const int64_t end = y0 + room >= y.extent ? x.from : y0 + kCacheLine<T>;
    stream.fetchBehind(x0 * x.from + y0 * rows, (end - y0) * rows);
  }

  const T *source;
  Loop x, y;
  int64_t ahead;
  StreamAhead<T> stream;
  bool isStream;
};

/// A transpose past the caches by squares of cache lines.
template <class T, class Op>
void transposeSquares(T *target, const T *source, const Loop &x, const Loop &y, int64_t ahead) {
  const RowsAhead<T> next(source, x, y, ahead);
  forEachSquare<T>(x.extent, y.extent, [&](int64_t x0, int64_t y0, int64_t firstY) {
    next.fetchForSquare(x0, y0);
    transposeLines<T, Op>(target + x0 + y0 * y.to, y.to, source + x0 * x.from + y0, x.from, firstY);
  });
}

/// A transpose: \p x is consecutive in the target, \p y in the source. Past the caches whole lines
/// are written at a time; else strips of a few rows are read from end to end, whose lines stay in
/// the first-level cache until they are used up, also where the steps are a power of two.
/// \pre both extents are at least kQuarter, past the caches kPacket
template <class T, class Op>
void transpose(T *__restrict target, const T *__restrict source, const Loop &x, const Loop &y,
               int64_t ahead, LineWriter<T> &lines) noexcept {
  if (Op::isPastCaches && lines.isWorthCollecting && !beginPackets(target, y.to))
    return transposeStrips(target, source, x, y, ahead, lines);
  if (Op::isPastCaches && std::min(x.extent, y.extent) >= kCacheLine<T>)
    return transposeSquares<T, Op>(target, source, x, y, ahead);
  const RowsAhead<T> next(source, x, y, ahead);
  const int64_t most = competeForPlaces<T>(x.from) ? kPacket<T> : simd::kLanes<T>;
  const auto inGroups = [](int64_t extent) {
    return Op::isIdempotent ? extent : extent / kQuarter<T> * kQuarter<T>;
  };
  const int64_t doneX = inGroups(x.extent), doneY = inGroups(y.extent);
  forEachTransposeBlock(
      doneX, doneY, [&](int64_t xBegin, int64_t xEnd, int64_t yBegin, int64_t yEnd) {
        int64_t rows = 0;
        for (int64_t done = xBegin; done < xEnd; done += rows) {
          rows = rowsTogether<T>(xEnd - done, doneX, most, Op::isIdempotent);
          const int64_t x0 = std::min(done, doneX - rows);
          const T *const from = source + x0 * x.from;
          transposeRows<simd::kVectorBytes, T, Op>(
              rows, target + x0, y.to, from, x.from, yBegin, yEnd, doneY,
              [&](int64_t y0, int columns) { next.fetchFor(x0, rows, y0, y0 + columns >= doneY); });
        }
      });
  if (Op::isIdempotent)
    return;
  copyStridedBlocks<T, Op>(target + doneX, source + doneX * x.from,
                           {x.extent - doneX, x.to, x.from}, y, ahead, lines);
  copyStridedBlocks<T, Op>(target + doneY * y.to, source + doneY, {doneX, x.to, x.from},
                           {y.extent - doneY, y.to, y.from}, ahead, lines);
}

/// The kernel with the inner loop unrolled. \pre 1 <= extent <= kMostUnrolled
template <class T, class Op> CopyKernel<T> unrolledKernel(int64_t extent) {
  return [&]<int... E>(std::integer_sequence<int, E...>) {
    static constexpr CopyKernel<T> kTable[] = {copyUnrolled<T, Op, E + 1>...};
    return kTable[extent - 1];
  }(std::make_integer_sequence<int, kMostUnrolled>());
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_COPYKERNELS_H
