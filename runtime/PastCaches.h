//===- PastCaches.h - rows of results that leave the caches alone -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_PASTCACHES_H
#define EINSUMC_RUNTIME_PASTCACHES_H

#include "Prefetch.h"
#include "SimdVector.h"

#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace einsumc {

/// Elements of a cache line. What goes past the caches should be whole lines: memory reads a part
/// of one first, and takes longer for it than for several lines.
template <class T>
inline constexpr int kCacheLine = static_cast<int>(copies::kLineBytes / sizeof(T));

/// Elements from the begin of its line on.
template <class T> int64_t pastLine(const T *at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return static_cast<int64_t>(address % copies::kLineBytes / sizeof(T));
}
template <class T> bool beginsLine(const T *at) {
  return reinterpret_cast<std::uintptr_t>(at) % copies::kLineBytes == 0;
}

/// Fetches the line in the midst of which a run begins or ends, as others write a part of it: with
/// many on their way at the same time nobody waits long for one.
template <class T> void fetchEnd(const T *end) {
  if (!beginsLine(end))
    prefetchToWrite(end);
}

/// Copies elements next to each other: for rows of a few lines, for which a call takes long.
/// \pre there are at least as many as in a vector
template <class T> void copyRow(T *to, const T *from, int64_t count) {
  constexpr int64_t kLanes = simd::kLanes<T>;
  for (int64_t at = 0; at + kLanes <= count; at += kLanes)
    simd::store(to + at, simd::load(from + at));
  simd::store(to + count - kLanes, simd::load(from + count - kLanes));
}

/// Copies fewer elements than a line has, without a call: by the two largest pieces that cover
/// them.
template <class T, int Bytes = copies::kLineBytes / 2>
[[gnu::always_inline]] inline void copyFew(T *to, const T *from, int64_t count) {
  constexpr int64_t kSize = Bytes / static_cast<int>(sizeof(T));
  if constexpr (kSize > 1)
    if (count < kSize)
      return copyFew<T, Bytes / 2>(to, from, count);
  if (count == 0)
    return;
  std::array<std::byte, Bytes> first, last;
  std::memcpy(first.data(), from, Bytes);
  std::memcpy(last.data(), from + count - kSize, Bytes);
  std::memcpy(to, first.data(), Bytes);
  std::memcpy(to + count - kSize, last.data(), Bytes);
}

/// Copies whole lines past the caches.
/// \pre `to` begins one, and `count` is a multiple of its elements
template <class T> void storeLines(T *to, const T *from, int64_t count) {
  for (int64_t at = 0; at < count; at += simd::kLanes<T>)
    simd::storePastCaches(to + at, simd::load(from + at));
}

/// Copies a row, its whole lines past the caches. simd::endStoresPastCaches must follow before
/// other threads may see them.
template <class T> void writePastCaches(T *to, const T *from, int64_t count) {
  constexpr int64_t kLine = kCacheLine<T>;
  const int64_t first = std::min((kLine - pastLine(to)) % kLine, count);
  const int64_t last = first + (count - first) / kLine * kLine;
  copyFew(to, from, first);
  storeLines(to + first, from + first, last - first);
  copyFew(to + last, from + last, count - last);
}

/// Whether a run goes past the caches wherever it begins.
template <class T> bool isLongRun(int64_t count) {
  return count * static_cast<int64_t>(sizeof(T)) >= copies::kLongRunBytes;
}
/// Whether a run needs nothing of the lines that it is written to.
template <class T> bool areWholeLines(const T *begin, int64_t count) {
  return beginsLine(begin) && count % kCacheLine<T> == 0;
}

/// Rows ahead of which those that are going to be written are fetched.
inline constexpr int64_t kRowsToWriteAhead = 8;

/// Fetches all lines of a row that is going to be written.
template <class T> void fetchToWrite(const T *row, int64_t count) {
  for (int64_t at = 0; at < count; at += kCacheLine<T>)
    prefetchToWrite(row + at);
  prefetchToWrite(row + count - 1);
}

