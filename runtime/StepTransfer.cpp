//===- StepTransfer.cpp - one non-blocking operation of a stepping loop -----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "StepTransfer.h"

#include "BoxView.h"

#include <algorithm>
#include <chrono>
#include <type_traits>

namespace einsumc {

namespace {

template <class T> MPI_Datatype elementType() {
  return std::is_same_v<T, float> ? MPI_FLOAT : MPI_DOUBLE;
}

} // namespace

template <class T>
void copyBox(const Box &box, T *to, const Box &toBlock, const T *from, const Box &fromBlock) {
  const BoxView toView(box, toBlock), fromView(box, fromBlock);
  copyStrided<T>(to + toView.offset, from + fromView.offset,
                 std::span<const CopyLoop>(copyLoops(box, toView, fromView)));
}

template void copyBox(const Box &, float *, const Box &, const float *, const Box &);
template void copyBox(const Box &, double *, const Box &, const double *, const Box &);

template <class T> void TransferRun<T>::start(const StepTransfer &transfer) {
  using Kind = StepTransfer::Kind;
  started = Trace::now();
  requests.clear();
  const bool packs =
      transfer.home != nullptr &&
      (transfer.kind == Kind::Send || (transfer.kind == Kind::Bcast && transfer.isRoot));
  if (packs)
    copyBox<T>(transfer.box, reinterpret_cast<T *>(transfer.data), transfer.box,
               reinterpret_cast<const T *>(transfer.home), transfer.homeBlock);
  switch (transfer.kind) {
  case Kind::Receive:
  case Kind::Send:
    return startMessage(transfer);
  case Kind::Bcast:
  case Kind::Reduce:
    return startCollective(transfer);
  case Kind::Fetch:
  case Kind::Add:
    return startOneSided(transfer);
  case Kind::Barrier:
    if (transfer.window != nullptr) // What this rank has stored there is seen by others after it.
      transfer.window->sync();
    requests.push_back(MPI_REQUEST_NULL);
    checkMpi(MPI_Ibarrier(transfer.group->get(), &requests.back()), "MPI_Ibarrier");
    return;
  case Kind::Flush:
    checkMpi(MPI_Win_flush_all(transfer.window->get()), "MPI_Win_flush_all");
    return;
  }
}

template <class T> void TransferRun<T>::startMessage(const StepTransfer &transfer) {
  const std::size_t size = transfer.bytes(sizeof(T));
  std::size_t offset = 0;
  do { // A message without content says that something has happened.
    const int count = static_cast<int>(std::min(maxPiece, size - offset));
    requests.push_back(MPI_REQUEST_NULL);
    if (transfer.kind == StepTransfer::Kind::Send)
      checkMpi(MPI_Isend(transfer.data + offset, count, MPI_BYTE, transfer.peer, transfer.tag,
                         comm.get(), &requests.back()),
               "MPI_Isend", transfer.peer);
    else
      checkMpi(MPI_Irecv(transfer.data + offset, count, MPI_BYTE, transfer.peer, transfer.tag,
                         comm.get(), &requests.back()),
               "MPI_Irecv", transfer.peer);
    offset += maxPiece;
  } while (offset < size);
}

template <class T> void TransferRun<T>::startCollective(const StepTransfer &transfer) {
  const std::size_t size = transfer.bytes(sizeof(T));
  const std::size_t piece = std::max(maxPiece / sizeof(T), std::size_t{1}) * sizeof(T);
  MPI_Comm group = transfer.group->get();
  for (std::size_t offset = 0; offset < size; offset += piece) {
    const int count = static_cast<int>(std::min(piece, size - offset) / sizeof(T));
    std::byte *const data = transfer.data + offset;
    requests.push_back(MPI_REQUEST_NULL);
    if (transfer.kind == StepTransfer::Kind::Bcast)
      checkMpi(MPI_Ibcast(data, count, elementType<T>(), transfer.peer, group, &requests.back()),
               "MPI_Ibcast");
    else
      checkMpi(MPI_Ireduce(transfer.isRoot ? MPI_IN_PLACE : data, transfer.isRoot ? data : nullptr,
                           count, elementType<T>(), MPI_SUM, transfer.peer, group,
                           &requests.back()),
               "MPI_Ireduce");
  }
}

template <class T> void TransferRun<T>::startOneSided(const StepTransfer &transfer) {
  const std::size_t size = transfer.bytes(sizeof(T));
  const std::size_t piece = std::max(maxPiece / sizeof(T), std::size_t{1}) * sizeof(T);
  MPI_Win window = transfer.window->get();
  for (std::size_t offset = 0; offset < size; offset += piece) {
    const int count = static_cast<int>(std::min(piece, size - offset) / sizeof(T));
    const MPI_Aint place =
        transfer.window->displacement(transfer.peer, transfer.peerOffset + offset);
    std::byte *const data = transfer.data + offset;
    requests.push_back(MPI_REQUEST_NULL);
    if (transfer.kind == StepTransfer::Kind::Fetch)
      checkMpi(MPI_Rget(data, count, elementType<T>(), transfer.peer, place, count,
                        elementType<T>(), window, &requests.back()),
               "MPI_Rget", transfer.peer);
    else
      checkMpi(MPI_Raccumulate(data, count, elementType<T>(), transfer.peer, place, count,
                               elementType<T>(), MPI_SUM, window, &requests.back()),
               "MPI_Raccumulate", transfer.peer);
  }
}

template <class T> bool TransferRun<T>::test(const StepTransfer &transfer) {
  using Kind = StepTransfer::Kind;
  for (MPI_Request &request : requests) {
    int done = 1;
    if (request != MPI_REQUEST_NULL)
      checkMpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test", transfer.peer);
    if (done == 0)
      return false;
  }
  if (transfer.kind == Kind::Barrier && transfer.window != nullptr)
    transfer.window->sync(); // What others have added there is seen by this rank from now on.
  const bool unpacks =
      transfer.home != nullptr &&
      (transfer.kind == Kind::Receive || (transfer.kind == Kind::Reduce && transfer.isRoot));
  if (unpacks)
    copyBox<T>(transfer.box, reinterpret_cast<T *>(transfer.home), transfer.homeBlock,
               reinterpret_cast<const T *>(transfer.data), transfer.box);
  return true;
}

template <class T> void TransferRun<T>::cancel(const StepTransfer &transfer) noexcept {
  const auto start = std::chrono::steady_clock::now();
  for (MPI_Request &request : requests) {
    if (request == MPI_REQUEST_NULL)
      continue;
    if (transfer.kind == StepTransfer::Kind::Receive)
      MPI_Cancel(&request);
    const auto isOver = [&] {
      // Peers that gave up as well will not take what is sent to them.
      constexpr std::chrono::seconds kPatience(1);
      int done = 0;
      return MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0 ||
             std::chrono::steady_clock::now() - start > kPatience;
    };
    waitPolitely(isOver, [] { return std::string("a transfer that was given up has not ended"); });
  }
}

template class TransferRun<float>;
template class TransferRun<double>;

} // namespace einsumc
