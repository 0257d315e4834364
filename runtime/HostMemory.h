//===- HostMemory.h - memory that the processes of a host share -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_HOSTMEMORY_H
#define EINSUMC_RUNTIME_HOSTMEMORY_H

#include "einsumc/Communicator.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace einsumc {

/// Memory that other processes of this host can map: a file that exists in memory alone (Linux'
/// memfd) and goes when the last process that has it does. Zeros; a page belongs to the thread that
/// first writes it.
class HostMemory {
public:
  /// nullptr where the system does not give it.
  static std::unique_ptr<HostMemory> make(std::size_t bytes);
  ~HostMemory();
  HostMemory(const HostMemory &) = delete;
  HostMemory &operator=(const HostMemory &) = delete;

  std::byte *data() const { return memory.data(); }

  /// What another process needs to find the file, and to see that it is this one.
  struct Address {
    int64_t process = 0;
    int64_t descriptor = -1;
    int64_t device = 0;
    int64_t file = 0;
  };
  Address address() const;
  /// Maps what a process of this host has there, for whoever unmaps it; empty where that is not
  /// possible. Processes that do not see each other by their numbers, as in containers of their
  /// own, find nothing, or another file.
  static std::span<std::byte> map(const Address &address, std::size_t bytes);
  /// From now on no further process finds it: a process has few descriptors.
  void closeToOthers();

private:
  HostMemory(int descriptor, std::span<std::byte> memory)
      : descriptor(descriptor), memory(memory) {}

  int descriptor;
  std::span<std::byte> memory;
};

/// What the ranks of this host have in a buffer that each of them has, mapped for this rank.
class HostView {
public:
  /// Collective over the host's ranks.
  /// \param own this rank's buffer; may be empty
  /// \param origin its memory, where others can map that; closed to them when they have
  HostView(const Communicator &host, std::span<std::byte> own, HostMemory *origin);
  ~HostView();
  HostView(const HostView &) = delete;
  HostView &operator=(const HostView &) = delete;

  /// Whether every rank of the host has mapped all of it.
  bool isComplete() const { return isWhole; }
  /// Where the buffer of a rank begins, by its place among the host's; nullptr if that is empty.
  /// \pre isComplete()
  std::byte *data(std::size_t place) const { return memories[place].data(); }

private:
  void unmapOthers();

  std::size_t ownPlace;
  std::vector<std::span<std::byte>> memories; ///< by place
  bool isWhole = true;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_HOSTMEMORY_H
