//===- CopyLoops.cpp - the loops of a copy in canonical form ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "CopyLoops.h"

#include <algorithm>
#include <utility>

namespace einsumc {

namespace {

bool isInside(const Loop &a, const Loop &b) {
  if ((a.to == 0) != (b.to == 0))
    return b.to == 0;
  return a.to != b.to ? a.to < b.to : a.from < b.from;
}

/// The slow-down of going through \p extent consecutive elements rather than through many: short
/// pieces share too many cache lines with their neighbours.
double costOfPiece(const Loop &loop, int64_t extent) {
  constexpr double kShort = 32;
  const bool consecutive = loop.to == 1 || loop.from == 1;
  return consecutive ? 1 + kShort / static_cast<double>(std::max<int64_t>(extent, 1)) : 1;
}

/// The estimated time of the largest part of this one loop, times the parts, over that of all.
double costOfCutting(const Loop &loop, int64_t parts) {
  const int64_t largest = (loop.extent + parts - 1) / parts;
  return static_cast<double>(largest) * static_cast<double>(parts) /
         static_cast<double>(std::max<int64_t>(loop.extent, 1)) * costOfPiece(loop, largest);
}

/// The outermost loop that is about the cheapest to cut.
Loop &loopToCut(std::span<Loop> loops, int64_t parts) {
  constexpr double kAboutTheSame = 1.05;
  std::size_t best = loops.size() - 1;
  for (std::size_t d = loops.size() - 1; d-- > 0;)
    if (costOfCutting(loops[d], parts) * kAboutTheSame < costOfCutting(loops[best], parts))
      best = d;
  return loops[best];
}

/// Where to cut an extent so that \p left of \p parts parts lie before it; a long one at a multiple
/// of what the kernels take at a time.
int64_t cutAt(int64_t extent, int64_t left, int64_t parts) {
  constexpr int64_t kBlock = 16;
  const int64_t cut = extent / parts * left + extent % parts * left / parts;
  return extent >= 8 * kBlock * parts ? cut / kBlock * kBlock : cut;
}

} // namespace

LoopNest::LoopNest(std::span<const CopyLoop> given) noexcept {
  hasNoSteps = std::any_of(given.begin(), given.end(), [](auto &l) { return l.extent == 0; });
  if (hasNoSteps)
    return;
  for (const CopyLoop &loop : given)
    if (loop.extent != 1)
      insert({loop.extent, loop.to, loop.from});
  fuse();
}

LoopNest &LoopNest::operator=(const LoopNest &other) noexcept {
  if (this == &other)
    return *this;
  count = other.count;
  hasNoSteps = other.hasNoSteps;
  std::copy_n(other.items.begin(), count, items.begin()); // The others have no values.
  return *this;
}

int64_t LoopNest::steps() const {
  int64_t result = hasNoSteps ? 0 : 1;
  for (const Loop &loop : loops())
    result *= loop.extent;
  return result;
}

int64_t LoopNest::runInTarget() const {
  int64_t run = 1;
  for (const Loop &loop : loops()) {
    if (loop.to != run)
      break;
    run *= loop.extent;
  }
  return run;
}

Loop LoopNest::take(std::size_t position) {
  const Loop result = items[position];
  std::move(items.begin() + position + 1, items.begin() + count, items.begin() + position);
  --count;
  return result;
}

void LoopNest::sortForSource(int64_t nearInTarget) {
  const auto key = [=](const Loop &loop) {
    return loop.to < nearInTarget ? std::min(loop.to, loop.from) : loop.from;
  };
  for (std::size_t end = 1; end < count; ++end)
    for (std::size_t i = end; i > 0 && key(items[i]) < key(items[i - 1]); --i)
      std::swap(items[i], items[i - 1]);
}

void LoopNest::insert(const Loop &loop) {
  std::size_t position = count++;
  for (; position > 0 && isInside(loop, items[position - 1]); --position)
    items[position] = items[position - 1];
  items[position] = loop;
}

void LoopNest::fuse() {
  for (std::size_t inner = 0; inner < count; ++inner)
    for (std::size_t outer = inner + 1; outer < count;) {
      const Loop &a = items[inner], &b = items[outer];
      if (b.to == a.to * a.extent && b.from == a.from * a.extent) {
        items[inner].extent *= take(outer).extent;
        outer = inner + 1;
      } else {
        ++outer;
      }
    }
}

std::size_t LoopNest::summedLoops() const {
  std::size_t result = 0;
  while (result < count && items[count - 1 - result].to == 0)
    ++result;
  return result;
}

std::size_t innermostInSource(std::span<const Loop> loops) {
  // Loops that repeat elements move nowhere.
  const auto smaller = [](const Loop &a, const Loop &b) {
    return (a.from == 0) != (b.from == 0) ? b.from == 0 : a.from < b.from;
  };
  return std::min_element(loops.begin(), loops.end(), smaller) - loops.begin();
}

double costOfCutting(std::span<const Loop> given, int64_t parts) {
  if (given.empty())
    return static_cast<double>(parts);
  std::array<Loop, LoopNest::kMaxLoops> items;
  std::copy(given.begin(), given.end(), items.begin());
  const auto loops = std::span<Loop>(items).first(given.size());
  auto cost = static_cast<double>(parts);
  while (parts > 1) { // follow the larger side of every cut
    Loop &loop = loopToCut(loops, parts);
    const int64_t left = parts / 2, right = parts - left;
    const int64_t cut = cutAt(loop.extent, left, parts);
    const bool isLeftLarger = cut * right >= (loop.extent - cut) * left;
    loop.extent = isLeftLarger ? cut : loop.extent - cut;
    parts = isLeftLarger ? left : right;
  }
  for (std::size_t d = 0; d < loops.size(); ++d) {
    const int64_t extent = loops[d].extent;
    cost *= static_cast<double>(extent) / static_cast<double>(given[d].extent);
    if (extent != given[d].extent)
      cost *= costOfPiece(given[d], extent);
  }
  return cost;
}

CopyOffset cutLoops(std::span<Loop> loops, int64_t parts, int64_t part) {
  CopyOffset begin;
  while (parts > 1) {
    Loop &loop = loopToCut(loops, parts);
    const int64_t left = parts / 2;
    const int64_t cut = cutAt(loop.extent, left, parts);
    if (part < left) {
      loop.extent = cut;
      parts = left;
    } else {
      begin.to += cut * loop.to;
      begin.from += cut * loop.from;
      loop.extent -= cut;
      parts -= left;
      part -= left;
    }
  }
  return begin;
}

} // namespace einsumc
