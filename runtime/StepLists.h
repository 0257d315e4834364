//===- StepLists.h - steps and transfers as they are worked out -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_STEPLISTS_H
#define EINSUMC_RUNTIME_STEPLISTS_H

#include "StepTransfer.h"

#include "einsumc/Exchange.h"
#include "einsumc/SteppingLoop.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace einsumc {

constexpr std::size_t kResult = 2; ///< the role of C

/// What one rank does in a run of a stepping loop.
template <class T> struct StepLists {
  std::vector<Step<T>> steps;
  std::vector<StepTransfer> transfers;
  /// Transfers that start in this order.
  std::vector<std::vector<std::size_t>> lanes;
  /// What this rank counts as sent.
  Traffic sent;

  BlockView<T> &viewOf(std::size_t role, std::size_t step) {
    Step<T> &of = steps[step];
    return role == 0 ? of.a : role == 1 ? of.b : of.c;
  }

  std::size_t newLane() {
    lanes.emplace_back();
    return lanes.size() - 1;
  }

  /// The index of the transfer, from now on.
  std::size_t add(StepTransfer transfer, std::size_t lane) {
    const std::size_t index = transfers.size();
    transfers.push_back(std::move(transfer));
    lanes[lane].push_back(index);
    return index;
  }

  void count(const Box &box, bool isInPlace = false) {
    const int64_t bytes = volume(box) * static_cast<int64_t>(sizeof(T));
    sent += {bytes, 1, isInPlace ? bytes : 0};
  }
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_STEPLISTS_H
