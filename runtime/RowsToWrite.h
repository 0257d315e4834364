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

/// The rows that a step of a copy writes past the caches, one by one or as one row if they follow
/// each other. What that needs of lines that others have a part of is fetched several rows before:
/// prefetchers of processors do not follow short rows here and there, and a store to a line that is
/// far away soon has all others wait.
template <class T> class RowsToWrite {
public:
  /// Nothing is fetched.
  RowsToWrite() = default;
  /// \param inner,outer of the step: a row, and the rows
  RowsToWrite(const Loop &inner, const Loop &outer) {
    constexpr int64_t kFarBytes = 512; // Short rows near each other are found.
    const bool areOne = outer.extent == 1 || outer.to == inner.extent;
    if (areOne)
      length = inner.extent * outer.extent, count = 1;
    else if (isLongRun<T>(inner.extent) || outer.to * static_cast<int64_t>(sizeof(T)) >= kFarBytes)
      length = inner.extent, count = outer.extent, apart = outer.to;
  }

  bool isNothing() const { return count == 0; }

  /// How many steps before the one that writes them they are to be fetched.
  int64_t stepsAhead() const {
    return count == 0 ? 1 : std::max<int64_t>(kRowsToWriteAhead / count, 1);
  }

  /// Fetches for the first rows of the step that begins here in the target.
  void fetch(const T *target) const {
    for (int64_t row = 0; row < std::min(count, kRowsToWriteAhead); ++row)
      fetchForWritingPast(target + row * apart, length);
  }

  /// Fetches for another one before so many have been written.
  void fetchBehind(const T *target, int64_t written) const {
    if (written + kRowsToWriteAhead < count)
      fetchForWritingPast(target + (written + kRowsToWriteAhead) * apart, length);
  }

private:
  int64_t count = 0, length = 0, apart = 0;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_ROWSTOWRITE_H
