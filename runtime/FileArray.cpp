//===- FileArray.cpp - a row-major array inside a file ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "FileArray.h"

#include "BoxPieces.h"

#include <algorithm>

namespace einsumc {

std::size_t FileArray::dataBytes() const {
  std::size_t bytes = elementBytes;
  for (const int64_t extent : extents)
    bytes *= static_cast<std::size_t>(extent);
  return bytes;
}

int64_t FileArray::contiguousRun(const Box &box) const {
  int64_t run = 1;
  for (std::size_t p = box.size(); p-- > 0;) {
    run *= box[p].size();
    if (box[p].size() != extents[p])
      break;
  }
  return run;
}

std::vector<Box> FileArray::pieces(const Box &box, std::size_t pieceBytes) const {
  constexpr int64_t kMaxRuns = 1 << 20;
  const int64_t fitting = std::max<int64_t>(1, static_cast<int64_t>(pieceBytes / elementBytes));
  return piecesOf(box, std::min(fitting, kMaxRuns * contiguousRun(box)));
}

} // namespace einsumc
