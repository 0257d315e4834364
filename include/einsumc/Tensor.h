//===- Tensor.h - the block of a tensor that one rank stores ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TENSOR_H
#define EINSUMC_TENSOR_H

#include "einsumc/Layout.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace einsumc {

/// What memory is for.
enum class MemoryUse : uint8_t {
  Work,       ///< messages, scratch
  Tensors,    ///< inputs, results, copies
  Travellers, ///< those that other ranks of the host compute with where they are
};

/// Counts the bytes that buffers hold now and held at most. One per session, used by one thread.
class MemoryLedger {
public:
  void add(std::size_t bytes, MemoryUse use);
  void remove(std::size_t bytes, MemoryUse use);
  std::size_t currentBytes() const { return current; }
  std::size_t peakBytes() const { return peak; }
  /// The most bytes of tensors.
  std::size_t tensorPeakBytes() const { return tensorPeak; }

private:
  std::size_t current = 0, peak = 0;
  std::size_t tensors = 0, tensorPeak = 0;
};

/// Whether memory that holds nothing of use is filled with NaNs: as the environment variable
/// EINSUMC_POISON says (`0` or not); without it, in debug builds and under AddressSanitizer.
bool isPoisonWanted();

class Communicator;
class HostMemory;
class HostView;
class MemoryWindow;

/// Memory aligned to 64 bytes, uninitialised (so that the thread that first writes a page owns
/// it) unless `isPoisonWanted`: then every byte is 0xFF (a NaN for every floating-point type), so
/// that reading what nobody wrote shows. That of travellers can be mapped by the other processes of
/// the host, where the system has such memory.
/// \throws std::bad_alloc
class Buffer {
public:
  Buffer();
  Buffer(MemoryLedger &ledger, std::size_t bytes, MemoryUse use = MemoryUse::Work);
  ~Buffer();
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  std::byte *data() const { return memory; }
  std::size_t size() const { return bytes; }
  /// All of it for one-sided transfers: one window, however many tensors in it are exposed. From
  /// the first call on, which is collective over \p comm, until the buffer dies, which then is,
  /// too.
  const MemoryWindow &window(const Communicator &comm) const;
  /// What the ranks of this host have in it. From the first call on, which is collective over
  /// \p host, the ranks of this host, until the buffer dies.
  const HostView &hostView(const Communicator &host) const;

private:
  MemoryLedger *ledger = nullptr;
  std::unique_ptr<HostMemory> mapped; ///< that has the memory; nullptr: the heap does
  std::byte *memory = nullptr;
  std::size_t bytes = 0;
  MemoryUse use = MemoryUse::Work;
  mutable std::unique_ptr<const MemoryWindow> exposure;
  mutable std::unique_ptr<const HostView> ofHost;
};

/// Memory that users take turns with: as large as the largest of their requests. What one leaves
/// there, the next overwrites.
class ScratchMemory {
public:
  explicit ScratchMemory(MemoryLedger &ledger) : ledger(ledger) {}
  /// Makes it hold at least so many bytes; what it held is lost. \throws std::bad_alloc
  void reserve(std::size_t bytes);
  std::byte *data() const { return buffer.data(); }

private:
  MemoryLedger &ledger;
  Buffer buffer;
};

class SharedStorage;

/// The block of a tensor that this rank stores, row-major in the order of the layout's positions.
template <class T> class Tensor {
public:
  // Out of line, as a program has hundreds of them.
  /// A tensor with memory of its own.
  Tensor(MemoryLedger &ledger, const Layout &layout, int64_t rank,
         MemoryUse use = MemoryUse::Tensors);
  /// A tensor in storage that it shares, \p offset bytes from its start.
  Tensor(const SharedStorage &storage, const Layout &layout, std::size_t offset);
  ~Tensor();
  Tensor(Tensor &&) noexcept;

  const Layout &layout() const { return *layoutRef; }
  const Box &box() const { return block; }
  bool held() const { return isHeld; }
  T *data() const { return elements; }
  int64_t size() const { return elementCount; }
  /// Where it lies: so many bytes behind the start of a buffer, on all ranks.
  const Buffer &memory() const { return shared == nullptr ? own : *shared; }
  std::size_t offset() const { return place; }
  /// Elements between neighbours along a position.
  int64_t stride(std::size_t position) const { return stepOf[position]; }
  /// The element at a global index that lies in this rank's block.
  T *at(std::initializer_list<int64_t> index) const {
    T *element = data();
    std::size_t position = 0;
    for (int64_t i : index) {
      element += (i - block[position].begin) * stepOf[position];
      ++position;
    }
    return element;
  }
  std::span<T> span() const { return {data(), static_cast<std::size_t>(size())}; }

private:
  Tensor(const Layout &layout, int64_t rank);

  const Layout *layoutRef;
  Box block;
  bool isHeld;
  int64_t elementCount;
  Buffer own;                     ///< empty in shared storage
  const Buffer *shared = nullptr; ///< that of the storage
  std::size_t place = 0;
  T *elements = nullptr;
  std::vector<int64_t> stepOf;
};

} // namespace einsumc

#endif // EINSUMC_TENSOR_H
