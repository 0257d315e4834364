//===- CopyBlocks.h - copies of large tensors by blocks of long runs --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_COPYBLOCKS_H
#define EINSUMC_RUNTIME_COPYBLOCKS_H

#include "CopyLoops.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace einsumc {

/// Cuts a copy between tensors that no cache holds, and in which no single loop goes far through
/// neighbours of both, into blocks of several loops: long runs of the source, and long runs of the
/// target. A block is read into scratch in the order of the source and written from there.
template <class T> class CopyBlocks {
public:
  /// Elements of a block, which stays in the second-level cache.
  static constexpr int64_t kMost = (128 << 10) / sizeof(T);

  explicit CopyBlocks(std::span<const Loop> given) : count(given.size()) {
    std::copy(given.begin(), given.end(), loops.begin());
    std::fill_n(counts.begin(), count, 1);
    for (const int64_t bytes : {64, 256, 1024, 4096})
      for (const auto step : {&Loop::to, &Loop::from})
        growRun(step, bytes / static_cast<int64_t>(sizeof(T)));
  }

  /// Whether blocks have long runs of both tensors, in which single loops are short.
  bool isWorthIt() const {
    constexpr int64_t kLong = 256 / sizeof(T);
    const auto isLongOnlyTogether = [&](int64_t Loop::*step) {
      const std::size_t first = next(step, 1);
      return (first == count || loops[first].extent < kLong) && runOf(step) >= kLong;
    };
    return isLongOnlyTogether(&Loop::to) && isLongOnlyTogether(&Loop::from);
  }

  /// Copies by \p copy(target, source, loops), which also copies to and from scratch.
  template <class Copy> void run(T *target, const T *source, Copy &&copy) const {
    std::array<std::size_t, LoopNest::kMaxLoops> order;
    for (std::size_t d = 0; d < count; ++d)
      order[d] = d;
    std::sort(order.begin(), order.begin() + count,
              [&](std::size_t a, std::size_t b) { return loops[a].from < loops[b].from; });
    alignas(64) T scratch[kMost];
    std::array<CopyLoop, LoopNest::kMaxLoops> in, out;
    forEachBlock(all(), counts, [&](std::span<const int64_t> at) {
      T *to = target;
      const T *from = source;
      int64_t compact = 1;
      for (std::size_t i = 0; i < count; ++i) {
        const Loop &loop = loops[order[i]];
        const int64_t begin = at[order[i]];
        const int64_t extent = std::min(counts[order[i]], loop.extent - begin);
        in[i] = {extent, compact, loop.from};
        out[i] = {extent, loop.to, compact};
        compact *= extent;
        to += begin * loop.to;
        from += begin * loop.from;
      }
      copy(scratch, from, std::span<const CopyLoop>(in).first(count));
      copy(to, static_cast<const T *>(scratch), std::span<const CopyLoop>(out).first(count));
    });
  }

private:
  std::span<const Loop> all() const { return {loops.data(), count}; }

  /// The loop whose steps continue a run; count: none.
  std::size_t next(int64_t Loop::*step, int64_t run) const {
    std::size_t d = 0;
    while (d < count && (loops[d].*step != run || loops[d].extent == 1))
      ++d;
    return d;
  }

  void growRun(int64_t Loop::*step, int64_t wanted) {
    int64_t run = 1;
    for (std::size_t d = next(step, run); d < count && run < wanted; d = next(step, run)) {
      const int64_t others = elements / counts[d];
      const int64_t most = std::min(loops[d].extent, (wanted + run - 1) / run);
      counts[d] = std::max(counts[d], std::min(most, kMost / others));
      elements = others * counts[d];
      if (counts[d] < loops[d].extent)
        return;
      run *= loops[d].extent;
    }
  }

  /// Neighbours of a block in a tensor.
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

  std::array<Loop, LoopNest::kMaxLoops> loops;
  std::array<int64_t, LoopNest::kMaxLoops> counts; ///< steps in a block
  std::size_t count;
  int64_t elements = 1;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_COPYBLOCKS_H
