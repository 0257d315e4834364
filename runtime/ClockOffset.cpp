//===- ClockOffset.cpp - how far the ranks' clocks are apart ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "ClockOffset.h"

#include <algorithm>
#include <limits>
#include <span>

namespace einsumc {
namespace {

constexpr int kTag = 2;
/// The first round wakes a rank that may have slept; of the others one or two are undisturbed.
constexpr int kRounds = 20;

void sendNumber(const Communicator &comm, int64_t number, int peer) {
  Requests requests(comm);
  requests.send(std::as_bytes(std::span(&number, 1)), peer, kTag);
  requests.wait();
}

int64_t receiveNumber(const Communicator &comm, int peer) {
  int64_t number = 0;
  Requests requests(comm);
  requests.receive(std::as_writable_bytes(std::span(&number, 1)), peer, kTag);
  requests.wait();
  return number;
}

/// Rank 0's side: how far the peer's clock is ahead.
int64_t askForOffset(const Communicator &comm, const std::function<int64_t()> &clock, int peer) {
  int64_t least = std::numeric_limits<int64_t>::min();
  int64_t most = std::numeric_limits<int64_t>::max();
  for (int round = 0; round < kRounds; ++round) {
    const int64_t asked = clock();
    sendNumber(comm, 0, peer);
    const int64_t answer = receiveNumber(comm, peer);
    const int64_t answered = clock();
    least = std::max(least, answer - answered);
    most = std::min(most, answer - asked);
  }
  return least <= 0 && most >= 0 ? 0 : least + (most - least) / 2;
}

} // namespace

int64_t clockOffset(const Communicator &comm, const std::function<int64_t()> &clock) {
  if (comm.rank() == 0) {
    for (int peer = 1; peer < comm.size(); ++peer)
      sendNumber(comm, askForOffset(comm, clock, peer), peer);
    return 0;
  }
  for (int round = 0; round < kRounds; ++round) {
    receiveNumber(comm, 0);
    sendNumber(comm, clock(), 0);
  }
  return receiveNumber(comm, 0);
}

} // namespace einsumc
