//===- CoreSet.cpp - the cores that a rank may use --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "CoreSet.h"

#include <omp.h>

#include <cstddef>

namespace einsumc {

cpu_set_t coresOfRank() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (omp_get_proc_bind() == omp_proc_bind_false || omp_get_num_places() == 0) {
    if (sched_getaffinity(0, sizeof(cores), &cores) != 0)
      CPU_ZERO(&cores);
    return cores;
  }
  // OpenMP has bound this thread to its own place: what it may use says nothing of the team.
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    for (const int id : ids)
      CPU_SET(static_cast<std::size_t>(id), &cores);
  }
  return cores;
}

bool intersect(const cpu_set_t &a, const cpu_set_t &b) {
  cpu_set_t common;
  CPU_AND(&common, &a, &b);
  return CPU_COUNT(&common) > 0;
}

std::vector<int> coreNumbers(const cpu_set_t &cores) {
  std::vector<int> numbers;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<std::size_t>(core), &cores))
      numbers.push_back(core);
  return numbers;
}

} // namespace einsumc
