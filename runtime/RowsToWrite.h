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

/// The rows that a step of a copy into a tensor too large for the caches writes. Their lines, or
/// those at the ends of rows that are written past the caches, are fetched several steps before:
/// prefetchers of processors do not follow short rows here and there, and a store to a line that is
/// far away soon has all others wait.
template <class T> class RowsToWrite {
public:
  /// Nothing is fetched.
  RowsToWrite() = default;
  /// \param inner,outer of the step
  /// \param pastCaches long rows are written there
  RowsToWrite(const Loop &inner, const Loop &outer, bool pastCaches) : pastCaches(pastCaches) {
    const bool isInner = inner.to == 1 || outer.to != 1;
    const Loop &row = isInner ? inner : outer, &rows = isInner ? outer : inner;
    const bool areJoined = rows.extent == 1 || rows.to == row.extent;
    if (row.to != 1)
      return;
    length = areJoined ? row.extent * rows.extent : row.extent;
    count = areJoined ? 1 : std::min(rows.extent, kRowsToWriteAhead);
    apart = rows.to;
    // What goes through the caches must still be in the nearest one then.
    const bool isKept = pastCaches || length <= kMostBytes / static_cast<int64_t>(sizeof(T));
    if (!isKept || (!areJoined && !isFetched(length, apart)))
      count = 0;
  }

  /// Whether rows of so many elements are worth it: short ones near each other are not.
  static bool isFetched(int64_t length, int64_t apart) {
    constexpr int64_t kFarBytes = 512;
    return isLongRun<T>(length) || apart * static_cast<int64_t>(sizeof(T)) >= kFarBytes;
  }

  /// How many steps before the one that writes them they are to be fetched.
  int64_t stepsAhead() const { return count == 0 ? 1 : kRowsToWriteAhead / count; }

  /// Fetches for the first ones of the step that begins here in the target.
  void fetch(const T *target) const {
    for (int64_t row = 0; row < count; ++row)
      if (pastCaches)
        fetchForWritingPast(target + row * apart, length);
      else
        fetchToWrite(target + row * apart, length);
  }

private:
  static constexpr int64_t kMostBytes =
      2048; ///< of a row, of which kRowsToWriteAhead are under way

  int64_t count = 0, length = 0, apart = 0;
  bool pastCaches = false;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_ROWSTOWRITE_H
