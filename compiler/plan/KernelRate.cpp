//===- KernelRate.cpp - how fast a tile's kernel computes -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/KernelRate.h"

#include <algorithm>
#include <cmath>

namespace einsumc {

namespace {

/// A place on an axis of the table: between `at` and `at + 1`, `share` of the way.
struct AxisPlace {
  std::size_t at = 0;
  double share = 0;
};

/// Linear in the logarithm; the ends hold beyond the axis.
AxisPlace placeOn(const std::vector<int64_t> &axis, double value) {
  std::size_t at = 0;
  while (at + 2 < axis.size() && value >= static_cast<double>(axis[at + 1]))
    ++at;
  if (at + 1 >= axis.size())
    return {0, 0};
  const auto low = static_cast<double>(axis[at]), high = static_cast<double>(axis[at + 1]);
  return {at, std::clamp(std::log(value / low) / std::log(high / low), 0.0, 1.0)};
}

} // namespace

TileSize tileSize(ElementType type, int64_t m, int64_t n, int64_t k) {
  // BlockKernel's: see its constants.
  constexpr int64_t kTileM = 64, kTileN = 48, kTileBytes = 20 << 10, kStepBytes = 128;
  const int64_t step = kStepBytes / sizeInBytes(type);
  const int64_t rows = std::clamp(kTileBytes / sizeInBytes(type) / k / step * step, step, kTileM);
  auto average = [](int64_t length, int64_t longest) {
    const int64_t parts = (length + longest - 1) / longest;
    return static_cast<double>(length) / static_cast<double>(parts);
  };
  return {average(m, rows), average(n, kTileN), static_cast<double>(k)};
}

double tileEfficiency(const Machine &machine, ElementType type, const TileSize &tile) {
  const auto elementBytes = static_cast<double>(sizeInBytes(type));
  const KernelEfficiency &known = machine.kernelEfficiency;
  const AxisPlace m = placeOn(known.mBytes, tile.m * elementBytes), k = placeOn(known.k, tile.k);
  auto along = [&](std::size_t row) {
    const std::vector<double> &line = known.table[row];
    const double next = k.at + 1 < line.size() ? line[k.at + 1] : line[k.at];
    return line[k.at] + k.share * (next - line[k.at]);
  };
  const double low = along(m.at);
  return m.at + 1 < known.table.size() ? low + m.share * (along(m.at + 1) - low) : low;
}

} // namespace einsumc
