//===- Communicator.cpp - MPI, owned and checked ----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Communicator.h"

#include "LongWaits.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace einsumc {

void checkMpi(int code, const char *call, int peer) {
  if (code == MPI_SUCCESS)
    return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS)
    length = 0;
  std::string message = call;
  if (peer >= 0)
    message += " (peer: rank " + std::to_string(peer) + ")";
  message += " failed: ";
  message += length > 0 ? std::string(text.data(), static_cast<std::size_t>(length))
                        : "error code " + std::to_string(code);
  std::ranges::replace(message, '\n', ' '); // MPICH's stacks of errors have several lines.
  throw Error(message);
}

namespace {

bool isFinalized() {
  int flag = 0;
  return MPI_Finalized(&flag) == MPI_SUCCESS && flag != 0;
}

void requireSerialized(int provided) {
  if (provided < MPI_THREAD_SERIALIZED)
    throw Error("MPI was initialised with a thread level below MPI_THREAD_SERIALIZED, "
                "which einsumc needs");
}

/// Calls \p piece(offset, count) for consecutive pieces of so many elements that an int counts
/// them, also when their bytes are what MPI counts inside.
template <class Piece> void inPieces(std::size_t size, Piece &&piece) {
  constexpr std::size_t kMaxPiece = std::size_t{1} << 27;
  for (std::size_t offset = 0; offset < size; offset += kMaxPiece)
    piece(offset, static_cast<int>(std::min(kMaxPiece, size - offset)));
}

void waitFor(MPI_Request request, const char *call) {
  waitPolitely(
      [&] {
        int done = 0;
        checkMpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
        return done != 0;
      },
      [&] { return std::string(call) + " has waited for the other ranks"; });
}

/// Waits politely until all ranks are here.
void meet(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  checkMpi(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
  waitFor(request, "MPI_Ibarrier");
}

template <class T>
void reduceOverRanks(const Communicator &comm, std::span<T> values, MPI_Datatype type,
                     MPI_Op operation) {
  inPieces(values.size(), [&](std::size_t offset, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    checkMpi(MPI_Iallreduce(MPI_IN_PLACE, values.data() + offset, count, type, operation,
                            comm.get(), &request),
             "MPI_Iallreduce");
    waitFor(request, "MPI_Iallreduce");
  });
}

void broadcastBytes(const Communicator &comm, std::span<std::byte> data, int root) {
  inPieces(data.size(), [&](std::size_t offset, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    checkMpi(MPI_Ibcast(data.data() + offset, count, MPI_BYTE, root, comm.get(), &request),
             "MPI_Ibcast", root);
    waitFor(request, "MPI_Ibcast");
  });
}

/// What an action throws, as text; nothing when it returns.
std::optional<std::string> failureOf(const std::function<void()> &action) {
  try {
    action();
    return std::nullopt;
  } catch (const std::exception &error) {
    return error.what();
  } catch (...) {
    return "unknown exception";
  }
}

} // namespace

Environment::Environment(int *argc, char ***argv) {
  int initialized = 0;
  checkMpi(MPI_Initialized(&initialized), "MPI_Initialized");
  int provided = MPI_THREAD_SINGLE;
  if (initialized != 0) {
    checkMpi(MPI_Query_thread(&provided), "MPI_Query_thread");
    requireSerialized(provided);
    return;
  }
  checkMpi(MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_SERIALIZED)
    MPI_Finalize(); // What matters is the error thrown next.
  requireSerialized(provided);
  owns = true;
  // MPICH raises what fails in MPI_Test and its like on these, not on the request's communicator.
  for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
    checkMpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

namespace {

/// Ends the process unless it is destroyed before that.
class Watchdog {
public:
  Watchdog(int status, std::chrono::milliseconds patience)
      : thread([this, status, patience] {
          std::unique_lock lock(mutex);
          if (over.wait_for(lock, patience, [this] { return isOver; }))
            return;
          std::cout << std::flush;
          std::fflush(nullptr);
          std::_Exit(status);
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex);
      isOver = true;
    }
    over.notify_one();
    thread.join();
  }
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

private:
  std::mutex mutex;
  std::condition_variable over;
  bool isOver = false;
  std::thread thread; // The last member: it uses the others.
};

/// Waits for all ranks. What fails shows in MPI_Finalize.
void meetAll() noexcept {
  try {
    meet(MPI_COMM_WORLD);
  } catch (...) {
  }
}

/// Whether the ranks are on several hosts.
bool spansHosts() noexcept {
  try {
    const Communicator world(MPI_COMM_WORLD);
    return world.splitByNode()->size() < world.size();
  } catch (...) {
    return true;
  }
}

/// How much later than the first the last rank may leave a barrier, with many ranks on a core.
constexpr std::chrono::milliseconds kLeavingBarrier(100);

} // namespace

// MPI_Finalize of MPICH before 4.2 over UCX asks each peer for an answer on its connection, and
// once it has all, waits for the others without answering any more (pmodels/mpich pull 6596). A
// rank still in the barrier would answer before it asks, and then ask in vain. So all leave the
// barrier first and nobody answers for a while: where all ask before they answer, on connections
// that keep the order, nobody is left.
Environment::~Environment() {
  if (!owns || isFinalized())
    return;
  std::optional<Watchdog> watchdog;
  if (status) {
    meetAll();
    watchdog.emplace(*status, patience);
    const bool isApart = spansHosts();
    MPI_Barrier(MPI_COMM_WORLD); // Not polite, but short: all are there.
    if (isApart)
      std::this_thread::sleep_for(kLeavingBarrier);
  }
  MPI_Finalize();
}

Communicator::Communicator(MPI_Comm parent) {
  checkMpi(MPI_Comm_dup(parent, &comm), "MPI_Comm_dup");
  prepare();
}

void Communicator::prepare() {
  checkMpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  checkMpi(MPI_Comm_rank(comm, &rankValue), "MPI_Comm_rank");
  checkMpi(MPI_Comm_size(comm, &sizeValue), "MPI_Comm_size");
}

Communicator::~Communicator() {
  if (comm != MPI_COMM_NULL && !isFinalized())
    MPI_Comm_free(&comm);
}

std::unique_ptr<Communicator> Communicator::own(MPI_Comm made) {
  if (made == MPI_COMM_NULL)
    return nullptr;
  std::unique_ptr<Communicator> result(new Communicator);
  result->comm = made;
  result->prepare();
  return result;
}

std::unique_ptr<Communicator> Communicator::split(int color, int key) const {
  barrier(*this); // Late ranks are waited for politely.
  MPI_Comm part = MPI_COMM_NULL;
  checkMpi(MPI_Comm_split(comm, color, key, &part), "MPI_Comm_split");
  return own(part);
}

std::unique_ptr<Communicator> Communicator::splitByNode() const {
  barrier(*this);
  MPI_Comm node = MPI_COMM_NULL;
  checkMpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rankValue, MPI_INFO_NULL, &node),
           "MPI_Comm_split_type");
  return own(node);
}

