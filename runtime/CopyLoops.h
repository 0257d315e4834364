//===- CopyLoops.h - the loops of a copy in canonical form ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_COPYLOOPS_H
#define EINSUMC_RUNTIME_COPYLOOPS_H

#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace einsumc {

/// A CopyLoop without initialisers, so that an array of many costs nothing until it is filled.
struct Loop {
  int64_t extent, to, from;
};

/// Offsets in elements.
struct CopyOffset {
  int64_t to = 0;
  int64_t from = 0;
};

/// The loops of a copy without those of extent 1, with those that continue each other in both
/// tensors fused, the innermost first: by growing `to`, then `from`; loops that stay on one target
/// element (sums) come last. On the stack.
class LoopNest {
public:
  /// More loops of extent 2 or above than this would be over 2^63 steps, which nobody waits for.
  static constexpr std::size_t kMaxLoops = 63;

  LoopNest() = default;
  LoopNest(const LoopNest &other) noexcept { *this = other; }
  LoopNest &operator=(const LoopNest &other) noexcept;
  explicit LoopNest(std::span<const CopyLoop> given) noexcept;

  /// Whether an extent is 0; then there are no loops.
  bool empty() const { return hasNoSteps; }
  /// The number of steps of all loops together.
  int64_t steps() const;
  std::span<Loop> loops() { return {items.data(), count}; }
  std::span<const Loop> loops() const { return {items.data(), count}; }
  /// Elements of the target next to each other, as long as no loop has been taken.
  int64_t runInTarget() const;
  /// The loops that move in the target, and those that do not.
  std::span<const Loop> kept() const { return loops().first(count - summedLoops()); }
  std::span<const Loop> summed() const { return loops().last(summedLoops()); }

  /// Adds a loop of more than one step where it belongs, without fusing it with others.
  void insert(const Loop &loop);
  /// Removes and returns a loop.
  Loop take(std::size_t position);
  /// Orders the loops by the smaller of their steps, so that what is near in either tensor is
  /// reached soon. kept() and summed() are no more.
  void sortForBoth() { sortForSource(std::numeric_limits<int64_t>::max()); }
  /// The same, but what is at least so many elements further on in the target counts as far.
  void sortForSource(int64_t nearInTarget);

private:
  void fuse();
  std::size_t summedLoops() const;

  std::array<Loop, kMaxLoops> items;
  std::size_t count = 0;
  bool hasNoSteps = false;
};

/// The position of the loop with the smallest step in the source, not counting those of 0 unless
/// all are. \pre there are loops
std::size_t innermostInSource(std::span<const Loop> loops);

/// How evenly, and in how long pieces, cutLoops cuts: the estimated time of the largest part, times
/// \p parts, over the time of all; 1 is ideal.
double costOfCutting(std::span<const Loop> loops, int64_t parts);

/// Cuts \p loops into \p parts parts of about the same size, outer loops rather than inner ones,
/// and narrows them to part \p part (an extent may become 0). Returns where that part begins.
/// \pre there are loops
CopyOffset cutLoops(std::span<Loop> loops, int64_t parts, int64_t part);

/// Calls `body(to, from)` with the offsets of every step of \p loops, none of an extent of 0, the
/// first loop running fastest.
template <class Body> void forEachStep(std::span<const Loop> loops, Body &&body) {
  if (loops.empty()) {
    body(int64_t{0}, int64_t{0});
    return;
  }
  const Loop inner = loops.front();
  const auto outer = loops.subspan(1);
  std::array<int64_t, LoopNest::kMaxLoops> left;
  for (std::size_t d = 0; d < outer.size(); ++d)
    left[d] = outer[d].extent;
  int64_t to = 0, from = 0;
  while (true) {
    for (int64_t i = 0; i < inner.extent; ++i)
      body(to + i * inner.to, from + i * inner.from);
    std::size_t d = 0;
    for (; d < outer.size(); ++d) {
      to += outer[d].to;
      from += outer[d].from;
      if (--left[d] > 0)
        break;
      to -= outer[d].extent * outer[d].to;
      from -= outer[d].extent * outer[d].from;
      left[d] = outer[d].extent;
    }
    if (d == outer.size())
      return;
  }
}

/// Counts through the steps of loops one at a time, the first loop running fastest, for a body that
/// is not called from here.
class LoopCounter {
public:
  void add(int64_t extent) {
    extents[count] = extent;
    at[count++] = 0;
  }

  /// Whether a loop has left its first step.
  bool hasBegun(std::size_t loop) const { return at[loop] > 0; }

  /// Goes on, and calls move(loop, steps) for each loop that is moved by so many, fewer than none
  /// where it begins anew. Returns whether there is a further step; else all loops are as at first.
  template <class Move> bool next(Move &&move) {
    for (std::size_t d = 0; d < count; ++d) {
      move(d, int64_t{1});
      if (++at[d] < extents[d])
        return true;
      move(d, -extents[d]);
      at[d] = 0;
    }
    return false;
  }

private:
  std::array<int64_t, LoopNest::kMaxLoops> extents, at;
  std::size_t count = 0;
};

/// Calls `body(at)` for every block of some steps of each loop, or what is left of them: with the
/// first step of each. The first loop runs fastest.
template <class Body>
void forEachBlock(std::span<const Loop> loops, std::span<const int64_t> counts, Body &&body) {
  std::array<int64_t, LoopNest::kMaxLoops> at = {};
  while (true) {
    body(std::span<const int64_t>(at).first(loops.size()));
    std::size_t d = 0;
    for (; d < loops.size(); ++d) {
      at[d] += counts[d];
      if (at[d] < loops[d].extent)
        break;
      at[d] = 0;
    }
    if (d == loops.size())
      return;
  }
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_COPYLOOPS_H
