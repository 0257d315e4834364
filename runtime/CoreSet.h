//===- CoreSet.h - the cores that a rank may use ----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_CORESET_H
#define EINSUMC_RUNTIME_CORESET_H

#include <sched.h>

#include <vector>

namespace einsumc {

/// The cores (hardware threads, as the system numbers them) that this rank's team may use; none
/// when the system does not say (more cores than fit).
cpu_set_t coresOfRank();

bool intersect(const cpu_set_t &a, const cpu_set_t &b);

/// The numbers of the cores, ascending.
std::vector<int> coreNumbers(const cpu_set_t &cores);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_CORESET_H
