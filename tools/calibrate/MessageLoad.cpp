//===- MessageLoad.cpp - what messages take from threads that compute -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "MessageLoad.h"

#include "../../runtime/CommunicationThread.h"
#include "Timing.h"

#include "einsumc/CheckMpi.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <span>
#include <utility>
#include <vector>

namespace einsumc::measure {

namespace {

/// Messages to the next rank and from the one before, one after the other.
class RingMessages final : public CommunicationJob {
public:
  /// \pre no more bytes than one MPI message may have
  RingMessages(const Communicator &ring, std::size_t bytes, int count)
      : ring(ring), sent(bytes), received(bytes), left(count) {}

  State advance() noexcept override {
    try {
      return moveOn();
    } catch (...) {
      failure = std::current_exception();
      isDone.store(true);
      return State::Done;
    }
  }

  bool isOver() const { return isDone.load(); }

  /// \pre it is over
  void check() const {
    if (failure)
      std::rethrow_exception(failure);
  }

private:
  State moveOn() {
    int areOver = 1;
    checkMpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &areOver,
                         MPI_STATUSES_IGNORE),
             "MPI_Testall");
    if (areOver == 0)
      return State::Waiting;
    if (left-- == 0) {
      isDone.store(true);
      return State::Done; // The object may be gone.
    }
    const int size = ring.size(), count = static_cast<int>(sent.size());
    const int next = (ring.rank() + 1) % size, before = (ring.rank() + size - 1) % size;
    checkMpi(MPI_Irecv(received.data(), count, MPI_BYTE, before, 0, ring.get(), &requests[0]),
             "MPI_Irecv", before);
    checkMpi(MPI_Isend(sent.data(), count, MPI_BYTE, next, 0, ring.get(), &requests[1]),
             "MPI_Isend", next);
    return State::Moved;
  }

  const Communicator &ring;
  std::vector<std::byte> sent, received;
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int left;
  std::exception_ptr failure;
  std::atomic<bool> isDone = false;
};

/// A few microseconds in registers.
double compute(double value) {
  constexpr int kSteps = 2000;
  for (int i = 0; i < kSteps; ++i)
    value = value * 0.999 + 1.0;
  return value;
}

struct Progress {
  double units = 0; ///< that the team has computed
  double seconds = 0;
  double rate() const { return units / seconds; }
};

/// What the team computes until a condition holds.
template <class Condition> Progress computeUntil(Condition &&isOver) {
  double units = 0, sink = 0;
  const double start = wallSeconds();
#pragma omp parallel reduction(+ : units, sink)
  while (!isOver()) {
    sink = compute(sink);
    units += 1;
  }
  asm volatile("" : : "x"(sink));
  return {units, wallSeconds() - start};
}

} // namespace

double messageLoad(const Communicator &ring, std::size_t bytes, int rounds) {
  constexpr int kMessages = 4;
  CommunicationThread thread;
  std::vector<double> loads;
  for (int round = 0; round < rounds; ++round) {
    RingMessages messages(ring, bytes, kMessages);
    barrier(ring);
    thread.start(messages);
    const Progress loaded = computeUntil([&] { return messages.isOver(); });
    messages.check();
    barrier(ring); // No message is under way.
    const double end = wallSeconds() + loaded.seconds;
    const Progress alone = computeUntil([&] { return wallSeconds() > end; });
    const double lost = std::max(1 - loaded.rate() / alone.rate(), 0.0) * loaded.seconds;
    loads.push_back(lost * omp_get_max_threads() / static_cast<double>(kMessages * bytes));
  }
  double load = median(std::move(loads));
  maxOverRanks(ring, std::span(&load, 1));
  return load;
}

} // namespace einsumc::measure
