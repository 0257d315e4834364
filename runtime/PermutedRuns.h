//===- PermutedRuns.h - copies whose innermost dims change places -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_PERMUTEDRUNS_H
#define EINSUMC_RUNTIME_PERMUTEDRUNS_H

#include "CopyKernels.h"
#include "CopyLoops.h"
#include "PastCaches.h"
#include "SimdVector.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace einsumc {

/// The inner part of a copy in which the same short loops make a run of both tensors, in another
/// order: a batch of small matrices that are transposed, say. As many runs as a packet has elements
/// go through registers together, first into columns, one for each element of a run, then from
/// these columns, in the order of the target, back into runs. So it costs the same whatever the
/// order is, and no run need have extents that fill a packet.
template <class T> class PermutedRuns {
public:
  /// The loops of a nest that make such runs.
  struct Found {
    std::size_t loops = 0; ///< the first ones
    int64_t length = 1;
  };

  /// Such loops, if they are the innermost ones of a nest and another one has enough steps to be
  /// the batch.
  static std::optional<Found> find(const LoopNest &nest, int64_t leastSteps) noexcept {
    Found found = runOfBoth(nest);
    if (found.loops == 0)
      return std::nullopt;
    const auto loops = nest.loops();
    const std::size_t batch = findBatch(loops, found.length);
    if (batch == loops.size())
      return std::nullopt;
    const int64_t row = joinedRuns(loops[batch], found.length) * found.length;
    if (row < kLeastRow || leastSteps * kPacket<T> * row > nest.steps())
      return std::nullopt;
    return found;
  }

  /// Takes these loops out of the nest.
  PermutedRuns(LoopNest &nest, const Found &found) noexcept : runLength(found.length) {
    int64_t length = 1;
    const auto extend = [&](int64_t extent, int64_t step) {
      for (int64_t i = length; i < length * extent; ++i)
        inRow[i] = inRow[i - length] + static_cast<int32_t>(step);
      length *= extent;
    };
    inRow[0] = 0;
    for (const Loop &loop : nest.loops().first(found.loops))
      extend(loop.extent, loop.from);
    extend(mostJoined(runLength), runLength);
    for (std::size_t d = found.loops; d-- > 0;)
      nest.take(d);
  }

  /// Elements of a run.
  int64_t length() const { return runLength; }

  /// Takes the loop whose steps copy() goes through out of the rest of the nest.
  /// \pre its loops are sorted for both tensors
  Loop takeBatch(LoopNest &nest) const {
    const std::size_t batch = findBatch(nest.loops(), runLength);
    return batch < nest.loops().size() ? nest.take(batch) : Loop{1, 0, 0};
  }

  /// Copies a run for each step of \p batch. The source of the call to fetch for lies \p ahead
  /// elements further on.
  template <class Op>
  [[gnu::noinline]] // Other copies need no stack for it.
  void
  copy(T *target, const T *source, const Loop &batch, int64_t ahead,
       LineWriter<T> &lines) const noexcept {
    alignas(64) std::array<T, kPacket<T> * kMostRow> columns, rows;
    const int64_t joined = joinedRuns(batch, runLength), rowLength = joined * runLength;
    const int64_t atOnce = kPacket<T> * joined;
    const bool isByPackets = batch.extent >= atOnce && rowLength >= kPacket<T>;
    int64_t done = 0;
    while (isByPackets && done < batch.extent) {
      // The last ones begin earlier, with some that are written.
      const int64_t begin = std::min(done, batch.extent - atOnce);
      const T *const from = source + begin * batch.from;
      const bool isLast = begin + atOnce == batch.extent;
      readColumns(columns.data(), from, rowLength, joined * batch.from,
                  isLast ? ahead - begin * batch.from : atOnce * batch.from);
      makeRows(rows.data(), columns.data(), rowLength);
      const T *const written = rows.data() + (done - begin) * runLength;
      T *const to = target + done * batch.to;
      const int64_t count = begin + atOnce - done;
      if (batch.to == runLength)
        write<Op>(to, written, count * runLength, lines);
      else
        for (int64_t i = 0; i < count; ++i)
          write<Op>(to + i * batch.to, written + i * runLength, runLength, lines);
      done += count;
    }
    for (; done < batch.extent; ++done)
      for (int64_t i = 0; i < runLength; ++i) {
        T &t = target[done * batch.to + i];
        t = Op::combine(t, source[done * batch.from + inRow[i]]);
      }
  }

private:
  /// Elements of what is a row of the transposes: a run, or several that follow each other.
  static constexpr int64_t kLeastRow = 2 * kPacket<T>, kWantedRow = 64, kMostRow = 1024;

  /// The shortest run of several loops of the target that are a run of the source, too.
  static Found runOfBoth(const LoopNest &nest) {
    Found run;
    for (const Loop &loop : nest.loops()) {
      if (loop.to != run.length || run.length * loop.extent > kMostRow)
        break;
      run.length *= loop.extent;
      ++run.loops;
      if (run.loops > 1 && isRunOfSource(nest.loops().first(run.loops), run.length))
        return run;
    }
    return {};
  }

  static bool isRunOfSource(std::span<const Loop> loops, int64_t length) {
    int64_t run = 1;
    for (std::size_t found = 0; found < loops.size(); ++found) {
      const auto next =
          std::find_if(loops.begin(), loops.end(), [=](auto &loop) { return loop.from == run; });
      if (next == loops.end())
        return false;
      run *= next->extent;
    }
    return run == length;
  }

  /// Runs that are as long together as is best for a row of the transposes.
  static int64_t mostJoined(int64_t runLength) {
    return std::max<int64_t>(kWantedRow / runLength, 1);
  }

  /// Runs of a batch that are a row of the transposes: several, if they follow each other in both
  /// tensors and there are so many.
  static int64_t joinedRuns(const Loop &batch, int64_t runLength) {
    if (batch.to != runLength || batch.from != runLength)
      return 1;
    return std::clamp<int64_t>(batch.extent / kPacket<T>, 1, mostJoined(runLength));
  }

  /// Where in a nest the batch is, or how many loops there are: runs that follow each other in both
  /// tensors if these are enough, else the nearest of which there are.
  static std::size_t findBatch(std::span<const Loop> loops, int64_t runLength) {
    const auto isEnough = [&](const Loop &loop) {
      return loop.extent >= kPacket<T> && loop.to >= runLength;
    };
    const auto goesOn = [&](const Loop &loop) {
      return isEnough(loop) && loop.to == runLength && loop.from == runLength;
    };
    auto found = std::find_if(loops.begin(), loops.end(), goesOn);
    if (found == loops.end())
      found = std::find_if(loops.begin(), loops.end(), isEnough);
    return found - loops.begin();
  }

  /// Reads as many rows as a packet has elements, and fetches those \p ahead elements further on.
  static void readColumns(T *columns, const T *source, int64_t rowLength, int64_t step,
                          int64_t ahead) noexcept {
    constexpr int64_t kSize = kPacket<T>;
    forEachSquareOfRows<T>(
        rowLength, [&](int64_t i) { prefetchRow(source + i * step + ahead, rowLength); },
        [&](int64_t first) {
          transposePackets<T>(columns + first * kSize, kSize, source + first, step);
        });
  }

  /// Brings the columns into the order of the target, and makes rows of them.
  void makeRows(T *rows, const T *columns, int64_t rowLength) const noexcept {
    constexpr int64_t kSize = kPacket<T>;
    for (int64_t at = 0; at < rowLength; at += kSize) {
      const int64_t first = std::min(at, rowLength - kSize);
      Packet<T> packets[kSize];
#pragma GCC unroll 16
      for (int64_t i = 0; i < kSize; ++i)
        packets[i] = simd::loadAs<Packet<T>>(columns + inRow[first + i] * kSize);
      transposeRegisters<T>(packets);
#pragma GCC unroll 16
      for (int64_t i = 0; i < kSize; ++i)
        simd::store(rows + i * rowLength + first, packets[i]);
    }
  }

  template <class Op>
  static void write(T *target, const T *from, int64_t count, LineWriter<T> &lines) noexcept {
    if (Op::isPastCaches && lines.isWorthCollecting)
      lines.write(target, from, count);
    else if constexpr (Op::isIdempotent)
      std::memcpy(target, from, static_cast<std::size_t>(count) * sizeof(T));
    else
      for (int64_t i = 0; i < count; ++i)
        target[i] = Op::combine(target[i], from[i]);
  }

  int64_t runLength;
  std::array<int32_t, kMostRow> inRow; ///< the source's place of each element of the target's
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PERMUTEDRUNS_H
