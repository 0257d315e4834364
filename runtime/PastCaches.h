//===- PastCaches.h - rows of results that leave the caches alone -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_PASTCACHES_H
#define EINSUMC_RUNTIME_PASTCACHES_H

#include "SimdVector.h"

#include <algorithm>
#include <cstdint>

namespace einsumc {

/// Copies a row, its whole vectors past the caches. simd::endStoresPastCaches must follow before
/// other threads may see them.
template <class T> void writePastCaches(T *to, const T *from, int64_t count) {
  constexpr int64_t kLanes = simd::kLanes<T>;
  const auto past =
      static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(to) % simd::kVectorBytes / sizeof(T));
  const int64_t first = std::min((kLanes - past) % kLanes, count);
  const int64_t last = first + (count - first) / kLanes * kLanes;
  std::copy(from, from + first, to);
  for (int64_t at = first; at < last; at += kLanes)
    simd::storePastCaches(to + at, simd::load(from + at));
  std::copy(from + last, from + count, to + last);
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PASTCACHES_H
