//===- RegisterTranspose.h - transposes of small matrices in registers ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_REGISTERTRANSPOSE_H
#define EINSUMC_RUNTIME_REGISTERTRANSPOSE_H

#include "SimdVector.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace einsumc {

/// Transposes by registers of this size, which AVX-512 machines are no worse off with.
inline constexpr int kPacketBytes = std::min(32, simd::kVectorBytes);
template <class T> using Packet = typename simd::VectorOf<T, kPacketBytes>::type;
template <class T> inline constexpr int kPacket = kPacketBytes / static_cast<int>(sizeof(T));

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

/// Elements of 16 bytes, the least that goes through registers as a row of a transpose.
template <class T> inline constexpr int kQuarter = 16 / static_cast<int>(sizeof(T));

/// The halves of two vectors, the first or the second of each 16 bytes, by turns of \p Width
/// elements.
template <class T, int Half, int Width, class V> V interleave(V a, V b) {
  constexpr int kSize = sizeof(V) / sizeof(T);
  const auto from = [](int lane) constexpr {
    const int at = lane % kQuarter<T>, unit = at / Width;
    return lane - at + Half * kQuarter<T> / 2 + unit / 2 * Width + at % Width +
           (unit % 2 == 0 ? 0 : kSize);
  };
  return [&]<int... Lane>(std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(a, b, from(Lane)...);
  }(std::make_integer_sequence<int, kSize>());
}

/// Transposes each 16 bytes of as many vectors as these have elements.
template <class T, class V> [[gnu::always_inline]] inline void transposeQuarters(V *vectors) {
  constexpr int kSize = kQuarter<T>;
  V turned[kSize];
#pragma GCC unroll 4
  for (int q = 0; q < kSize; q += 2) {
    turned[q] = interleave<T, 0, 1>(vectors[q], vectors[q + 1]);
    turned[q + 1] = interleave<T, 1, 1>(vectors[q], vectors[q + 1]);
  }
  if constexpr (kSize == 4) {
#pragma GCC unroll 2
    for (int q = 0; q < 2; ++q) {
      vectors[2 * q] = interleave<T, 0, 2>(turned[q], turned[q + 2]);
      vectors[2 * q + 1] = interleave<T, 1, 2>(turned[q], turned[q + 2]);
    }
  } else {
    std::copy_n(turned, kSize, vectors);
  }
}

/// The first (\p Second 0) or the second 16 bytes of each packet of two vectors.
template <class T, int Second, class V> V quartersOfPackets(V a, V b) {
  const auto from = [](int lane) constexpr {
    return lane / kQuarter<T> * kPacket<T> + Second * kQuarter<T> + lane % kQuarter<T>;
  };
  return [&]<int... Lane>(std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(a, b, from(Lane)...);
  }(std::make_integer_sequence<int, sizeof(V) / sizeof(T)>());
}

/// \p Bytes of each of as many rows, \p step elements apart, as fill a vector.
template <class V, int Bytes, class T> V loadRows(const T *source, int64_t step) {
  if constexpr (sizeof(V) == Bytes) {
    return simd::loadAs<V>(source);
  } else {
    using Half = typename simd::VectorOf<T, sizeof(V) / 2>::type;
    constexpr int kRows = sizeof(Half) / Bytes;
    return simd::joined<T>(loadRows<Half, Bytes>(source, step),
                           loadRows<Half, Bytes>(source + kRows * step, step));
  }
}

/// Whether \p V is large enough for transposes of as many columns as a packet has.
template <class V>
inline constexpr bool kTakesPackets = kPacketBytes > 16 && sizeof(V) >= kPacketBytes;

/// Transposes \p Columns columns of as many rows as \p V has lanes, \p xFrom elements apart, and
/// puts column y by put(y, column). Of kQuarter columns, as few as a matrix may have; of those of a
/// packet with half the loads, if V takes packets.
template <int Columns, class V, class T, class Put>
[[gnu::always_inline]] inline void transposeRowsOfVector(const T *source, int64_t xFrom,
                                                         Put &&put) {
  constexpr int kSize = kQuarter<T>, kParts = Columns / kSize;
  constexpr int kRows = sizeof(V) / sizeof(T) / kParts; // of a part
  static_assert(Columns == kSize || (Columns == kPacket<T> && kTakesPackets<V>));
  V parts[kParts][kSize];
#pragma GCC unroll 2
  for (int part = 0; part < kParts; ++part) {
#pragma GCC unroll 4
    for (int q = 0; q < kSize; ++q)
      parts[part][q] =
          loadRows<V, Columns * sizeof(T)>(source + (part * kRows + q) * xFrom, kSize * xFrom);
    transposeQuarters<T>(parts[part]);
  }
#pragma GCC unroll 4
  for (int q = 0; q < kSize; ++q)
    if constexpr (kParts == 1) {
      put(q, parts[0][q]);
    } else {
      put(q, quartersOfPackets<T, 0>(parts[0][q], parts[1][q]));
      put(q + kSize, quartersOfPackets<T, 1>(parts[0][q], parts[1][q]));
    }
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_REGISTERTRANSPOSE_H
