//===- ExchangePlan.h - how a rank carries out a redistribution -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Pure arithmetic, as in Layout.h: the compiler predicts the memory for messages with it, and the
// runtime reserves it.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_EXCHANGEPLAN_H
#define EINSUMC_EXCHANGEPLAN_H

#include "einsumc/Layout.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace einsumc {

/// What one rank sends and receives when a tensor goes from one layout to another, and where the
/// messages lie meanwhile.
struct ExchangePlan {
  /// How a transfer is carried out. The partial sums of one box form a chain, by sender, and are
  /// added in this order whatever the order of their arrival: results are the same in every run.
  struct Step {
    bool inPlace = false;   ///< sent from or received into its place in the tensor
    std::size_t offset = 0; ///< else: its place in the memory for messages, in elements
    bool isFirst = true;    ///< of its chain: overwrites the box, where the others add
    int next = -1;          ///< incoming transfer that follows in the chain; -1: none
  };
  std::vector<Transfer> incoming; ///< by sender, the own part included
  std::vector<Transfer> outgoing; ///< by receiver, from the next rank on, without the own part
  std::vector<Step> receives;     ///< one an incoming transfer
  std::vector<Step> sends;        ///< one an outgoing transfer
  std::size_t stagedElements = 0; ///< of all messages that are not sent or received in place
};

/// \pre source.extents == target.extents, !target.hasPartial()
ExchangePlan planExchange(const Layout &source, const Layout &target, int64_t rank);

} // namespace einsumc

#endif // EINSUMC_EXCHANGEPLAN_H
