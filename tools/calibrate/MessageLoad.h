//===- MessageLoad.h - what messages take from threads that compute ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CALIBRATE_MESSAGELOAD_H
#define EINSUMC_CALIBRATE_MESSAGELOAD_H

#include "einsumc/Communicator.h"

#include <cstddef>

namespace einsumc::measure {

/// Seconds of computing threads that a byte takes which a rank sends and one that it receives,
/// while its communication thread moves messages of so many bytes around a ring: by how much less
/// the OpenMP team computes meanwhile, summed over its threads. What the operating system does for
/// the messages counts; a core that is left to them makes it 0. The median of the rounds, of the
/// rank that loses most. Collective.
double messageLoad(const Communicator &ring, std::size_t bytes, int rounds);

} // namespace einsumc::measure

#endif // EINSUMC_CALIBRATE_MESSAGELOAD_H
