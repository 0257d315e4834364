//===- ShortRuns.h - copies between tensors of many short dims --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_SHORTRUNS_H
#define EINSUMC_RUNTIME_SHORTRUNS_H

#include "CopyKernels.h"
#include "CopyLoops.h"
#include "SimdVector.h"

#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace einsumc {

/// The inner part of a copy in which no single loop goes through a cache line of both tensors, as
/// with dims of extent 2. It takes as many loops as make runs of one to four lines in the source,
/// and as many as do in the target, reads the runs of the source into a block that stays in the
/// first-level cache, and writes those of the target from there: every line is touched once, also
/// where the steps are powers of two and few lines stay cached.
template <class T> class ShortRuns {
public:
  /// Takes such loops out of a nest, if that is what they are and at least so many steps are left.
  static std::optional<ShortRuns> takeFrom(LoopNest &nest, int64_t leastSteps) noexcept {
    constexpr int64_t kWanted = copies::kRunBytes / sizeof(T);
    for (int64_t wanted = kWanted; wanted >= kCacheLine<T>; wanted /= 2) {
      const Run inTarget = runOf(nest, &Loop::to, wanted);
      const Run inSource = runOf(nest, &Loop::from, wanted);
      if (std::min(inTarget.length, inSource.length) < kCacheLine<T> ||
          std::min(inTarget.first, inSource.first) >= kCacheLine<T>)
        return std::nullopt;
      int64_t elements = inSource.length;
      for (std::size_t d = 0; d < nest.loops().size(); ++d)
        elements *= inTarget.has(d) && !inSource.has(d) ? nest.loops()[d].extent : 1;
      if (elements <= kMostElements && leastSteps * elements <= nest.steps())
        return ShortRuns(nest, inTarget, inSource);
    }
    return std::nullopt;
  }

  /// The source of the next call lies \p ahead elements further on.
  template <class Op> void copy(T *target, const T *source, int64_t ahead) const noexcept {
    alignas(64) std::array<T, kMostElements> block;
    for (int64_t r = 0; r < rows; ++r) {
      prefetchRow(source + fromRow[r] + ahead, readLength);
      std::copy_n(source + fromRow[r], readLength, block.data() + r * readLength);
    }
    for (int64_t w = 0; w < writes; ++w)
      write<Op>(target + toRun[w], block.data() + blockOfRun[w]);
  }

private:
  static constexpr int64_t kMostElements = 4096, kMostRun = copies::kMostRun;

  /// Loops that together go through consecutive elements.
  struct Run {
    int64_t length = 1;
    int64_t first = 0; ///< extent of the loop through neighbours
    uint64_t loops = 0;
    bool has(std::size_t loop) const { return (loops >> loop & 1) != 0; }
  };

  static Run runOf(const LoopNest &nest, int64_t Loop::*step, int64_t wanted) {
    Run run;
    for (std::size_t d = 0; d < nest.loops().size() && run.length < wanted;) {
      const Loop &loop = nest.loops()[d];
      const bool isNext = !run.has(d) && loop.*step == run.length;
      if (isNext && run.length * loop.extent > kMostRun)
        return run;
      if (isNext) {
        run.loops |= uint64_t{1} << d;
        run.first = run.length == 1 ? loop.extent : run.first;
        run.length *= loop.extent;
      }
      d = isNext ? 0 : d + 1;
    }
    return run;
  }

  /// Multiples of a step, beside those of the loops before.
  template <class Offsets>
  static void extend(Offsets &offsets, int64_t &count, int64_t extent, int64_t step) {
    for (int64_t i = count; i < count * extent; ++i)
      offsets[i] = offsets[i - count] + static_cast<typename Offsets::value_type>(step);
    count *= extent;
  }

  ShortRuns(LoopNest &nest, const Run &inTarget, const Run &inSource)
      : readLength(inSource.length) {
    fromRow[0] = toRun[0] = 0;
    inBlock[0] = blockOfRun[0] = 0;
    int64_t runs = 1;
    for (std::size_t d = 0; d < nest.loops().size(); ++d) { // by growing steps in the target
      const Loop &loop = nest.loops()[d];
      int64_t step = loop.from;
      if (inTarget.has(d) && !inSource.has(d)) {
        step = readLength * rows;
        extend(fromRow, rows, loop.extent, loop.from);
      }
      if (inTarget.has(d)) {
        extend(inBlock, writeLength, loop.extent, step);
      } else if (inSource.has(d)) {
        extend(toRun, writes, loop.extent, loop.to);
        extend(blockOfRun, runs, loop.extent, step);
      }
    }
    for (std::size_t d = nest.loops().size(); d-- > 0;)
      if (inTarget.has(d) || inSource.has(d))
        nest.take(d);
  }

  template <class Op> void write(T *target, const T *from) const noexcept {
    constexpr int64_t kLanes = simd::kLanes<T>;
    if constexpr (Op::isPastCaches) {
      if (reinterpret_cast<std::uintptr_t>(target) % simd::kVectorBytes == 0 &&
          writeLength % kLanes == 0) {
        alignas(64) std::array<T, kMostRun> run;
        for (int64_t i = 0; i < writeLength; ++i)
          run[i] = from[inBlock[i]];
        for (int64_t i = 0; i < writeLength; i += kLanes)
          simd::storePastCaches(target + i, simd::load(run.data() + i));
        return;
      }
    }
    for (int64_t i = 0; i < writeLength; ++i)
      target[i] = Op::combine(target[i], from[inBlock[i]]);
  }

  int64_t readLength;
  int64_t rows = 1, writes = 1, writeLength = 1;
  std::array<int64_t, kMostRun> fromRow;             ///< of each run in the source: where it begins
  std::array<int64_t, kMostRun> toRun;               ///< of each run in the target
  std::array<int32_t, kMostRun> blockOfRun, inBlock; ///< where it begins in the block, and goes on
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_SHORTRUNS_H