void waitPolitely(const std::function<bool()> &ready,
                  const std::function<std::string()> &describe) {
  constexpr int kYields = 100;
  constexpr int kLooks = 8; // With each, a network takes and gives what its buffers hold.
  constexpr std::chrono::microseconds kFirstSleep(5);
  constexpr std::chrono::microseconds kLongestSleep(200);

  for (int i = 0; i < kYields; ++i) {
    if (ready())
      return;
    sched_yield();
  }
  WaitClock clock;
  for (auto sleep = kFirstSleep;; sleep = std::min(2 * sleep, kLongestSleep)) {
    for (int look = 0; look < kLooks; ++look)
      if (ready())
        return;
    std::this_thread::sleep_for(sleep);
    clock.look(describe);
  }
}

void collectively(const Communicator &comm, const std::function<void()> &action) {
  const std::optional<std::string> failure = failureOf(action);

  // The lowest failing rank has the largest distance from the end; 0: none failed.
  int64_t distance = failure ? comm.size() - comm.rank() : 0;
  maxOverRanks(comm, std::span(&distance, 1));
  if (distance == 0)
    return;

  const int lowest = comm.size() - static_cast<int>(distance);
  const std::string text = broadcast(comm, failure.value_or(""), lowest);
  int64_t differs = failure == text ? 0 : 1;
  maxOverRanks(comm, std::span(&differs, 1));
  throw CollectiveError(differs == 0 ? text : "rank " + std::to_string(lowest) + ": " + text);
}

void barrier(const Communicator &comm) { meet(comm.get()); }

std::string broadcast(const Communicator &comm, std::string text, int root) {
  uint64_t size = text.size();
  broadcastBytes(comm, std::as_writable_bytes(std::span(&size, 1)), root);
  text.resize(size);
  broadcastBytes(comm, std::as_writable_bytes(std::span(text)), root);
  return text;
}

void sumOverRanks(const Communicator &comm, std::span<double> values) {
  reduceOverRanks(comm, values, MPI_DOUBLE, MPI_SUM);
}

void sumOverRanks(const Communicator &comm, std::span<int64_t> values) {
  reduceOverRanks(comm, values, MPI_INT64_T, MPI_SUM);
}

void maxOverRanks(const Communicator &comm, std::span<double> values) {
  reduceOverRanks(comm, values, MPI_DOUBLE, MPI_MAX);
}

void maxOverRanks(const Communicator &comm, std::span<int64_t> values) {
  reduceOverRanks(comm, values, MPI_INT64_T, MPI_MAX);
}

} // namespace einsumc
