//===- NarrowTranspose.h - transposes of matrices that are narrower than a packet -------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_NARROWTRANSPOSE_H
#define EINSUMC_RUNTIME_NARROWTRANSPOSE_H

#include "CopyKernels.h"
#include "CopyLoops.h"
#include "PastCaches.h"
#include "SimdVector.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace einsumc {

/// Stores the first \p Count lanes, by halves.
template <int Count, class T, class V> void storeFew(T *target, V value) {
  constexpr int kHalf = sizeof(V) / sizeof(T) / 2;
  if constexpr (Count == 2 * kHalf) {
    simd::store(target, value);
  } else if constexpr (kHalf == 1) {
    *target = value[0];
  } else if constexpr (Count <= kHalf) {
    storeFew<Count>(target, simd::halfOf<T, 0>(value));
  } else {
    simd::store(target, simd::halfOf<T, 0>(value));
    storeFew<Count - kHalf>(target + kHalf, simd::halfOf<T, kHalf>(value));
  }
}

/// A CopyKernel for two to kPacket - 1 rows of the source, which become as short columns: packets
/// of each are read, and the columns of a square written one after the other. Those that follow
/// each other are written as whole packets: what these have beyond is overwritten by the next ones.
/// \pre x.extent is Rows, x.to and y.from are 1, and y.extent is at least kPacket
template <class T, class Op, int Rows>
void transposeFewRows(T *__restrict target, const T *__restrict source, const Loop &x,
                      const Loop &y, int64_t /*ahead*/,
                      [[maybe_unused]] LineWriter<T> &lines) noexcept {
  constexpr int64_t kSize = kPacket<T>;
  const auto transposeSquare = [&](int64_t column, auto put) {
    Packet<T> packets[kSize] = {};
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
      packets[i] = simd::loadAs<Packet<T>>(source + i * x.from + column);
    transposeRegisters<T>(packets);
#pragma GCC unroll 16
    for (int i = 0; i < kSize; ++i)
      put(i, packets[i]);
  };
  const auto write = [&](int64_t column) {
    T *const to = target + column * y.to;
    transposeSquare(column,
                    [&](int i, const Packet<T> &packet) { storeFew<Rows>(to + i * y.to, packet); });
  };
  const auto writeNeighbours = [&](T *to, int64_t column) {
    transposeSquare(column,
                    [&](int i, const Packet<T> &packet) { simd::store(to + i * Rows, packet); });
  };
  const int64_t columns = y.extent;
  int64_t column = 0;
  if constexpr (Op::isPastCaches)
    if (lines.isWorthCollecting && y.to == Rows) {
      constexpr int64_t kColumns = 16 * kSize;
      alignas(64) T buffer[(kColumns - 1) * Rows + kSize];
      while (column + kSize <= columns) {
        const int64_t first = column, end = std::min(columns, first + kColumns);
        for (; column + kSize <= end; column += kSize)
          writeNeighbours(buffer + (column - first) * Rows, column);
        lines.write(target + first * Rows, buffer, (column - first) * Rows);
      }
      for (; column < columns; ++column) { // The writer wants each element once.
        for (int i = 0; i < Rows; ++i)
          buffer[i] = source[i * x.from + column];
        lines.write(target + column * Rows, buffer, Rows);
      }
      return;
    }
  if (y.to == Rows)
    for (; (column + kSize - 1) * Rows + kSize <= columns * Rows; column += kSize)
      writeNeighbours(target + column * Rows, column);
  for (; column < columns; column += kSize)
    write(std::min(column, columns - kSize));
}

/// The same for a few columns of the source, fewer than `transpose` takes, which become as few
/// rows: what lies behind the columns is read with them, but for the last ones.
/// \pre y.extent is Columns, x.to and y.from are 1, and x.extent is at least kPacket
template <class T, class Op, int Columns>
void transposeFewColumns(T *__restrict target, const T *__restrict source, const Loop &x,
                         const Loop &y, int64_t ahead, LineWriter<T> & /*lines*/) noexcept {
  constexpr int64_t kSize = kPacket<T>;
  const StreamAhead stream(source, x.extent * x.from, ahead);
  const bool isStream = stream.isLong() && areRowsInOrder<T>(x, y);
  const auto transposeSquare = [&](int64_t row, auto load) {
    if (isStream)
      stream.fetchBehind(row * x.from, kSize * x.from);
    Packet<T> packets[kSize];
#pragma GCC unroll 16
    for (int i = 0; i < kSize; ++i)
      packets[i] = load(source + (row + i) * x.from);
    transposeRegisters<T>(packets);
#pragma GCC unroll 16
    for (int i = 0; i < Columns; ++i)
      simd::store(target + row + i * y.to, packets[i]);
  };
  const int64_t end = (x.extent - 1) * x.from + Columns;
  int64_t row = 0;
  for (; (row + kSize - 1) * x.from + kSize <= end; row += kSize)
    transposeSquare(row, [](const T *from) { return simd::loadAs<Packet<T>>(from); });
  for (; row < x.extent; row += kSize)
    transposeSquare(std::min(row, x.extent - kSize), [](const T *from) {
      Packet<T> packet = {};
      std::memcpy(&packet, from, Columns * sizeof(T));
      return packet;
    });
}

/// The kernel that goes through registers, as `transpose` does, if a side has the elements of a
/// packet and the other a few at least; else none.
template <class T, class Op> CopyKernel<T> transposingKernel(const Loop &x, const Loop &y) {
  constexpr int kSize = kPacket<T>, kLeastY = Op::isPastCaches ? kSize : kQuarter<T>;
  if (x.to != 1 || y.from != 1)
    return nullptr;
  if (x.extent >= kSize && y.extent >= kLeastY)
    return transpose<T, Op>;
  CopyKernel<T> found = nullptr;
  if constexpr (Op::isIdempotent) {
    const auto chooseRows = [&]<int... E>(std::integer_sequence<int, E...>) {
      ((x.extent == E + 2 ? void(found = transposeFewRows<T, Op, E + 2>) : void()), ...);
    };
    const auto chooseColumns = [&]<int... E>(std::integer_sequence<int, E...>) {
      ((y.extent == E + 2 ? void(found = transposeFewColumns<T, Op, E + 2>) : void()), ...);
    };
    if (y.extent >= kSize)
      chooseRows(std::make_integer_sequence<int, kSize - 2>());
    else if (x.extent >= kSize)
      chooseColumns(std::make_integer_sequence<int, kLeastY - 2>());
  }
  return found;
}

/// A transpose in a near cache.
template <class T, class Op>
void transposeNear(T *target, const T *source, const Loop &x, const Loop &y) {
  LineWriter<T> none(1); // Not past the caches.
  const CopyKernel<T> kernel = transposingKernel<T, Op>(x, y);
  (kernel ? kernel : copyStridedBlocks<T, Op>)(target, source, x, y, 0, none);
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_NARROWTRANSPOSE_H
