//===- DefaultThreads.h - how many threads a rank uses unless told ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_DEFAULTTHREADS_H
#define EINSUMC_RUNTIME_DEFAULTTHREADS_H

#include "einsumc/Communicator.h"

namespace einsumc {

/// OMP_NUM_THREADS if it is set, else this rank's share of the cores it may use: a launcher may
/// have given each rank cores of its own, or all ranks of a node the same ones. At least 1.
/// Collective.
int defaultThreads(const Communicator &comm);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_DEFAULTTHREADS_H
