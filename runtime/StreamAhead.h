//===- StreamAhead.h - prefetching what is read in its order ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_STREAMAHEAD_H
#define EINSUMC_RUNTIME_STREAMAHEAD_H

#include "PastCaches.h"
#include "Prefetch.h"

#include <cstdint>

namespace einsumc {

/// Elements that are read in about the order in which they lie, fetched into the second-level cache
/// some time before. A processor's prefetchers begin anew with every page, which short steps of
/// computation between loads do not make up for.
template <class T> class StreamAhead {
public:
  /// Elements from what is read to what is fetched.
  static constexpr int64_t kAhead = 8192 / sizeof(T);

  /// Behind the last of \p length elements come those \p next elements from the first, or, if that
  /// is 0, what lies there.
  StreamAhead(const T *first, int64_t length, int64_t next)
      : first(first), jump(length - kAhead), skipped(next == 0 ? 0 : next - length) {}

  /// Whether so much is read that some of it can be fetched ahead.
  bool isLong() const { return jump > 0; }

  /// Fetches what comes some KiB behind \p count elements, which are read now.
  void fetchBehind(int64_t at, int64_t count) const {
    const T *const from = first + at + kAhead + (at < jump ? 0 : skipped);
    for (int64_t i = 0; i < count; i += kCacheLine<T>)
      prefetch(from + i);
  }

private:
  const T *first;
  int64_t jump, skipped;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_STREAMAHEAD_H
