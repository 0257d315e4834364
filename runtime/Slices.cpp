//===- Slices.cpp - a tree evaluated part by part ---------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Slices.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace einsumc {

namespace {

std::size_t outermostSum(const std::vector<SliceRole> &roles) {
  return static_cast<std::size_t>(std::find(roles.begin(), roles.end(), SliceRole::Adds) -
                                  roles.begin());
}

} // namespace

int64_t countSlices(const std::vector<int64_t> &parts) {
  return std::accumulate(parts.begin(), parts.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> sliceIndex(const std::vector<int64_t> &parts, int64_t slice) {
  std::vector<int64_t> index(parts.size());
  for (std::size_t d = parts.size(); d-- > 0; slice /= parts[d])
    index[d] = slice % parts[d];
  return index;
}

int64_t countSumBlocks(const std::vector<int64_t> &parts, const std::vector<SliceRole> &roles) {
  const std::size_t outermost = outermostSum(roles);
  if (outermost == roles.size())
    return 0;
  int64_t blocks = 1;
  for (std::size_t d = outermost; d < roles.size(); ++d)
    if (roles[d] == SliceRole::Fills)
      blocks *= parts[d];
  return blocks;
}

SliceStep sliceStep(const std::vector<int64_t> &parts, const std::vector<SliceRole> &roles,
                    const std::vector<int64_t> &index) {
  SliceStep step{true, true, true, 0};
  const std::size_t outermost = outermostSum(roles);
  for (std::size_t d = 0; d < roles.size(); ++d)
    switch (roles[d]) {
    case SliceRole::Same:
      step.counts = step.counts && index[d] == 0;
      break;
    case SliceRole::Adds:
      step.begins = step.begins && index[d] == 0;
      step.completes = step.completes && index[d] + 1 == parts[d];
      break;
    case SliceRole::Fills:
      if (d > outermost)
        step.block = step.block * parts[d] + index[d];
      break;
    }
  return step;
}

} // namespace einsumc
