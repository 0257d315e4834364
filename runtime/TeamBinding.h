//===- TeamBinding.h - a core for each thread -------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_TEAMBINDING_H
#define EINSUMC_RUNTIME_TEAMBINDING_H

#include "einsumc/Communicator.h"

#include <sched.h>

#include <cstddef>
#include <span>
#include <vector>

namespace einsumc {

/// What one rank of a node has.
struct RankCores {
  cpu_set_t cores{}; ///< that its team may use
  int threads = 0;   ///< that want a core each; 0: they are placed by others
};

/// Those of this rank for its team, which others place if OMP_PROC_BIND or the like says so.
RankCores ownCores(int threads);

/// What all ranks of this node have, in their order; \p rank: this one's place among them.
/// Collective.
std::vector<RankCores> gatherOnNode(const Communicator &comm, const RankCores &own,
                                    std::size_t &rank);

/// The cores of a rank's threads, one each: if the ranks that may use any of its cores may all use
/// the same ones and have as many threads as these are. Else none: where threads wait for cores, or
/// there is a choice, the system knows better who else wants one.
std::vector<int> coresOfThreads(std::span<const RankCores> ranks, std::size_t rank);

/// The same for this rank and its team. Collective.
std::vector<int> coresOfThreads(const Communicator &comm, int threads);

/// Binds the threads of the calling thread's team, of as many as there are cores; no cores: does
/// nothing. Left to itself, the system starts two of them on one core now and then, where they take
/// turns of milliseconds until it has noticed. Threads that are not of the team and are created
/// later have to call runOnAnyCore.
void bindTeam(std::span<const int> cores);

/// Lets the calling thread use all cores of the rank.
void runOnAnyCore();

} // namespace einsumc

#endif // EINSUMC_RUNTIME_TEAMBINDING_H
