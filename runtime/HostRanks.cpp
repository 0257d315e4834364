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

std::unique_ptr<Communicator> splitAlong(const Communicator &comm, const Grid &grid,
                                         std::size_t axis, int64_t rank, bool takesPart) {
  int color = MPI_UNDEFINED, key = 0;
  if (takesPart) {
    std::vector<int64_t> place = grid.coordinates(rank);
    key = static_cast<int>(std::exchange(place[axis], 0));
    color = static_cast<int>(grid.rankAt(place));
  }
  return comm.split(color, key);
}

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
  const int64_t stride = grid.stride(axis);
  const int64_t first = rank - grid.coordinates(rank)[axis] * stride;
  for (int64_t c = 0; c < grid.extents[axis]; ++c)
    if (!placeOf(first + c * stride))
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
    found->second = splitAlong(*host, grid, axis, ownRank, isLineHere(grid, axis, ownRank));
  return found->second.get();
}

} // namespace einsumc
