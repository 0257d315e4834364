//===- KernelRates.cpp - how fast the runtime's kernels compute -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "KernelRates.h"

#include "einsumc/BlockKernel.h"
#include "einsumc/BlockTiles.h"
#include "einsumc/TileKernel.h"

#include <algorithm>

namespace einsumc::measure {

namespace {

constexpr int64_t kTileN = tiles::kMostN;

} // namespace

double tileFlops(int64_t m, int64_t k, const Effort &effort) {
  // As many tiles as blocks of the size that the compiler chooses have.
  constexpr int64_t kLeft = 32 << 10, kRight = 48 << 10; // elements
  const int64_t tilesM = std::clamp<int64_t>(kLeft / (m * k), 1, 16);
  const int64_t tilesN = std::clamp<int64_t>(kRight / (kTileN * k), 1, 8);
  TileShape shape;
  shape.m = m, shape.n = kTileN, shape.k = k;
  shape.aM = 1, shape.aK = m; // in panels, as packed
  shape.bK = 1, shape.bN = k;
  shape.cM = 1,
  shape.cN = tilesM * m + 16; // Columns of C must not compete for the same cache lines.
  shape.accumulate = true;
  const TileKernel<float> kernel(shape);
  const double seconds = teamSecondsOf(
      [&] {
        return [&, a = Array<float>(tilesM * m * k), b = Array<float>(tilesN * kTileN * k),
                c = Array<float>(shape.cN * tilesN * kTileN)] {
          for (int64_t j = 0; j < tilesN; ++j)
            for (int64_t i = 0; i < tilesM; ++i)
              kernel(a.get() + i * m * k, b.get() + j * kTileN * k,
                     c.get() + i * m + j * kTileN * shape.cN);
        };
      },
      effort);
  return 2.0 * static_cast<double>(tilesM * m * tilesN * kTileN * k) * omp_get_max_threads() /
         seconds;
}

double callSeconds(const Effort &effort) {
  constexpr int64_t kLanes = 8;
  TileShape shape;
  shape.m = kLanes;
  shape.aM = shape.aK = shape.bK = shape.bN = shape.cM = shape.cN = 1;
  const TileKernel<float> kernel(shape);
  return teamSecondsOf(
      [&] {
        return [&, a = Array<float>(kLanes), b = Array<float>(1), c = Array<float>(kLanes)] {
          kernel(a.get(), b.get(), c.get());
        };
      },
      effort);
}

double scatterRate(const Effort &effort) {
  constexpr int64_t kM = 64;
  const auto seconds = [&](int64_t toCAlongM, int64_t toCAlongN) {
    const BlockKernel<float> kernel(
        {{.count = kM, .extent = kM, .inA = 1, .inC = toCAlongM}},
        {{.count = kTileN, .extent = kTileN, .inB = 1, .inC = toCAlongN}}, {{.inA = kM, .inB = 1}},
        {.aK = kM, .bN = 1});
    return teamSecondsOf(
        [&] {
          return
              [&, a = Array<float>(kM), b = Array<float>(kTileN), c = Array<float>(kM * kTileN)] {
                kernel(a.get(), b.get(), c.get(), nullptr, {kM}, {kTileN}, {1}, false);
              };
        },
        effort);
  };
  const double scattered = seconds(kTileN, 1), direct = seconds(1, kM);
  return kM * kTileN * sizeof(float) * omp_get_max_threads() /
         std::max(scattered - direct, 0.1 * scattered);
}

} // namespace einsumc::measure
