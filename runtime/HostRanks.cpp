//===- HostRanks.cpp - the ranks of one host --------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "HostRanks.h"

#include <algorithm>
#include <span>
#include <utility>

namespace einsumc {

HostRanks::HostRanks(const Communicator &world) : HostRanks(world.rank(), world.splitByNode()) {}

HostRanks::HostRanks(int64_t ownRank, std::unique_ptr<Communicator> of)
    : ownRank(ownRank), host(std::move(of)), ranks(static_cast<std::size_t>(host->size()), 0) {
  ranks[static_cast<std::size_t>(host->rank())] = ownRank;
  sumOverRanks(*host, std::span(ranks));
}

std::optional<std::size_t> HostRanks::placeOf(int64_t rank) const {
  const auto found = std::ranges::lower_bound(ranks, rank);
  if (found == ranks.end() || *found != rank)
    return std::nullopt;
  return static_cast<std::size_t>(found - ranks.begin());
}

bool HostRanks::isLineHere(const Grid &grid, std::size_t axis, int64_t rank) const {
  if (!grid.contains(rank))
    return false;
  const int64_t first = rank - grid.coordinates(rank)[axis] * grid.stride(axis);
  for (int64_t c = 0; c < grid.extents[axis]; ++c)
    if (!placeOf(first + c * grid.stride(axis)))
      return false;
  return true;
}

bool HostRanks::hasLine(const Grid &grid, std::size_t axis) const {
  return std::ranges::any_of(ranks, [&](int64_t rank) { return isLineHere(grid, axis, rank); });
}

const Communicator *HostRanks::line(const Grid &grid, std::size_t axis) {
  std::vector<int64_t> key = grid.extents;
  key.push_back(grid.firstRank);
  key.push_back(static_cast<int64_t>(axis));
  const auto [found, isNew] = lines.try_emplace(std::move(key), nullptr);
  if (isNew)
    found->second = makeLine(grid, axis);
  return found->second.get();
}

std::unique_ptr<Communicator> HostRanks::makeLine(const Grid &grid, std::size_t axis) const {
  int color = MPI_UNDEFINED, key = 0;
  if (isLineHere(grid, axis, ownRank)) {
    const int64_t coordinate = grid.coordinates(ownRank)[axis];
    color = static_cast<int>(ownRank - coordinate * grid.stride(axis));
    key = static_cast<int>(coordinate);
  }
  return host->split(color, key);
}

} // namespace einsumc
