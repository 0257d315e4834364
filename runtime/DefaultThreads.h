//===- DefaultThreads.h - how many threads a rank uses unless told ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_DEFAULTTHREADS_H
#define EINSUMC_RUNTIME_DEFAULTTHREADS_H

#include "einsumc/Communicator.h"

namespace einsumc {

/// Where the thread runs that moves tensors while others compute.
enum class CommunicationCore : uint8_t {
  Auto,     ///< Reserved where a rank has many cores, more of them on one host, else Shared
  Shared,   ///< on those of the compute threads, of which there are as many as cores
  Reserved, ///< there is a compute thread less than cores
};

/// OMP_NUM_THREADS if it is set, else this rank's share of the cores it may use: a launcher may
/// have given each rank cores of its own, or all ranks of a node the same ones; of several, one
/// less where one is reserved for communication. At least 1. Collective.
int defaultThreads(const Communicator &comm, CommunicationCore core = CommunicationCore::Shared);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_DEFAULTTHREADS_H