/// Fetches what writing a row by itself past the caches needs: the lines at its ends if it is long,
/// or else all, unless they are whole ones.
template <class T> void fetchForWritingPast(const T *row, int64_t count) {
  if (isLongRun<T>(count)) {
    fetchEnd(row);
    fetchEnd(row + count);
  } else if (!areWholeLines(row, count)) {
    fetchToWrite(row, count);
  }
}

/// Writes a row that has been fetched so.
template <class T> void writeFetched(T *to, const T *from, int64_t count) {
  if (isLongRun<T>(count) || areWholeLines(to, count))
    writePastCaches(to, from, count);
  else if (count >= simd::kLanes<T>)
    copyRow(to, from, count);
  else
    copyFew(to, from, count);
}

/// Writes rows past the caches by whole lines, also where neighbouring rows share one: short ones
/// are brought together first. Lines of which others write a part go through the caches.
/// simd::endStoresPastCaches must follow before other threads may see them.
template <class T> class LineWriter {
public:
  /// \param run elements next to each other of all rows together
  explicit LineWriter(int64_t run)
      : hasLongRuns(isLongRun<T>(run)),
        isWorthCollecting(run * static_cast<int64_t>(sizeof(T)) >= copies::kCollectedRunBytes) {}
  LineWriter(const LineWriter &) = delete;
  LineWriter &operator=(const LineWriter &) = delete;

  void write(T *to, const T *from, int64_t count) {
    if (to != end)
      begin(to);
    end = to + count;
    if (isLongRun<T>(count)) {
      const int64_t head = std::min((kLine - filled % kLine) % kLine, count);
      append(from, head);
      flushLines(); // All of them.
      const int64_t whole = (count - head) / kLine * kLine;
      storeLines(to + head, from + head, whole);
      at = to + head + whole;
      append(from + head + whole, count - head - whole);
      return;
    }
    if (filled + count > kMost)
      flushLines();
    append(from, count);
  }

  /// Whether rows make up runs that are written past the caches although these begin and end in the
  /// midst of lines.
  const bool hasLongRuns;
  /// The same where a run first has to be collected elsewhere from pieces.
  const bool isWorthCollecting;

  /// Writes what waits; to be called behind the last row.
  void flush() {
    flushLines();
    copyFew(at + first, lines + first, filled - first);
    first = filled = 0;
    end = nullptr;
  }

private:
  static constexpr int64_t kLine = kCacheLine<T>;
  static constexpr int64_t kMost = 4096 / static_cast<int64_t>(sizeof(T));

  /// What comes next lies elsewhere.
  void begin(T *to) {
    flush();
    first = filled = pastLine(to);
    at = to - first;
  }

  /// By whole vectors: what these have beyond is overwritten by the next ones.
  void append(const T *from, int64_t count) {
    constexpr int64_t kLanes = simd::kLanes<T>;
    T *const to = lines + filled;
    int64_t done = 0;
    for (; done + kLanes <= count; done += kLanes)
      simd::store(to + done, simd::load(from + done));
    if (done < count)
      simd::store(to + done, simd::LaneMask<T>(static_cast<int>(count - done)).load(from + done));
    filled += count;
  }

  /// Writes the lines that are complete.
  void flushLines() {
    const int64_t whole = filled / kLine * kLine;
    if (whole == 0)
      return;
    const int64_t shared = first > 0 ? kLine : 0; // A line of which others write a part.
    copyFew(at + first, lines + first, shared > 0 ? shared - first : 0);
    first = 0;
    storeLines(at + shared, lines + shared, whole - shared);
    std::copy_n(lines + whole, kLine, lines);
    at += whole;
    filled -= whole;
  }

  /// Elements from the begin of the line on that `at` is the begin of.
  alignas(64) T lines[kMost + 2 * kLine];
  int64_t first = 0, filled = 0; ///< those that are to be written: from, and up to
  T *at = nullptr;
  T *end = nullptr; ///< behind what was written
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PASTCACHES_H
