//===- MemoryModel.cpp - what reading, writing and copying tensors takes ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/MemoryModel.h"

#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <cmath>

namespace einsumc {

namespace {

/// How much of a footprint a level does not hold: 0 up to its size, 1 from twice its size on.
double shareBeyond(double footprint, const CacheLevel &level) {
  return std::clamp(std::log2(std::max(footprint, 1.0) / static_cast<double>(level.bytes)), 0.0,
                    1.0);
}

} // namespace

MemoryModel::MemoryModel(const Machine &machine, double elementBytes, double footprint)
    : elementBytes(elementBytes), bandwidth(machine.memoryBandwidth),
      scattered(machine.pack.scattered), inSquares(elementBytes / machine.pack.transposed.rate) {
  // From the last level inwards: a smaller footprint is read at the rates of nearer levels.
  for (auto level = machine.caches.rbegin(); level != machine.caches.rend(); ++level) {
    const double beyond = shareBeyond(footprint, *level);
    bandwidth = 1 / (beyond / bandwidth + (1 - beyond) / level->bandwidth);
  }
  if (const CacheLevel *const last = machine.lastFastCache())
    beyondCaches = shareBeyond(footprint, *last);
  const auto threads = static_cast<double>(machine.threads);
  cacheWaits = waitsForCaches(machine, footprint);
  contiguous = copyOf(machine.pack.contiguous, threads);
  transposed = copyOf(machine.pack.transposed, threads);
}

double MemoryModel::waitsForCaches(const Machine &machine, double footprint) const {
  constexpr std::ptrdiff_t kSecond = 1;
  constexpr double kShare = 0.25; // of the bandwidth of streams, but not less than memory's
  const CacheLevel *const last = machine.lastFastCache();
  if (!last || last - machine.caches.data() <= kSecond)
    return 0;
  const double inLast = shareBeyond(footprint, machine.caches[kSecond]) - beyondCaches;
  return std::max(inLast, 0.0) / std::max(kShare * last->bandwidth, machine.memoryBandwidth);
}

MemoryModel::Copy MemoryModel::copyOf(const CopyRate &rate, double threads) const {
  // Packing waits for memory: its time comes on top.
  return {elementBytes / rate.rate + beyondCaches * elementBytes / bandwidth,
          (rate.row + beyondCaches * rate.memoryRow) / threads};
}

double MemoryModel::pack(const CopyWork &copy) const {
  const Copy &kind = copy.isTransposed ? transposed : contiguous;
  const double row = std::max(copy.row, 1.0);
  double waits = copy.isPacked ? elementBytes * cacheWaits : 0;
  if (copy.readsLinesAgain)
    waits +=
        beyondCaches * (static_cast<double>(copies::kLineBytes) - elementBytes) / row / bandwidth;
  return copy.elements * (kind.element + waits + kind.row / row);
}

} // namespace einsumc
