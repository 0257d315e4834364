//===- NetworkRates.cpp - how fast messages are between ranks ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "NetworkRates.h"

#include "Timing.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace einsumc::measure {

namespace {

/// A communicator that MPI_Comm_split makes, as one of ours.
class Part {
public:
  explicit Part(MPI_Comm split) : raw(split), owned(raw) {}
  ~Part() { MPI_Comm_free(&raw); }
  Part(const Part &) = delete;
  Part &operator=(const Part &) = delete;

  const Communicator &get() const { return owned; }

private:
  MPI_Comm raw;
  Communicator owned;
};

/// Seconds of a message of so many bytes around the ring.
double messageSeconds(const Communicator &ring, std::size_t bytes, int rounds) {
  std::vector<std::byte> sent(bytes), received(bytes);
  const int size = ring.size();
  const int next = (ring.rank() + 1) % size, before = (ring.rank() + size - 1) % size;
  constexpr std::size_t kLittle = std::size_t{1} << 16;
  const int messages = bytes < kLittle ? 20 : 1;
  double best = std::numeric_limits<double>::max();
  for (int round = 0; round < rounds; ++round) {
    barrier(ring);
    const double start = wallSeconds();
    for (int i = 0; i < messages; ++i) {
      Requests requests(ring);
      requests.receive(received, before, 0);
      requests.send(sent, next, 0);
      requests.wait();
    }
    double seconds = (wallSeconds() - start) / messages;
    maxOverRanks(ring, std::span(&seconds, 1));
    best = std::min(best, seconds);
  }
  return best;
}

/// The line through a short and a long message.
MessageRate measureRing(const Communicator &ring, bool quick) {
  constexpr std::size_t kShort = 8;
  const std::size_t kLong = quick ? std::size_t{1} << 20 : std::size_t{16} << 20;
  const int rounds = quick ? 5 : 25;
  messageSeconds(ring, kLong, 1); // connects
  const double little = messageSeconds(ring, kShort, rounds);
  const double much = messageSeconds(ring, kLong, rounds);
  return {little, std::max(much - little, 0.0) / static_cast<double>(kLong - kShort)};
}

} // namespace

NetworkRates networkRates(const Communicator &world, bool quick) {
  MPI_Comm split = MPI_COMM_NULL;
  checkMpi(
      MPI_Comm_split_type(world.get(), MPI_COMM_TYPE_SHARED, world.rank(), MPI_INFO_NULL, &split),
      "MPI_Comm_split_type");
  const Part node(split);
  // The ranks that are the first, second, ... of their nodes.
  checkMpi(MPI_Comm_split(world.get(), node.get().rank(), world.rank(), &split), "MPI_Comm_split");
  const Part across(split);

  NetworkRates rates;
  rates.ranksPerNode = node.get().size();
  if (node.get().size() > 1)
    rates.withinNode = measureRing(node.get(), quick);
  barrier(world);
  if (across.get().size() > 1)
    rates.betweenNodes = measureRing(across.get(), quick);
  barrier(world);
  return rates;
}

} // namespace einsumc::measure
