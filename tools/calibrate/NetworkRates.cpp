//===- NetworkRates.cpp - how fast messages are between ranks ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "NetworkRates.h"

#include "MessageLoad.h"
#include "Timing.h"

#include "einsumc/CheckMpi.h"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace einsumc::measure {

namespace {

/// Lets messages go on for a while.
void progress(const Communicator &comm, double seconds) {
  const double end = wallSeconds() + seconds;
  while (wallSeconds() < end) {
    int isThere = 0;
    checkMpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm.get(), &isThere, MPI_STATUS_IGNORE),
             "MPI_Iprobe");
  }
}

/// Seconds of a message of so many bytes around the ring, the median of so many rounds.
/// \param delay of every second rank, in seconds
double messageSeconds(const Communicator &ring, std::size_t bytes, int messages, int rounds,
                      double delay) {
  std::vector<std::byte> sent(bytes), received(bytes);
  const int size = ring.size();
  const int next = (ring.rank() + 1) % size, before = (ring.rank() + size - 1) % size;
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    barrier(ring);
    const double start = wallSeconds();
    for (int i = 0; i < messages; ++i) {
      Requests requests(ring);
      requests.receive(received, before, 0);
      if (ring.rank() % 2 == 1)
        progress(ring, delay);
      requests.send(sent, next, 0);
      requests.wait();
    }
    double seconds = (wallSeconds() - start) / messages;
    maxOverRanks(ring, std::span(&seconds, 1));
    times.push_back(seconds);
  }
  return median(std::move(times));
}

/// The line through a short and a long message.
MessageRate measureRing(const Communicator &ring, bool quick) {
  constexpr std::size_t kShort = 8;
  const std::size_t longBytes = quick ? std::size_t{1} << 20 : std::size_t{16} << 20;
  const int rounds = quick ? 5 : 25, roundsOfLoad = quick ? 5 : 9;
  messageSeconds(ring, longBytes, 1, 1, 0); // connects
  const double little = messageSeconds(ring, kShort, 20, rounds, 0);
  // Not at the same moment, as in programs: a network may do better for two ranks that exchange
  // messages when both begin at once (both directions of a connection are used).
  const double much = messageSeconds(ring, longBytes, 1, rounds, 10 * little);
  // Where other programs have made the short one longer than that, all of the long one is its
  // bytes.
  return {little, (much > little ? much - little : much) / static_cast<double>(longBytes - kShort),
          messageLoad(ring, longBytes, roundsOfLoad)};
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
