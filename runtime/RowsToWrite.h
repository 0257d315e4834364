//===- RowsToWrite.h - what the steps of a copy write past the caches -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_ROWSTOWRITE_H
#define EINSUMC_RUNTIME_ROWSTOWRITE_H

#include "CopyLoops.h"
#include "PastCaches.h"

#include <algorithm>
#include <cstdint>

namespace einsumc {

/// The rows that a step of a copy writes past the caches. What that needs is fetched several steps
/// before: prefetchers of processors do not follow short rows here and there, and a store to a line
/// that is far away soon has all others wait.
template <class T> class RowsToWrite {
public:
  /// Nothing is fetched.
  RowsToWrite() = default;
  /// \param inner,outer of the step
  RowsToWrite(const Loop &inner, const Loop &outer) {
    if (inner.to == 1 && (outer.to == inner.extent || outer.extent == 1))
      *this = {1, inner.extent * outer.extent, 0};
    else if (inner.to == 1)
      *this = {outer.extent, inner.extent, outer.to};
    else if (outer.to == 1)
      *this = {inner.extent, outer.extent, inner.to};
  }

  /// How many steps before the one that writes them they are to be fetched.
  int64_t stepsAhead() const {
    return std::clamp<int64_t>(kRowsToWriteAhead / std::max<int64_t>(count, 1), 1,
                               kRowsToWriteAhead);
  }

  /// Fetches for those of the step that begins here in the target. If they are many, the step does
  /// that itself for all but the first.
  void fetch(const T *target) const {
    for (int64_t row = 0; row < std::min(count, kRowsToWriteAhead); ++row)
      fetchForWritingPast(target + row * apart, length);
  }

private:
  RowsToWrite(int64_t count, int64_t length, int64_t apart)
      : count(count), length(length), apart(apart) {}

  int64_t count = 0, length = 0, apart = 0;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_ROWSTOWRITE_H
