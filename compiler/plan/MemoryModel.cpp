//===- MemoryModel.cpp - what reading, writing and copying tensors takes ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/MemoryModel.h"

#include <algorithm>
#include <cmath>

namespace einsumc {

namespace {

constexpr double kLineBytes = 64;

/// How much of a footprint a level does not hold: 0 up to its size, 1 from twice its size on.
double shareBeyond(double footprint, double bytes) {
  return std::clamp(std::log2(std::max(footprint, 1.0) / bytes), 0.0, 1.0);
}

} // namespace

MemoryModel::MemoryModel(const Machine &machine, double elementBytes, double footprint)
    : rates(machine.pack), elementBytes(elementBytes), bandwidth(machine.memoryBandwidth) {
  // From the last level inwards: a smaller footprint is read at the rates of nearer levels.
  double beyondAll = 1;
  for (auto level = machine.caches.rbegin(); level != machine.caches.rend(); ++level) {
    const double beyond = shareBeyond(footprint, static_cast<double>(level->bytes));
    bandwidth = 1 / (beyond / bandwidth + (1 - beyond) / level->bandwidth);
    beyondAll = std::min(beyondAll, beyond);
  }
  const auto threads = static_cast<double>(machine.threads);
  if (!machine.caches.empty())
    beyondAll = shareBeyond(footprint, static_cast<double>(machine.caches.back().bytes));
  rowSeconds = (rates.row + beyondAll * rates.memoryRow) / threads;
}

double MemoryModel::pack(const CopyWork &copy) const {
  const double row = std::max(copy.row, 1.0);
  const double line = kLineBytes / elementBytes;
  // A row reads whole lines.
  const double read = copy.elements * std::max(1.0, line / row);
  const double rate = copy.isTransposed ? rates.transposed : rates.contiguous;
  return std::max(copy.elements * elementBytes / rate, stream(read)) + rows(copy.elements / row);
}

} // namespace einsumc
