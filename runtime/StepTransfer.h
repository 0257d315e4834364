//===- StepTransfer.h - one non-blocking operation of a stepping loop -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_STEPTRANSFER_H
#define EINSUMC_RUNTIME_STEPTRANSFER_H

#include "MemoryWindow.h"

#include "einsumc/Communicator.h"
#include "einsumc/Layout.h"
#include "einsumc/Trace.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace einsumc {

/// Copies a box of one row-major block to where it lies in another, on the calling thread.
template <class T>
void copyBox(const Box &box, T *to, const Box &toBlock, const T *from, const Box &fromBlock);

/// What one operation does and when.
struct StepTransfer {
  enum class Kind : uint8_t {
    Receive,
    Send,
    Bcast,   ///< from `peer`, a coordinate
    Reduce,  ///< to `peer`, a coordinate
    Fetch,   ///< from the window of `peer`
    Add,     ///< to the window of `peer`
    Barrier, ///< of the group
    Flush,   ///< what was added has reached its place
  };

  Kind kind = Kind::Receive;
  int peer = 0;     ///< as the operation counts: a rank, or a coordinate
  int peerRank = 0; ///< that it deals with
  int tag = 0;
  const Communicator *group = nullptr; ///< the ranks of the axis
  const MemoryWindow *window = nullptr;
  Box box;                   ///< of the tensor
  std::byte *data = nullptr; ///< the box, contiguous
  /// Where the box lies in the tensor, strided: packed from there before a Send or Bcast, brought
  /// there after a Receive, Bcast or Reduce.
  std::byte *home = nullptr;
  Box homeBlock;              ///< around the box at `home`
  std::size_t peerOffset = 0; ///< of a Fetch or Add: in the window of the peer, in bytes
  bool isRoot = false;        ///< of a Bcast or Reduce
  // When it starts and what waits for it.
  int64_t afterStep = -1;         ///< the step that must be computed before
  std::vector<std::size_t> after; ///< transfers that must be complete before
  int64_t step = -1;              ///< that needs it; -1: none

  std::size_t bytes(std::size_t elementBytes) const {
    return static_cast<std::size_t>(volume(box)) * elementBytes;
  }
};

/// Carries transfers out.
template <class T> class TransferRun {
public:
  /// \param maxPiece the largest message in bytes
  TransferRun(const Communicator &comm, std::size_t maxPiece) : comm(comm), maxPiece(maxPiece) {}

  void start(const StepTransfer &transfer);
  /// Whether it is complete; then what it brought is in place.
  bool test(const StepTransfer &transfer);
  /// Gives it up: its memory is no longer used.
  void cancel(const StepTransfer &transfer) noexcept;
  int64_t startedAt() const { return started; }

private:
  void startMessage(const StepTransfer &transfer);
  void startCollective(const StepTransfer &transfer);
  void startOneSided(const StepTransfer &transfer);

  const Communicator &comm;
  std::size_t maxPiece;
  std::vector<MPI_Request> requests;
  int64_t started = 0;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_STEPTRANSFER_H
