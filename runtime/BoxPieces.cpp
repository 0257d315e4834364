//===- BoxPieces.cpp - large boxes in bounded pieces ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "BoxPieces.h"

#include <algorithm>

namespace einsumc {
namespace {

void cut(const Box &box, std::size_t position, int64_t maxVolume, std::vector<Box> &pieces) {
  const int64_t size = volume(box);
  if (size <= maxVolume) {
    pieces.push_back(box);
    return;
  }
  // All earlier positions have one index by now: a slab of this one is contiguous.
  const Interval whole = box[position];
  const int64_t step = std::max<int64_t>(1, maxVolume / (size / whole.size()));
  Box slab = box;
  for (int64_t begin = whole.begin; begin < whole.end; begin += step) {
    slab[position] = {begin, std::min(whole.end, begin + step)};
    cut(slab, position + 1, maxVolume, pieces);
  }
}

} // namespace

std::vector<Box> piecesOf(const Box &box, int64_t maxVolume) {
  std::vector<Box> pieces;
  if (volume(box) > 0)
    cut(box, 0, maxVolume, pieces);
  return pieces;
}

} // namespace einsumc
