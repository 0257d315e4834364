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

/// Computes two loops; which is the inner one is the kernel's choice. The source of the next call
/// lies \p ahead elements further on. Rows past the caches go through \p lines.
template <class T>
using CopyKernel = void (*)(T *__restrict target, const T *__restrict source, const Loop &inner,
                            const Loop &outer, int64_t ahead, LineWriter<T> &lines) noexcept;

/// Transposes by registers of this size, which AVX-512 machines are no worse off with.
inline constexpr int kPacketBytes = std::min(32, simd::kVectorBytes);
template <class T> using Packet = typename simd::VectorOf<T, kPacketBytes>::type;
template <class T> inline constexpr int kPacket = kPacketBytes / static_cast<int>(sizeof(T));

/// Inner extents up to this have a kernel each, with the inner loop unrolled.
inline constexpr int kMostUnrolled = 16;

template <class T, class Op, int Extent>
void copyUnrolled(T *__restrict target, const T *__restrict source, const Loop &inner,
                  const Loop &outer, int64_t /*ahead*/, LineWriter<T> & /*lines*/) noexcept {
  using One = std::integral_constant<int64_t, 1>;
  const int64_t to = inner.to, from = inner.from;
  // Neighbours in the source are only asked for where they are in the target, too.
  const auto step = [=](int64_t i, auto innerTo, auto innerFrom) {
    T *const t = target + i * outer.to;
    const T *const s = source + i * outer.from;
    if constexpr (Op::isIdempotent && std::is_same_v<decltype(innerFrom), One>)
      std::memcpy(t, s, Extent * sizeof(T)); // Whole vectors.
    else
#pragma GCC unroll 16
      for (int e = 0; e < Extent; ++e)
        t[e * innerTo] = Op::combine(t[e * innerTo], s[e * innerFrom]);
  };
  if (to == 1 && from == 1) {
    int64_t i = 0;
    // Pieces that follow each other are written as whole vectors: what these have beyond is
    // overwritten by the next ones.
    constexpr int kWhole = static_cast<int>(std::bit_ceil(static_cast<unsigned>(Extent)));
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
    __builtin_prefetch(row + i, 0, 2);
  __builtin_prefetch(row + extent - 1, 0, 2);
}

/// Rows that are consecutive in both. Shorter ones than a page are fetched ahead: they end before a
/// processor's prefetchers have found them.
template <class T, class Op>
void copyRows(T *__restrict target, const T *__restrict source, const Loop &inner,
              const Loop &outer, int64_t ahead, LineWriter<T> &lines) noexcept {
  constexpr int64_t kBytesAhead = 4096;
  const int64_t bytes = inner.extent * static_cast<int64_t>(sizeof(T));
  const int64_t rowsAhead =
      bytes >= kBytesAhead ? 0 : std::min(kBytesAhead / bytes + 1, outer.extent);
  for (int64_t i = 0; i < outer.extent; ++i) {
    T *__restrict const t = target + i * outer.to;
    const T *__restrict const s = source + i * outer.from;
    if (rowsAhead > 0) {
      const int64_t row = i + rowsAhead, rest = row - outer.extent;
      prefetchRow(rest < 0 ? source + row * outer.from : source + ahead + rest * outer.from,
                  inner.extent);
    }
    if (Op::isPastCaches && lines.hasLongRuns)
      lines.write(t, s, inner.extent);
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

/// One step of the transpose of a square: swaps the off-diagonal halves of squares of 2 * Half.
template <class T, int Half, int... Lane>
void swapHalves(Packet<T> *rows, std::integer_sequence<int, Lane...> /*lanes*/) {
  constexpr int kSize = kPacket<T>;
#pragma GCC unroll 16
  for (int i = 0; i < kSize; ++i) {
    if (i & Half)
      continue;
    const Packet<T> a = rows[i], b = rows[i + Half];
    rows[i] = __builtin_shufflevector(a, b, ((Lane & Half) ? kSize + Lane - Half : Lane)...);
    rows[i + Half] = __builtin_shufflevector(a, b, ((Lane & Half) ? kSize + Lane : Lane + Half)...);
  }
}

/// Transposes a square of kPacket elements a side in registers.
template <class T> [[gnu::always_inline]] inline void transposeRegisters(Packet<T> *rows) {
  using Lanes = std::make_integer_sequence<int, kPacket<T>>;
  swapHalves<T, 1>(rows, Lanes());
  if constexpr (kPacket<T> > 2)
    swapHalves<T, 2>(rows, Lanes());
  if constexpr (kPacket<T> > 4)
    swapHalves<T, 4>(rows, Lanes());
}

/// target[x + y * yTo] = source[x * xFrom + y], for such a square.
template <class T, class Op>
void transposePackets(T *target, int64_t yTo, const T *source, int64_t xFrom) {
  Packet<T> rows[kPacket<T>];
#pragma GCC unroll 16
  for (int x = 0; x < kPacket<T>; ++x)
    rows[x] = simd::loadAs<Packet<T>>(source + x * xFrom);
  transposeRegisters<T>(rows);
#pragma GCC unroll 16
  for (int y = 0; y < kPacket<T>; ++y) {
    T *const row = target + y * yTo;
    simd::store(row, Op::combine(simd::loadAs<Packet<T>>(row), rows[y]));
  }
}

/// Whether rows of a target, \p apart elements from each other, begin where packets do.
template <class T> bool beginPackets(const T *target, int64_t apart) {
  return reinterpret_cast<std::uintptr_t>(target) % kPacketBytes == 0 && apart % kPacket<T> == 0;
}

/// The halves of two vectors, the first or the second of each 16 bytes, by turns of \p Width
/// elements.
template <class T, int Half, int Width, class V> V interleave(V a, V b) {
  constexpr int kQuarter = 16 / static_cast<int>(sizeof(T)), kSize = sizeof(V) / sizeof(T);
  const auto from = [](int lane) constexpr {
    const int at = lane % kQuarter, unit = at / Width;
    return lane - at + Half * kQuarter / 2 + unit / 2 * Width + at % Width +
           (unit % 2 == 0 ? 0 : kSize);
  };
  return [&]<int... Lane>(std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(a, b, from(Lane)...);
  }(std::make_integer_sequence<int, kSize>());
}

/// Vectors of 16 bytes of rows \p step elements apart.
template <class V, class T> V loadQuarters(const T *source, int64_t step) {
  if constexpr (sizeof(V) == 16) {
    return simd::loadAs<V>(source);
  } else {
    using Half = typename simd::VectorOf<T, sizeof(V) / 2>::type;
    constexpr int kHalf = sizeof(Half) / 16;
    return simd::joined<T>(loadQuarters<Half>(source, step),
                           loadQuarters<Half>(source + kHalf * step, step));
  }
}

/// Transposes a square of a cache line a side by vectors of its rows in the target: puts row y by
/// put(y, row). Lines of the source are touched several times.
template <class T, class Put>
[[gnu::always_inline]] inline void transposeByRows(const T *source, int64_t xFrom, Put &&put) {
  using Line = typename simd::VectorOf<T, copies::kLineBytes>::type;
  constexpr int kQuarter = 16 / static_cast<int>(sizeof(T));
#pragma GCC unroll 1
  for (int y = 0; y < kCacheLine<T>; y += kQuarter, source += kQuarter) {
    Line from[kQuarter], to[kQuarter];
#pragma GCC unroll 4
    for (int q = 0; q < kQuarter; ++q)
      from[q] = loadQuarters<Line>(source + q * xFrom, kQuarter * xFrom);
#pragma GCC unroll 4
    for (int q = 0; q < kQuarter; q += 2) {
      to[q] = interleave<T, 0, 1>(from[q], from[q + 1]);
      to[q + 1] = interleave<T, 1, 1>(from[q], from[q + 1]);
    }
    if constexpr (kQuarter == 4) {
      std::copy_n(to, kQuarter, from);
#pragma GCC unroll 2
      for (int q = 0; q < 2; ++q) {
        to[2 * q] = interleave<T, 0, 2>(from[q], from[q + 2]);
        to[2 * q + 1] = interleave<T, 1, 2>(from[q], from[q + 2]);
      }
    }
#pragma GCC unroll 4
    for (int q = 0; q < kQuarter; ++q)
      put(y + q, to[q]);
  }
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
    if (beginsLine(target) && yTo % kSize == 0 && !competeForPlaces<T>(xFrom))
      return transposeByRows<T>(source, xFrom, [=](int y, simd::Vector<T> row) {
        if (y >= firstY)
          simd::storePastCaches(target + y * yTo, row);
      });
  alignas(64) T buffer[kSize * kSize];
  for (int x = 0; x < kSize; x += kStep)
    for (int y = 0; y < kSize; y += kStep)
      transposePackets<T, Overwrite>(buffer + x + y * kSize, kSize, source + x * xFrom + y, xFrom);
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

/// Calls body(x, y, first) with the corners of all squares that fit into the extents, block by
/// block so that a block's pages stay known to the TLB. When \p mayOverlap, the last squares are
/// moved back to cover the rest as well: those along y have \p first rows that others have, too.
template <class Body>
void forEachSquare(int64_t xExtent, int64_t yExtent, int64_t size, bool mayOverlap, Body &&body) {
  constexpr int64_t kBlockX = 64, kBlockY = 256;
  const int64_t xLast = xExtent - size, yLast = yExtent - size;
  const int64_t xEnd = mayOverlap ? xExtent : xLast + 1, yEnd = mayOverlap ? yExtent : yLast + 1;
  for (int64_t xBlock = 0; xBlock < xEnd; xBlock += kBlockX)
    for (int64_t yBlock = 0; yBlock < yEnd; yBlock += kBlockY)
      for (int64_t x = xBlock; x < std::min(xBlock + kBlockX, xEnd); x += size)
        for (int64_t y = yBlock; y < std::min(yBlock + kBlockY, yEnd); y += size)
          body(std::min(x, xLast), std::min(y, yLast), std::max<int64_t>(y - yLast, 0));
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
            __builtin_prefetch(from + i * x.from + next, 0, 2);
          __builtin_prefetch(from + i * x.from + next + kRows - 1, 0, 2);
        }
        for (int64_t toY = 0; toY < end; toY += kSize) {
          const int64_t y0 = std::min(toY, end - kSize);
          transposePackets<T, Overwrite>(strip + x0 + y0 * inStrip, inStrip,
                                         from + x0 * x.from + y0, x.from);
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

/// A transpose: \p x is consecutive in the target, \p y in the source. Past the caches whole lines
/// are written at a time; else strips of a few rows are read from end to end, whose lines stay in
/// the first-level cache until they are used up, also where the steps are a power of two.
/// \pre both extents are at least kPacket
template <class T, class Op>
void transpose(T *__restrict target, const T *__restrict source, const Loop &x, const Loop &y,
               int64_t ahead, LineWriter<T> &lines) noexcept {
  if (Op::isPastCaches && lines.hasLongRuns && !beginPackets(target, y.to))
    return transposeStrips(target, source, x, y, ahead, lines);
  const bool areLines = Op::isPastCaches && std::min(x.extent, y.extent) >= kCacheLine<T>;
  const int64_t size = areLines ? kCacheLine<T> : kPacket<T>;
  const StreamAhead stream(source, x.extent * x.from, ahead);
  const bool isStream = stream.isLong() && areRowsInOrder<T>(x, y);
  forEachSquare(
      x.extent, y.extent, size, Op::isIdempotent, [&](int64_t x0, int64_t y0, int64_t firstY) {
        const T *const from = source + x0 * x.from + y0;
        // No prefetcher of a processor follows the steps of the rows: lines go into the
        // second-level cache, as in the first one they could all compete for the same places.
        const auto prefetchRows = [&](const T *row) {
          for (int64_t i = 0; i < size; ++i)
            __builtin_prefetch(row + i * x.from, 0, 2);
        };
        if (isStream) { // The last square that begins a line has the rest.
          const int64_t end = y0 + kCacheLine<T> + size > y.extent ? x.from : y0 + kCacheLine<T>;
          if (y0 % kCacheLine<T> == 0)
            stream.fetchBehind(x0 * x.from + y0 * size, (end - y0) * size);
        } else if (areLines)
          prefetchRows(x0 + size < x.extent ? from + size * x.from : from + ahead - x0 * x.from);
        else if (y0 % kCacheLine<T> == 0)
          prefetchRows(from + ahead);
        else if (y0 + size >= y.extent)
          prefetchRows(from + ahead + size - 1);
        T *const to = target + x0 + y0 * y.to;
        if (areLines)
          transposeLines<T, Op>(to, y.to, from, x.from, firstY);
        else
          transposePackets<T, Op>(to, y.to, from, x.from);
      });
  if (Op::isIdempotent)
    return;
  const int64_t doneX = x.extent / size * size, doneY = y.extent / size * size;
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
