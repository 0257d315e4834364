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

NodeCores gatherOnNode(const Communicator &comm, const RankCores &own) {
  const std::unique_ptr<Communicator> node = comm.splitByNode();
  NodeCores all{std::vector<RankCores>(static_cast<std::size_t>(node->size())),
                static_cast<std::size_t>(node->rank())};
  checkMpi(MPI_Allgather(&own, sizeof(own), MPI_BYTE, all.ranks.data(), sizeof(own), MPI_BYTE,
                         node->get()),
           "MPI_Allgather");
  return all;
}

std::vector<int> coresOfThreads(const NodeCores &node) {
  const RankCores &own = node.ranks[node.own];
  int threads = 0, before = 0;
  for (std::size_t rank = 0; rank < node.ranks.size(); ++rank) {
    const RankCores &other = node.ranks[rank];
    if (!intersect(other.cores, own.cores))
      continue;
    if (!CPU_EQUAL(&other.cores, &own.cores) || other.threads == 0)
      return {};
    before += rank < node.own ? other.threads : 0;
    threads += other.threads;
  }
  if (threads == 0 || threads != CPU_COUNT(&own.cores))
    return {};
  const std::vector<int> cores = coreNumbers(own.cores);
  return {cores.begin() + before, cores.begin() + before + own.threads};
}

std::vector<int> coresOfThreads(const Communicator &comm, int threads) {
  return coresOfThreads(gatherOnNode(comm, ownCores(threads)));
}

std::vector<int> coresOfThreads(int threads) {
  return coresOfThreads(NodeCores{{ownCores(threads)}, 0});
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
