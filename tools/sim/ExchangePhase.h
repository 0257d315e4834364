//===- ExchangePhase.h - an exchange of messages as one phase ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SIM_EXCHANGEPHASE_H
#define EINSUMC_SIM_EXCHANGEPHASE_H

#include "compiler/ir/Machine.h"
#include "compiler/plan/Network.h"

#include "einsumc/Layout.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace einsumc::sim {

/// The messages that bring a tensor from one layout to another. Of more than 2^20 only those to the
/// ranks of some nodes are looked at, and stand for the others.
class ExchangePhase {
public:
  ExchangePhase(const Layout &from, const Layout &to, double elementBytes, const Machine &machine,
                const Network &network);

  /// Lets every rank that sends or receives begin when those do that it exchanges with, and take
  /// alpha a message it sends or receives, whichever are more, and the bytes' time: on the busiest
  /// link, and within its node.
  void play(std::vector<double> &clocks, std::vector<double> &transferSeconds) const;
  const std::vector<double> &linkBytes() const { return loads; }

private:
  struct Part {                                ///< of one rank
    double sent = 0, received = 0;             ///< messages
    double sentWithin = 0, receivedWithin = 0; ///< bytes
    bool isBetween = false;                    ///< some message leaves its node
  };

  bool chooseReceivers(const Layout &from, const Layout &to);
  void add(const Transfer &transfer, double bytes, LinkLoads &traffic);
  double seconds(int64_t rank) const;
  void playTogether(std::vector<double> &clocks, std::vector<double> &transferSeconds) const;

  const Machine &machine;
  const Network &network;
  std::vector<int64_t> receivers;
  double scale = 1;        ///< all receivers over those looked at
  std::vector<Part> parts; ///< by rank, from `firstRank` on
  int64_t firstRank = 0;
  std::vector<std::pair<int64_t, int64_t>> pairs; ///< sender and receiver
  std::vector<double> loads;                      ///< by link, bytes
  double busiestBetween = 0;                      ///< bytes of the busiest link that is no card
};

} // namespace einsumc::sim

#endif // EINSUMC_SIM_EXCHANGEPHASE_H
