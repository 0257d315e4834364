//===- NetworkRates.cpp - how fast messages are between ranks ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "NetworkRates.h"

#include "Timing.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace einsumc::measure {

namespace {

struct MessageTime {
  double seconds = 0;
  double threadSeconds = 0; ///< in which the thread has not slept
};

/// The time of a message of so many bytes around the ring, the median of so many rounds.
MessageTime messageTime(const Communicator &ring, std::size_t bytes, int rounds) {
  std::vector<std::byte> sent(bytes), received(bytes);
  const int size = ring.size();
  const int next = (ring.rank() + 1) % size, before = (ring.rank() + size - 1) % size;
  constexpr std::size_t kLittle = std::size_t{1} << 16;
  const int messages = bytes < kLittle ? 20 : 1;
  std::vector<double> times, threadTimes;
  for (int round = 0; round < rounds; ++round) {
    barrier(ring);
    const double start = wallSeconds(), threadStart = threadSeconds();
    for (int i = 0; i < messages; ++i) {
      Requests requests(ring);
      requests.receive(received, before, 0);
      requests.send(sent, next, 0);
      requests.wait();
    }
    double seconds = (wallSeconds() - start) / messages;
    maxOverRanks(ring, std::span(&seconds, 1));
    times.push_back(seconds);
    double ofThread = (threadSeconds() - threadStart) / messages;
    maxOverRanks(ring, std::span(&ofThread, 1));
    threadTimes.push_back(ofThread);
  }
  return {median(std::move(times)), median(std::move(threadTimes))};
}

/// The line through a short and a long message.
MessageRate measureRing(const Communicator &ring, bool quick) {
  constexpr std::size_t kShort = 8;
  const std::size_t kLong = quick ? std::size_t{1} << 20 : std::size_t{16} << 20;
  const int rounds = quick ? 5 : 25;
  messageTime(ring, kLong, 1); // connects
  const double little = messageTime(ring, kShort, rounds).seconds;
  const auto [much, ofThread] = messageTime(ring, kLong, rounds);
  // Where other programs have made the short one longer than that, all of the long one is its
  // bytes.
  return {little, (much > little ? much - little : much) / static_cast<double>(kLong - kShort),
          ofThread / static_cast<double>(kLong)};
}

} // namespace

NetworkRates networkRates(const Communicator &world, bool quick) {
  const std::unique_ptr<Communicator> node = world.splitByNode();
  // The ranks that are the first, second, ... of their nodes.
  const std::unique_ptr<Communicator> across = world.split(node->rank(), world.rank());

  NetworkRates rates;
  rates.ranksPerNode = node->size();
  if (node->size() > 1)
    rates.withinNode = measureRing(*node, quick);
  barrier(world);
  if (across->size() > 1)
    rates.betweenNodes = measureRing(*across, quick);
  barrier(world);
  return rates;
}

} // namespace einsumc::measure
