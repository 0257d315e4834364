//===- Requests.cpp - non-blocking transfers that complete before their buffers die -----------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Communicator.h"

#include <algorithm>
#include <climits>
#include <exception>
#include <ranges>
#include <set>
#include <string>

namespace einsumc {

Requests::Requests(const Communicator &comm, std::size_t maxPiece)
    : comm(comm), maxPiece(std::clamp<std::size_t>(maxPiece, 1, INT_MAX)),
      exceptionsAtStart(std::uncaught_exceptions()) {}

Requests::~Requests() {
  // What an exception leaves behind may wait for ranks that have failed as well. Receives are
  // given up then: this rank must get to where it ends the others, and nobody reads the data.
  if (std::uncaught_exceptions() > exceptionsAtStart)
    for (std::size_t i = 0; i < requests.size(); ++i)
      if (requests[i] != MPI_REQUEST_NULL && !pieces[i].sending)
        MPI_Cancel(&requests[i]);
  for (MPI_Request &request : requests)
    complete(request);
}

void Requests::complete(MPI_Request &request) noexcept {
  if (request == MPI_REQUEST_NULL)
    return;
  waitPolitely(
      [&] {
        int done = 0;
        // A failed transfer is over too; there is nobody left to tell.
        return MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
      },
      [] { return std::string("a transfer that was given up has not ended"); });
}

void Requests::send(std::span<const std::byte> data, int peer, int tag) {
  // MPI only reads what it sends.
  start(const_cast<std::byte *>(data.data()), data.size(), peer, tag, true);
}

void Requests::receive(std::span<std::byte> data, int peer, int tag) {
  start(data.data(), data.size(), peer, tag, false);
}

void Requests::start(std::byte *data, std::size_t size, int peer, int tag, bool sending) {
  const std::size_t message = messages.size();
  messages.push_back({peer, 0, false});
  std::size_t offset = 0;
  do { // A message of no bytes is one piece.
    const int count = static_cast<int>(std::min(maxPiece, size - offset));
    std::byte *const first = data + offset;
    // The places come first: once started, a transfer must not be forgotten.
    pieces.push_back({message, count, sending});
    requests.push_back(MPI_REQUEST_NULL);
    if (sending)
      checkMpi(MPI_Isend(first, count, MPI_BYTE, peer, tag, comm.get(), &requests.back()),
               "MPI_Isend", peer);
    else
      checkMpi(MPI_Irecv(first, count, MPI_BYTE, peer, tag, comm.get(), &requests.back()),
               "MPI_Irecv", peer);
    ++messages[message].pending;
    offset += static_cast<std::size_t>(count);
  } while (offset < size);
}

void Requests::wait() {
  while (!std::ranges::all_of(requests, [](MPI_Request r) { return r == MPI_REQUEST_NULL; }))
    waitForSome();
  messages.clear();
  pieces.clear();
  requests.clear();
}

int Requests::waitAny() {
  int found = -1;
  bool anyLeft = false;
  auto search = [&] {
    anyLeft = false;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (messages[i].reported)
        continue;
      anyLeft = true;
      if (messages[i].pending == 0) {
        found = static_cast<int>(i);
        messages[i].reported = true;
        return true;
      }
    }
    return false;
  };
  while (!search() && anyLeft)
    waitForSome();
  return found;
}

void Requests::waitForSome() {
  waitPolitely([this] { return testSome(); }, [this] { return describe(); });
}

std::string Requests::describe() const {
  constexpr std::size_t kNamed = 8;
  std::set<int> senders, receivers;
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (requests[i] != MPI_REQUEST_NULL)
      (pieces[i].sending ? receivers : senders).insert(messages[pieces[i].message].peer);
  // Who sends nothing says more: what is sent may only wait for a rank that waits itself.
  const std::set<int> &peers = senders.empty() ? receivers : senders;
  std::string names;
  for (const int peer : peers | std::views::take(kNamed))
    names += (names.empty() ? " " : ", ") + std::to_string(peer);
  if (peers.size() > kNamed)
    names += " and " + std::to_string(peers.size() - kNamed) + " more";
  return (senders.empty() ? "no message taken by rank" : "no message from rank") +
         std::string(peers.size() == 1 ? "" : "s") + names;
}

bool Requests::testSome() {
  indices.resize(requests.size());
  statuses.resize(requests.size());
  int done = 0;
  const int code = MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &done,
                                indices.data(), statuses.data());
  if (done == MPI_UNDEFINED) // None was under way.
    done = 0;

  std::exception_ptr failure;
  for (int i = 0; i < done; ++i) {
    try {
      const auto index = static_cast<std::size_t>(indices[static_cast<std::size_t>(i)]);
      finish(index, code, statuses[static_cast<std::size_t>(i)]);
    } catch (const Error &) {
      if (!failure)
        failure = std::current_exception();
    }
  }
  if (failure)
    std::rethrow_exception(failure);
  checkMpi(code, "MPI_Testsome");
  return done > 0;
}

void Requests::finish(std::size_t index, int code, const MPI_Status &status) {
  const Piece &piece = pieces[index];
  Message &message = messages[piece.message];
  --message.pending;
  const char *const call = piece.sending ? "MPI_Isend" : "MPI_Irecv";
  // Only when the call failed are the statuses' error codes defined.
  if (code != MPI_SUCCESS)
    checkMpi(status.MPI_ERROR, call, message.peer);
  if (piece.sending)
    return;
  int received = 0;
  checkMpi(MPI_Get_count(&status, MPI_BYTE, &received), "MPI_Get_count", message.peer);
  if (received != piece.bytes)
    throw Error("MPI_Irecv (peer: rank " + std::to_string(message.peer) +
                ") failed: " + std::to_string(received) + " bytes came where " +
                std::to_string(piece.bytes) + " were expected");
}

} // namespace einsumc
