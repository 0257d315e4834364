//===- KernelRate.cpp - how fast a tile's kernel computes -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/KernelRate.h"

#include "compiler/plan/WorkDims.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>
#include <cmath>

namespace einsumc {

namespace {

/// A place on an axis of the table: between `at` and `at + 1`, `share` of the way.
struct AxisPlace {
  std::size_t at = 0;
  double share = 0;
};

AxisPlace placeOn(const std::vector<int64_t> &axis, double value) {
  std::size_t at = 0;
  while (at + 2 < axis.size() && value >= static_cast<double>(axis[at + 1]))
    ++at;
  if (at + 1 >= axis.size())
    return {};
  const auto low = static_cast<double>(axis[at]), high = static_cast<double>(axis[at + 1]);
  return {at, std::clamp((value - low) / (high - low), 0.0, 1.0)};
}

} // namespace

TileSize tileSize(const Machine &machine, ElementType type, int64_t m, int64_t n, int64_t k,
                  bool inPanels) {
  const int64_t step = tiles::kPanelVectors * machine.vectorBytes / sizeInBytes(type);
  const int64_t rows = inPanels ? step
                                : std::clamp(tiles::kBytes / sizeInBytes(type) / k / step * step,
                                             step, std::max(step, tiles::kMostM));
  auto average = [](int64_t length, int64_t longest) {
    const int64_t parts = ceilDiv(length, longest);
    return static_cast<double>(length) / static_cast<double>(parts);
  };
  return {average(m, rows), average(n, tiles::kMostN), static_cast<double>(k)};
}

double tileEfficiency(const Machine &machine, ElementType type, const TileSize &tile) {
  const KernelEfficiency &known = machine.kernelEfficiency;
  const double mBytes = tile.m * static_cast<double>(sizeInBytes(type));
  const AxisPlace m = placeOn(known.mBytes, mBytes), k = placeOn(known.k, tile.k);
  // Between two sizes a tile takes a time between theirs; beyond the largest it is as efficient,
  // and below the smallest it takes as long.
  const auto time = [&](std::size_t row, std::size_t column) {
    return static_cast<double>(known.mBytes[row]) * static_cast<double>(known.k[column]) /
           known.table[row][column];
  };
  const auto between = [](double low, double high, double share) {
    return low + share * (high - low);
  };
  const std::size_t nextM = std::min(m.at + 1, known.mBytes.size() - 1);
  const std::size_t nextK = std::min(k.at + 1, known.k.size() - 1);
  const double seconds = between(between(time(m.at, k.at), time(m.at, nextK), k.share),
                                 between(time(nextM, k.at), time(nextM, nextK), k.share), m.share);
  return std::min(mBytes, static_cast<double>(known.mBytes.back())) *
         std::min(tile.k, static_cast<double>(known.k.back())) / seconds;
}

double occupancy(const Machine &machine, ElementType type, const TileSize &tile) {
  constexpr double kEnough = 8;  // The latency of a multiply-add times how many begin at once.
  constexpr double kFewSums = 8; // Take no longer than a call.
  const double lanes = static_cast<double>(machine.vectorBytes / sizeInBytes(type));
  return tile.k < kFewSums ? 1 : std::min(std::ceil(tile.m / lanes) * tile.n / kEnough, 1.0);
}

} // namespace einsumc
