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
#include <span>
#include <vector>

namespace einsumc {

/// Counts the bytes that buffers hold now and held at most. One per session, used by one thread.
class MemoryLedger {
public:
  void add(std::size_t bytes);
  void remove(std::size_t bytes) { current -= bytes; }
  std::size_t currentBytes() const { return current; }
  std::size_t peakBytes() const { return peak; }

private:
  std::size_t current = 0;
  std::size_t peak = 0;
};

/// Memory aligned to 64 bytes, uninitialised (so that the thread that first writes a page owns
/// it) unless the environment variable EINSUMC_POISON is set and not `0`: then every byte is 0xFF
/// (a NaN for every floating-point type), so that reading what nobody wrote shows.
/// \throws std::bad_alloc
class Buffer {
public:
  Buffer() = default;
  Buffer(MemoryLedger &ledger, std::size_t bytes);
  ~Buffer();
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  std::byte *data() const { return memory; }
  std::size_t size() const { return bytes; }

private:
  MemoryLedger *ledger = nullptr;
  std::byte *memory = nullptr;
  std::size_t bytes = 0;
};

/// The block of a tensor that this rank stores, row-major in the order of the layout's positions.
template <class T> class Tensor {
public:
  // Out of line, as a program has hundreds of them.
  Tensor(MemoryLedger &ledger, const Layout &layout, int64_t rank);
  ~Tensor();
  Tensor(Tensor &&) noexcept;

  const Layout &layout() const { return *layoutRef; }
  const Box &box() const { return block; }
  bool held() const { return isHeld; }
  T *data() const { return reinterpret_cast<T *>(buffer.data()); }
  int64_t size() const { return static_cast<int64_t>(buffer.size() / sizeof(T)); }
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
  const Layout *layoutRef;
  Box block;
  bool isHeld;
  Buffer buffer;
  std::vector<int64_t> stepOf;
};

} // namespace einsumc

#endif // EINSUMC_TENSOR_H
