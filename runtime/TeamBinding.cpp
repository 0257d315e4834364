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

namespace {

/// Of this process; nullptr: none.
const std::vector<cpu_set_t> *coresBefore = nullptr;

RankCores ownCores(int threads) {
  const char *binding = std::getenv("OMP_PROC_BIND");
  const bool isSaid = omp_get_proc_bind() != omp_proc_bind_false ||
                      (binding != nullptr && *binding != '\0') || omp_get_dynamic() != 0;
  return {coresOfRank(), isSaid ? 0 : threads};
}

} // namespace

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

std::vector<int> coresOfThreads(int threads) {
  const RankCores own = ownCores(threads);
  return coresOfThreads({&own, 1}, 0);
}

TeamBinding::TeamBinding(std::span<const int> cores) : before(cores.size()) {
  if (cores.empty())
    return;
#pragma omp parallel num_threads(static_cast<int>(cores.size()))
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    sched_getaffinity(0, sizeof(cpu_set_t), &before[thread]);
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(static_cast<std::size_t>(cores[thread]), &core);
    sched_setaffinity(0, sizeof(core), &core); // Where that is not allowed, threads stay free.
  }
  coresBefore = &before;
}

TeamBinding::~TeamBinding() {
  if (before.empty())
    return;
  coresBefore = nullptr;
#pragma omp parallel num_threads(static_cast<int>(before.size()))
  sched_setaffinity(0, sizeof(cpu_set_t), &before[static_cast<std::size_t>(omp_get_thread_num())]);
}

void TeamBinding::leave() {
  if (coresBefore != nullptr)
    sched_setaffinity(0, sizeof(cpu_set_t), &coresBefore->front());
}

} // namespace einsumc
