//===- BlockLimits.cpp - how large blocks should be on a machine ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/BlockChoice.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>

namespace einsumc {

BlockLimits::BlockLimits(const Machine &machine, int64_t elementBytes) {
  // The second level belongs to a core: half of it leaves room for tiles of R and C.
  constexpr int64_t kUsual = 512 << 10;
  const int64_t cache =
      machine.caches.size() < 2 ? kUsual : machine.caches[1].bytes / machine.threads;
  leftBytes = std::clamp(cache / 2, kUsual / 8, 2 * kUsual);
  // What does not fit the second level comes from the last one, unless that is as slow as memory.
  const bool hasFastLast =
      machine.caches.size() < 3 || machine.lastFastCache() == &machine.caches.back();
  streamedLeftBytes = hasFastLast ? std::max(5 * cache / 2, leftBytes) : leftBytes;
  isRightFar = !hasFastLast;
  // The last level is shared.
  const int64_t shared = machine.caches.empty() ? 0 : machine.caches.back().bytes / machine.threads;
  rightBytes = std::clamp(shared / 2, 4 * leftBytes, 8 * leftBytes);
  // There, sums and R take twice as much as R alone.
  leftBytesOfSums =
      hasFastLast && shared >= streamedLeftBytes + 2 * rightBytes ? streamedLeftBytes : leftBytes;
  wholeRightBytes = hasFastLast && machine.caches.size() >= 3 ? shared / 2 : 0;
  threads = machine.threads;
  panelRows = tiles::kPanelVectors * machine.vectorBytes / elementBytes;
  constexpr int64_t kBytesOfMany = 64; // Such vectors come with registers for many sums.
  hasFewRegisters = machine.vectorBytes < kBytesOfMany;
}

void BlockLimits::divide(int64_t parts) {
  for (int64_t *bytes :
       {&leftBytes, &streamedLeftBytes, &rightBytes, &leftBytesOfSums, &wholeRightBytes})
    *bytes /= parts;
}

double BlockLimits::fullness(int64_t rows) const {
  return toDouble(rows) / toDouble(roundUp(rows, lanes()));
}

} // namespace einsumc
