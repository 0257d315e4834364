//===- MemoryWindow.h - memory that other ranks read and add to one-sided ---------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_MEMORYWINDOW_H
#define EINSUMC_RUNTIME_MEMORYWINDOW_H

#include "einsumc/Communicator.h"

#include <cstddef>
#include <span>
#include <vector>

namespace einsumc {

/// Memory that other ranks fetch from or add to one-sided, open for as long as the window lives: to
/// the ranks of a passive target, locked once and for all. Who stores there calls sync before
/// others fetch, and before it reads what they have added.
class MemoryWindow {
public:
  /// Collective over \p comm, as is the destruction.
  /// \throws Error also where MPI keeps what others see apart from the memory (MPI_WIN_SEPARATE)
  MemoryWindow(const Communicator &comm, std::span<std::byte> memory);
  ~MemoryWindow();
  MemoryWindow(const MemoryWindow &) = delete;
  MemoryWindow &operator=(const MemoryWindow &) = delete;

  MPI_Win get() const { return window; }
  /// Where a byte of a rank's memory is, as one-sided operations count.
  MPI_Aint displacement(int rank, std::size_t offset) const {
    return starts[static_cast<std::size_t>(rank)] + static_cast<MPI_Aint>(offset);
  }
  /// Orders this rank's own reads and writes of the memory with those of others.
  void sync() const;

private:
  void requireUnified() const;
  void agreeOnStarts(const Communicator &comm, std::span<std::byte> memory);

  MPI_Win window = MPI_WIN_NULL;
  std::vector<MPI_Aint> starts; ///< by rank: where its memory begins, behind MPI's base
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_MEMORYWINDOW_H
