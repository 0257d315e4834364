//===- LocalShape.cpp - what is constant about a rank's blocks --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/codegen/LocalShape.h"

#include <functional>

namespace einsumc {

namespace {

/// Whether a property holds for the boxes of all ranks that hold a block.
bool allRanks(const Layout &layout, const std::function<bool(int64_t, const Box &)> &property) {
  for (int64_t rank = layout.grid.firstRank; rank < layout.grid.firstRank + layout.grid.size();
       ++rank)
    if (layout.holds(rank) && !property(rank, layout.box(rank)))
      return false;
  return true;
}

} // namespace

std::vector<std::optional<int64_t>> constantExtents(const Layout &layout) {
  // The first rank of a grid has the largest block, and holds one whatever the axes are.
  const Box first = layout.box(layout.grid.firstRank);
  std::vector<std::optional<int64_t>> result;
  for (const Interval &interval : first)
    result.emplace_back(interval.size());
  allRanks(layout, [&](int64_t, const Box &box) {
    for (std::size_t p = 0; p < box.size(); ++p)
      if (result[p] && box[p].size() != *result[p])
        result[p] = std::nullopt;
    return true;
  });
  return result;
}

std::vector<std::optional<int64_t>> constantStrides(const Layout &layout) {
  const std::vector<std::optional<int64_t>> extents = constantExtents(layout);
  std::vector<std::optional<int64_t>> result(extents.size());
  std::optional<int64_t> stride = 1;
  for (std::size_t p = extents.size(); p-- > 0;) {
    result[p] = stride;
    stride = stride && extents[p] ? std::optional(*stride * *extents[p]) : std::nullopt;
  }
  return result;
}

bool isAligned(const Layout &stored, std::size_t storedPosition, const Layout &work,
               std::size_t workPosition) {
  return allRanks(work, [&](int64_t rank, const Box &box) {
    return stored.holds(rank) && stored.box(rank)[storedPosition] == box[workPosition];
  });
}

bool mayBeEmpty(const Layout &layout, std::size_t position) {
  return !allRanks(layout, [&](int64_t, const Box &box) { return !box[position].empty(); });
}

} // namespace einsumc
