//===- HostRanks.h - the ranks of one host ----------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_HOSTRANKS_H
#define EINSUMC_RUNTIME_HOSTRANKS_H

#include "einsumc/Communicator.h"
#include "einsumc/Layout.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace einsumc {

/// Of a communicator's ranks those along an axis of a grid through a rank of the world, by their
/// coordinates; nothing for one that takes no part. Collective over \p comm.
std::unique_ptr<Communicator> splitAlong(const Communicator &comm, const Grid &grid,
                                         std::size_t axis, int64_t rank, bool takesPart);

/// The ranks of this rank's host.
class HostRanks {
public:
  /// Those that MPI says are. Collective over \p world.
  explicit HostRanks(const Communicator &world);
  /// \param host ranks of the world, in its order, that can share memory; collective over them
  HostRanks(int64_t ownRank, std::unique_ptr<Communicator> host);

  const Communicator &comm() const { return *host; }
  /// Where a rank of the world is among them; nothing if it is on another host.
  std::optional<std::size_t> placeOf(int64_t rank) const;

  /// Whether all ranks along an axis are here for one of those that are.
  bool hasLine(const Grid &grid, std::size_t axis) const;
  /// The ranks along an axis through this rank, by their coordinates, if all of them are on this
  /// host; else, or if this rank is not on the grid, nullptr. Collective over the host's ranks;
  /// made once for all nodes that have such lines.
  const Communicator *line(const Grid &grid, std::size_t axis);

private:
  bool isLineHere(const Grid &grid, std::size_t axis, int64_t rank) const;

  int64_t ownRank;
  std::unique_ptr<Communicator> host;
  std::vector<int64_t> ranks;                                          ///< of the world, ascending
  std::map<std::vector<int64_t>, std::unique_ptr<Communicator>> lines; ///< by axis and grid
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_HOSTRANKS_H
