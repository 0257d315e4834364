//===- NetworkRates.h - how fast messages are between ranks -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CALIBRATE_NETWORKRATES_H
#define EINSUMC_CALIBRATE_NETWORKRATES_H

#include "einsumc/Communicator.h"

#include <cstdint>
#include <optional>

namespace einsumc::measure {

/// A message of w bytes takes latency + w * secondsPerByte.
struct MessageRate {
  double latency = 0;
  double secondsPerByte = 0;
  double load = 0; ///< as messageLoad has it
};

struct NetworkRates {
  int64_t ranksPerNode = 1;                ///< of this rank's node
  std::optional<MessageRate> withinNode;   ///< nothing with one rank a node
  std::optional<MessageRate> betweenNodes; ///< nothing on one node
};

/// Measures rings in which every rank sends to the next and receives from the one before at the
/// same time, as stepping loops do: of the ranks of each node, and of ranks of different nodes. The
/// median of several rounds, each as slow as its slowest rank. Collective.
NetworkRates networkRates(const Communicator &world, bool quick);

} // namespace einsumc::measure

#endif // EINSUMC_CALIBRATE_NETWORKRATES_H
