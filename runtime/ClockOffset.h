//===- ClockOffset.h - how far the ranks' clocks are apart ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_CLOCKOFFSET_H
#define EINSUMC_RUNTIME_CLOCKOFFSET_H

#include "einsumc/Communicator.h"

#include <cstdint>
#include <functional>

namespace einsumc {

/// What this rank's clock shows when rank 0's shows 0. Rank 0 exchanges some messages with each of
/// the others: the answer was written after the question was sent and before it came back, so that
/// each round bounds the difference of the clocks (F. Cristian, "Probabilistic clock
/// synchronization", 1989). Returned is the middle of what all rounds allow, off by at most half of
/// the fastest round trip; but 0 where that is allowed: then both are the same clock, that of one
/// host. Collective.
/// \param clock of this rank: never goes back, in any unit
int64_t clockOffset(const Communicator &comm, const std::function<int64_t()> &clock);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_CLOCKOFFSET_H
