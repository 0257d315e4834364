//===- CopyRates.cpp - how fast tensors are packed into blocks --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "CopyRates.h"

#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <array>

namespace einsumc::measure {

double packSeconds(int64_t row, bool isTransposed, int64_t tensorBytes, const Effort &effort) {
  constexpr int64_t kBlock = 32 << 10; // elements
  const int64_t blocks = std::max<int64_t>(tensorBytes / (kBlock * int64_t{sizeof(float)}), 1);
  const int64_t rows = kBlock / row;
  // Elements between the rows of a block: an odd number of cache lines, as rows that are multiples
  // of a page apart would compete for few places of the caches, which those of most tensors do not.
  constexpr int64_t kCacheLine = copies::kLineBytes / int64_t{sizeof(float)};
  const int64_t between = ((row * blocks + kCacheLine - 1) / kCacheLine | 1) * kCacheLine;
  // Nor do columns of a transposed block, as in packed blocks.
  const int64_t column = rows + 16;
  const double seconds = teamSecondsOf(
      [&] {
        return [=, tensor = Array<float>(rows * between), block = Array<float>(row * column),
                next = int64_t{0}]() mutable {
          const float *const source = tensor.get() + next * row;
          next = (next + 1) % blocks;
          if (isTransposed)
            copyStrided<float>(block.get(), source, {{rows, 1, between}, {row, column, 1}});
          else
            copyStrided<float>(block.get(), source, {{row, 1, 1}, {rows, row, between}});
        };
      },
      effort);
  return seconds / static_cast<double>(rows * row);
}

CopyFit fitCopies(bool isTransposed, int64_t cacheBytes, int64_t memoryBytes,
                  double memoryBandwidth, const Effort &effort) {
  constexpr int64_t kShort = 8, kMiddle = 32, kLong = 128;
  const auto threads = static_cast<double>(omp_get_max_threads());
  CopyFit fit;
  const double few = packSeconds(kShort, isTransposed, cacheBytes, effort);
  const double many = packSeconds(kLong, isTransposed, cacheBytes, effort);
  fit.row = std::max(few - many, 0.1 * few) / (1.0 / kShort - 1.0 / kLong);
  const double element = std::max(many - fit.row / kLong, 0.1 * many);
  fit.rate = threads * sizeof(float) / element;

  std::array<double, 3> extra = {};
  std::size_t at = 0;
  for (const int64_t row : {kShort, kMiddle, kLong}) {
    const double fromMemory = packSeconds(row, isTransposed, memoryBytes, effort);
    const double known = element + threads * sizeof(float) / memoryBandwidth;
    extra[at++] = (fromMemory - known) * static_cast<double>(row) - fit.row;
  }
  std::sort(extra.begin(), extra.end()); // The median row.
  fit.memoryRow = std::max(extra[1], 0.1 * fit.row);
  return fit;
}

} // namespace einsumc::measure
