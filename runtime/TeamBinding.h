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

/// What all ranks of a node have, in their order.
struct NodeCores {
  std::vector<RankCores> ranks;
  std::size_t own = 0; ///< this rank's place among them
};

/// That of this rank's node. Collective.
NodeCores gatherOnNode(const Communicator &comm, const RankCores &own);

/// The cores of a rank's threads, one each: if the ranks that may use any of its cores may all use
/// the same ones and have as many threads as these are. Else none: where threads wait for cores, or
/// there is a choice, the system knows better who else wants one.
std::vector<int> coresOfThreads(const NodeCores &node);

/// The same for this rank and its team; none, too, if the environment says how OpenMP binds
/// threads, or lets it choose how many there are. Collective.
std::vector<int> coresOfThreads(const Communicator &comm, int threads);

/// The same for a process that is alone on its host.
std::vector<int> coresOfThreads(int threads);

/// For as long as it lives, binds the threads of the creating thread's team, of which there are as
/// many as cores; no cores: binds nothing. Left to itself, the system starts two of them on one
/// core now and then, where they take turns of milliseconds until it has noticed. There is one at a
/// time, and meanwhile no smaller team.
class TeamBinding {
public:
  explicit TeamBinding(std::span<const int> cores);
  ~TeamBinding();
  TeamBinding(const TeamBinding &) = delete;
  TeamBinding &operator=(const TeamBinding &) = delete;

  /// Lets the calling thread, which is not of the team, use all cores that the binding thread could
  /// before: threads are created with their creator's.
  static void leave();

private:
  std::vector<cpu_set_t> before; ///< by thread
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_TEAMBINDING_H
