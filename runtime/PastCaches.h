//===- PastCaches.h - rows of results that leave the caches alone -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_PASTCACHES_H
#define EINSUMC_RUNTIME_PASTCACHES_H

#include "SimdVector.h"

#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <cstdint>

namespace einsumc {

/// Elements of a cache line. What goes past the caches should be whole lines: memory reads a part
/// of one first, and takes longer for it than for several lines.
template <class T>
inline constexpr int kCacheLine = static_cast<int>(copies::kLineBytes / sizeof(T));

template <class T> bool beginsLine(const T *at) {
  return reinterpret_cast<std::uintptr_t>(at) % copies::kLineBytes == 0;
}

/// Copies a row, its whole lines past the caches. simd::endStoresPastCaches must follow before
/// other threads may see them.
template <class T> void writePastCaches(T *to, const T *from, int64_t count) {
  constexpr int64_t kLine = kCacheLine<T>;
  const auto past =
      static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(to) % copies::kLineBytes / sizeof(T));
  const int64_t first = std::min((kLine - past) % kLine, count);
  const int64_t last = first + (count - first) / kLine * kLine;
  std::copy(from, from + first, to);
  for (int64_t at = first; at < last; at += simd::kLanes<T>)
    simd::storePastCaches(to + at, simd::load(from + at));
  std::copy(from + last, from + count, to + last);
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PASTCACHES_H
