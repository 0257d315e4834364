//===- DefaultThreads.cpp - how many threads a rank uses unless told --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "DefaultThreads.h"

#include "CoreSet.h"
#include "TeamBinding.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

namespace einsumc {
namespace {

/// From so many cores on a rank's communication thread has one to itself. What it takes of a core
/// it would take of the whole team: a hundredth over shared memory, a sixth over TCP.
constexpr int kManyCores = 16, kManyOnOneHost = 100;

} // namespace

int defaultThreads(const Communicator &comm, CommunicationCore core) {
  const cpu_set_t own = coresOfRank();
  const std::vector<RankCores> all = gatherOnNode(comm, {.cores = own}).ranks;
  const char *variable = std::getenv("OMP_NUM_THREADS");
  if (variable != nullptr && *variable != '\0')
    return omp_get_max_threads();
  const auto sharing = std::ranges::count_if(
      all, [&](const RankCores &other) { return intersect(other.cores, own); });
  const int cores = CPU_COUNT(&own) == 0
                        ? static_cast<int>(std::thread::hardware_concurrency() / all.size())
                        : CPU_COUNT(&own) / static_cast<int>(sharing);
  const bool isOneHost = all.size() == static_cast<std::size_t>(comm.size());
  const bool isReserved =
      core == CommunicationCore::Reserved ||
      (core == CommunicationCore::Auto && cores >= (isOneHost ? kManyOnOneHost : kManyCores));
  return std::max(1, isReserved ? cores - 1 : cores);
}

} // namespace einsumc
