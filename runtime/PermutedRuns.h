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
    int64_t joined = 1; ///< runs that follow each other in both tensors and are taken as one
  };

  /// Such loops, if they are the innermost ones of a nest and another one has enough steps to be
  /// the batch.
  static std::optional<Found> find(const LoopNest &nest, int64_t leastSteps) noexcept {
    Found found = runOfBoth(nest);
    if (found.loops == 0)
      return std::nullopt;
    const auto loops = nest.loops();
    if (std::any_of(loops.begin(), loops.end(), [&](auto &loop) { return goesOn(loop, found); }))
      found.joined = std::max<int64_t>(kWantedRow / found.length, 1);
    const int64_t row = found.joined * found.length;
    if (row < kLeastRow || findBatch(loops, found) == loops.size() ||
        leastSteps * kPacket<T> * row > nest.steps())
      return std::nullopt;
    return found;
  }

  /// Takes these loops out of the nest.
  PermutedRuns(LoopNest &nest, const Found &found) noexcept : run(found) {
    inRow[0] = 0;
    for (const Loop &loop : nest.loops().first(run.loops))
      extendRow(loop.extent, loop.from);
    extendRow(run.joined, run.length);
    for (std::size_t d = run.loops; d-- > 0;)
      nest.take(d);
  }

  /// Takes the loop whose steps copy() goes through out of the rest of the nest.
  /// \pre its loops are sorted for both tensors
  Loop takeBatch(LoopNest &nest) const {
    const std::size_t batch = findBatch(nest.loops(), run);
    return batch < nest.loops().size() ? nest.take(batch) : Loop{1, 0, 0};
  }

  /// Copies a run for each step of \p batch. The source of the next call lies \p ahead elements
  /// further on.
  template <class Op>
  [[gnu::noinline]] // Other copies need no stack for it.
  void
  copy(T *target, const T *source, const Loop &batch, int64_t ahead,
       LineWriter<T> &lines) const noexcept {
    alignas(64) std::array<T, kPacket<T> * kMostRow> columns, rows;
    const int64_t atOnce = kPacket<T> * run.joined;
    int64_t done = 0;
    while (done < batch.extent && batch.extent >= atOnce) {
      // The last ones begin earlier, with some that are written.
      const int64_t begin = std::min(done, batch.extent - atOnce);
      const T *const from = source + begin * batch.from;
      const bool isLast = begin + atOnce == batch.extent;
      readColumns(columns.data(), from, run.joined * batch.from,
                  isLast ? ahead - begin * batch.from : atOnce * batch.from);
      makeRows(rows.data(), columns.data());
      const T *const written = rows.data() + (done - begin) * run.length;
      T *const to = target + done * batch.to;
      const int64_t count = begin + atOnce - done;
      if (batch.to == run.length)
        write<Op>(to, written, count * run.length, lines);
      else
        for (int64_t i = 0; i < count; ++i)
          write<Op>(to + i * batch.to, written + i * run.length, run.length, lines);
      done += count;
    }
    for (; done < batch.extent; ++done)
      for (int64_t i = 0; i < run.length; ++i) {
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

  void extendRow(int64_t extent, int64_t step) {
    for (int64_t i = rowLength; i < rowLength * extent; ++i)
      inRow[i] = inRow[i - rowLength] + static_cast<int32_t>(step);
    rowLength *= extent;
  }

  /// Whether the steps of a loop are runs that follow each other.
  static bool goesOn(const Loop &loop, const Found &run) {
    return loop.to == run.length && loop.from == run.length;
  }

  /// Where in a nest that loop is, or how many there are: runs that are joined follow each other,
  /// of others the nearest of which there are enough make a batch.
  static std::size_t findBatch(std::span<const Loop> loops, const Found &run) {
    const auto found = std::find_if(loops.begin(), loops.end(), [&](const Loop &loop) {
      return run.joined > 1 ? goesOn(loop, run)
                            : loop.extent >= kPacket<T> && loop.to >= run.length;
    });
    return found - loops.begin();
  }

  /// Reads as many rows as a packet has elements, and fetches those \p ahead elements further on.
  void readColumns(T *columns, const T *source, int64_t step, int64_t ahead) const noexcept {
    constexpr int64_t kSize = kPacket<T>;
    for (int64_t i = 0; i < kSize; ++i)
      prefetchRow(source + i * step + ahead, rowLength);
    for (int64_t at = 0; at < rowLength; at += kSize) {
      const int64_t first = std::min(at, rowLength - kSize);
      transposePackets<T, Overwrite>(columns + first * kSize, kSize, source + first, step);
    }
  }

  /// Brings the columns into the order of the target, and makes rows of them.
  void makeRows(T *rows, const T *columns) const noexcept {
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
    if (Op::isPastCaches && lines.hasLongRuns)
      lines.write(target, from, count);
    else if constexpr (Op::isIdempotent)
      std::memcpy(target, from, static_cast<std::size_t>(count) * sizeof(T));
    else
      for (int64_t i = 0; i < count; ++i)
        target[i] = Op::combine(target[i], from[i]);
  }

  Found run;
  int64_t rowLength = 1;
  std::array<int32_t, kMostRow> inRow; ///< the source's place of each element of the target's
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PERMUTEDRUNS_H
