//===- CopyTiles.h - copies by tiles of long runs through scratch -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_COPYTILES_H
#define EINSUMC_RUNTIME_COPYTILES_H

#include "CopyKernels.h"
#include "CopyLoops.h"
#include "EvenPieces.h"
#include "Prefetch.h"
#include "SimdVector.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace einsumc {

/// Rows of a tensor that are fetched into the second-level cache, one after the other, some lines
/// at each step of other work.
template <class T> class RowsOverSteps {
public:
  /// \param first null if there is nothing to fetch
  /// \param loops through the rows' begins
  /// \param length elements of a row
  RowsOverSteps(const T *first, std::span<const Loop> loops, int64_t length, int64_t steps)
      : row(first), length(length), lines(ceilDiv(length - 1, kCacheLine<T>) + 1),
        left(first ? 1 : 0) {
    for (std::size_t d = 0; d < loops.size(); ++d) {
      apart[d] = loops[d].from;
      counter.add(loops[d].extent);
      left *= loops[d].extent;
    }
    linesOfStep = ceilDiv(left * lines, steps);
  }

  /// Fetches what is due at a step.
  void fetch() {
    for (int64_t due = linesOfStep; due > 0 && left > 0; --due) {
      prefetch(row + std::min(line * kCacheLine<T>, length - 1));
      if (++line == lines)
        beginRow();
    }
  }

private:
  void beginRow() {
    line = 0;
    --left;
    counter.next([&](std::size_t d, int64_t by) { row += by * apart[d]; });
  }

  const T *row; ///< the one that is under way
  int64_t length;
  std::array<int64_t, LoopNest::kMaxLoops> apart; ///< by loop
  LoopCounter counter;
  int64_t lines, line = 0; ///< that a row touches wherever it begins, and those fetched of it
  int64_t left;            ///< rows
  int64_t linesOfStep;
};

