//===- RandomLayout.h - layouts of every kind, by chance --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TEST_UNIT_RANDOMLAYOUT_H
#define EINSUMC_TEST_UNIT_RANDOMLAYOUT_H

#include "einsumc/Layout.h"

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace einsumc::test {

/// Makes layouts; the same ones from the same seed, whatever the standard library.
class RandomLayouts {
public:
  explicit RandomLayouts(uint64_t seed) : generator(seed) {}

  /// A number in [low, high].
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator() % static_cast<uint64_t>(high - low + 1));
  }

  /// Zero to three positions, mostly of few indices, so that blocks are uneven or empty.
  std::vector<int64_t> extents() {
    std::vector<int64_t> result(static_cast<std::size_t>(number(0, 3)));
    for (int64_t &extent : result)
      extent = number(0, 9) == 0 ? 0 : number(1, 7);
    return result;
  }

  /// A grid of zero to three axes that lies somewhere within `ranks` ranks.
  Grid grid(int64_t ranks) {
    Grid result;
    int64_t room = ranks;
    for (int64_t axes = number(0, 3); axes > 0; --axes) {
      result.extents.push_back(number(1, room));
      room /= result.extents.back();
    }
    result.firstRank = number(0, ranks - result.size());
    return result;
  }

  Layout layout(const std::vector<int64_t> &extents, int64_t ranks, bool mayBePartial) {
    return layout(extents, grid(ranks), mayBePartial);
  }

  Layout layout(const std::vector<int64_t> &extents, Grid grid, bool mayBePartial) {
    Layout result{extents, std::move(grid), {}};
    for (std::size_t axis = 0; axis < result.grid.extents.size(); ++axis)
      result.axes.push_back(placement(extents.size(), mayBePartial));
    return result;
  }

private:
  AxisPlacement placement(std::size_t positions, bool mayBePartial) {
    const int64_t kind = number(0, 9);
    if (kind == 0)
      return atRoot();
    if (kind <= 2)
      return copied();
    if (kind <= 4 && mayBePartial)
      return partial();
    if (positions == 0)
      return copied();
    return split(static_cast<int>(number(0, static_cast<int64_t>(positions) - 1)),
                 static_cast<int>(number(0, 1)));
  }

  std::mt19937_64 generator;
};

} // namespace einsumc::test

#endif // EINSUMC_TEST_UNIT_RANDOMLAYOUT_H
