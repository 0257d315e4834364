//===- RankPlace.h - where the ranks run ------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_RANKPLACE_H
#define EINSUMC_RUNTIME_RANKPLACE_H

#include "einsumc/Communicator.h"

#include <omp.h>
#include <sched.h>

#include <array>
#include <string>
#include <vector>

namespace einsumc {

/// Where one rank runs and how its team is bound. Plain bytes, as ranks send them to each other.
struct RankPlace {
  std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
  cpu_set_t cores{}; ///< that its team may use; none: unknown
  int threads = 1;
  bool hasCoreForEach = false; ///< every thread is bound to a core by the program (TeamBinding)
  omp_proc_bind_t binding = omp_proc_bind_false;
  int places = 0;     ///< of OpenMP, to which the threads are bound
  int placeCores = 0; ///< of every place; 0 when they differ
};

/// The places of all ranks, on rank 0; nothing on the others. Collective.
std::vector<RankPlace> gatherPlaces(const Communicator &comm, int threads);

/// A line for all ranks that have the same cores (on whatever host) and the same binding, and
/// warnings where teams have more threads than cores: `  ranks 0-6:2 on node[1-4]: cores 0-7, ...`.
std::string describePlaces(const std::vector<RankPlace> &places);

/// Ascending numbers as `0-3,8`; from three at equal distances as `0-6:2`.
std::string formatRanges(const std::vector<int> &numbers);

/// Names as `node[01-16], login`: those next to each other whose numbers follow one another.
std::string formatHosts(const std::vector<std::string> &hosts);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_RANKPLACE_H