/// Cuts a copy of short loops, none of which goes far through neighbours of both tensors, into
/// tiles of many: long runs of the source, and runs of several lines of the target. A tile is read
/// in the order of the source, as memory gives its lines the fastest, into scratch in a near cache,
/// and written from there by rows of the target. Meanwhile the next one is fetched: reading alone
/// waits for memory, and writing alone leaves it idle.
template <class T> class CopyTiles {
public:
  explicit CopyTiles(std::span<const Loop> given) noexcept : count(given.size()) {
    std::copy(given.begin(), given.end(), loops.begin());
    std::sort(loops.begin(), loops.begin() + count,
              [](const Loop &a, const Loop &b) { return a.from < b.from; });
    std::fill_n(counts.begin(), count, 1);
    for (int64_t bytes = copies::kLineBytes; bytes <= kReachOfSource; bytes *= 2) {
      growRuns(&Loop::from, bytes);
      if (bytes <= kReachOfTarget)
        growRuns(&Loop::to, bytes);
    }
    const Run run = lengthOfRuns();
    joined = run.loops;
    int64_t behind = run.length;
    for (std::size_t d = 0; d < count; ++d) {
      inScratch[d] = d < joined ? loops[d].from : behind;
      behind *= d < joined ? 1 : counts[d];
    }
  }

  /// Whether a tile has runs of the source that are worth copying as such, without many gaps, and
  /// is large enough for what a tile takes to begin.
  bool isWorthIt() const {
    constexpr int64_t kLeast = 512;
    int64_t copied = 1;
    for (std::size_t d = 0; d < count; ++d)
      copied *= counts[d];
    return joined > 1 && lengthOfRuns().length >= kCacheLine<T> && copied >= kLeast &&
           2 * copied >= elements;
  }

  /// Whether tiles have long runs of both tensors, in which single loops are short.
  bool haveLongRuns() const {
    constexpr int64_t kLong = 256 / sizeof(T);
    const auto isLongOnlyTogether = [&](int64_t Loop::*step) {
      const std::size_t first = next(step, 1);
      return (first == count || loops[first].extent < kLong) && runOf(step) >= kLong;
    };
    return isLongOnlyTogether(&Loop::to) && isLongOnlyTogether(&Loop::from);
  }

  /// Copies each tile out of scratch by a Copy, which is made of the nest of tiles of the same
  /// extents and called with the target, scratch, and what it is to fetch during its steps().
  template <class Copy> void run(T *target, const T *source) const noexcept {
    alignas(64) T scratch[kMost];
    std::optional<Copy> copy;
    Steps copied;
    const auto runTile = [&](const Tile &tile, const Tile *next) {
      read(scratch, source + tile.begin.from, tile.rows);
      const std::span<const int64_t> extents(tile.extents.data(), count);
      if (!copy || !std::equal(extents.begin(), extents.end(), copied.begin())) {
        copy.emplace(nestOf(extents));
        std::copy(extents.begin(), extents.end(), copied.begin());
      }
      const Rows &rows = (next ? *next : tile).rows;
      RowsOverSteps<T> toFetch(next ? source + next->begin.from : nullptr, rows.begins(),
                               rows.length, copy->steps());
      (*copy)(target + tile.begin.to, static_cast<const T *>(scratch), toFetch);
    };
    std::array<Tile, 2> tiles; // By turns.
    Tile *tile = nullptr;
    forEachBlock({loops.data(), count}, counts, [&](std::span<const int64_t> at) {
      Tile &next = tiles[tile == tiles.data() ? 1 : 0];
      next.begin = {};
      for (std::size_t d = 0; d < count; ++d) {
        next.begin.to += at[d] * loops[d].to;
        next.begin.from += at[d] * loops[d].from;
        next.extents[d] = std::min(counts[d], loops[d].extent - at[d]);
      }
      findRows(next);
      if (tile)
        runTile(*tile, &next);
      tile = &next;
    });
    runTile(*tile, nullptr);
  }

private:
  /// Elements of a tile in scratch.
  static constexpr int64_t kMost = (128 << 10) / sizeof(T);
  /// Bytes of a tensor through which a tile goes, if its loops do.
  static constexpr int64_t kReachOfSource = 16384, kReachOfTarget = 1024;

  using Steps = std::array<int64_t, LoopNest::kMaxLoops>;

  /// What a tile reads: rows of the source that are copied as such.
  struct Rows {
    std::span<const Loop> begins() const { return {loops.data(), count}; }

    std::array<Loop, LoopNest::kMaxLoops> loops;
    std::size_t count;
    int64_t length;
  };

  struct Tile {
    CopyOffset begin;
    Steps extents;
    Rows rows;
  };

  /// The loops of a tile out of scratch.
  LoopNest nestOf(std::span<const int64_t> extents) const {
    LoopNest nest;
    for (std::size_t d = 0; d < count; ++d)
      if (extents[d] > 1)
        nest.insert({extents[d], loops[d].to, inScratch[d]});
    return nest;
  }

  static bool isNear(const Loop &loop, int64_t length) {
    return loop.from <= std::max<int64_t>(2 * length, kCacheLine<T>);
  }

  /// The first loops, which are near each other in the source, and from the first to behind the
  /// last element of these.
  struct Run {
    std::size_t loops = 0;
    int64_t length = 1;
  };

  /// Takes as much of each loop as goes less than some bytes through a tensor.
  void growRuns(int64_t Loop::*step, int64_t bytes) {
    const int64_t reach = bytes / static_cast<int64_t>(sizeof(T));
    for (std::size_t d = 0; d < count; ++d) {
      const Loop &loop = loops[d];
      if (loop.*step >= reach)
        continue;
      const int64_t wanted = reach / std::max<int64_t>(loop.*step, 1);
      const int64_t room = std::max<int64_t>(kMost / elements * counts[d], 1);
      const int64_t grown = std::min(2 * wanted > loop.extent ? loop.extent : wanted, room);
      if (grown <= counts[d])
        continue;
      const int64_t before = std::exchange(counts[d], grown);
      const int64_t elementsBefore = std::exchange(elements, elementsOfTile());
      if (elements <= kMost)
        continue;
      counts[d] = before;
      elements = elementsBefore;
    }
  }

  /// Gaps in lines that are read anyway, or of up to the length of a run, are copied with it.
  Run lengthOfRuns() const {
    Run run;
    for (; run.loops < count && isNear(loops[run.loops], run.length); ++run.loops)
      run.length += (counts[run.loops] - 1) * loops[run.loops].from;
    return run;
  }

  /// The loop whose steps continue a run; count: none.
  std::size_t next(int64_t Loop::*step, int64_t run) const {
    std::size_t d = 0;
    while (d < count && (loops[d].*step != run || loops[d].extent == 1))
      ++d;
    return d;
  }

  /// Neighbours of a tile in a tensor.
  int64_t runOf(int64_t Loop::*step) const {
    int64_t run = 1, length = 1;
    for (std::size_t d = next(step, run); d < count; d = next(step, run)) {
      length *= counts[d];
      if (counts[d] < loops[d].extent)
        break;
      run *= loops[d].extent;
    }
    return length;
  }

  int64_t elementsOfTile() const {
    const Run run = lengthOfRuns();
    int64_t result = run.length;
    for (std::size_t d = run.loops; d < count; ++d)
      result *= counts[d];
    return result;
  }

  void findRows(Tile &tile) const {
    Rows &rows = tile.rows;
    rows.count = 0;
    rows.length = 1;
    for (std::size_t d = 0; d < joined; ++d)
      rows.length += (tile.extents[d] - 1) * loops[d].from;
    for (std::size_t d = joined; d < count; ++d)
      if (tile.extents[d] > 1)
        rows.loops[rows.count++] = {tile.extents[d], inScratch[d], loops[d].from};
  }

  static void read(T *scratch, const T *source, const Rows &rows) noexcept {
    forEachStep(rows.begins(), [&](int64_t to, int64_t from) {
      if (rows.length >= simd::kLanes<T>)
        copyRow(scratch + to, source + from, rows.length);
      else
        std::copy_n(source + from, rows.length, scratch + to);
    });
  }

  std::array<Loop, LoopNest::kMaxLoops> loops; ///< by growing steps in the source
  Steps counts;                                ///< steps in a tile
  Steps inScratch;                             ///< how far a step of each goes there
  std::size_t count;
  int64_t elements = 1;   ///< of a tile in scratch, with gaps
  std::size_t joined = 0; ///< loops of a run of the source, which is copied as such
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_COPYTILES_H
