//===- TeamBinding.cpp - a core for each thread -----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "TeamBinding.h"

#include "CoreSet.h"

#include <omp.h>

#include <cstdlib>
#include <memory>
#include <type_traits>

namespace einsumc {

static_assert(std::is_trivially_copyable_v<RankCores>);

RankCores ownCores(int threads) {
  const bool isSaid =
      omp_get_proc_bind() != omp_proc_bind_false || std::getenv("OMP_PROC_BIND") != nullptr;
  return {coresOfRank(), isSaid ? 0 : threads};
}

std::vector<RankCores> gatherOnNode(const Communicator &comm, const RankCores &own,
                                    std::size_t &rank) {
  const std::unique_ptr<Communicator> node = comm.splitByNode();
  rank = static_cast<std::size_t>(node->rank());
  std::vector<RankCores> all(static_cast<std::size_t>(node->size()));
  checkMpi(
      MPI_Allgather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE, node->get()),
      "MPI_Allgather");
  return all;
}

std::vector<int> coresOfThreads(std::span<const RankCores> ranks, std::size_t rank) {
  const RankCores &own = ranks[rank];
  int threads = 0, before = 0;
  for (std::size_t other = 0; other < ranks.size(); ++other) {
    if (!intersect(ranks[other].cores, own.cores))
      continue;
    if (!CPU_EQUAL(&ranks[other].cores, &own.cores) || ranks[other].threads == 0)
      return {};
    before += other < rank ? ranks[other].threads : 0;
    threads += ranks[other].threads;
  }
  if (threads == 0 || threads != CPU_COUNT(&own.cores))
    return {};
  const std::vector<int> cores = coreNumbers(own.cores);
  return {cores.begin() + before, cores.begin() + before + own.threads};
}

std::vector<int> coresOfThreads(const Communicator &comm, int threads) {
  std::size_t rank = 0;
  const std::vector<RankCores> ranks = gatherOnNode(comm, ownCores(threads), rank);
  return coresOfThreads(ranks, rank);
}

void bindTeam(std::span<const int> cores) {
  if (cores.empty())
    return;
#pragma omp parallel num_threads(static_cast<int>(cores.size()))
  {
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(static_cast<std::size_t>(cores[static_cast<std::size_t>(omp_get_thread_num())]), &core);
    sched_setaffinity(0, sizeof(core), &core); // Where that is not allowed, threads stay free.
  }
}

void runOnAnyCore() {
  const cpu_set_t &cores = coresOfRank();
  sched_setaffinity(0, sizeof(cores), &cores);
}

} // namespace einsumc
