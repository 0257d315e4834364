//===- SharedStorage.h - memory that tensors use one after the other --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SHAREDSTORAGE_H
#define EINSUMC_SHAREDSTORAGE_H

#include "einsumc/Tensor.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace einsumc {

/// Memory for tensors that are not all needed at the same time: whose bytes overlap, must not live
/// at the same time, which the compiler sees to. Like a Buffer it is freed at its end and not
/// touched before somebody writes, so pages belong to the threads that compute the first tensor
/// there.
class SharedStorage {
public:
  /// Where a tensor lies.
  struct Place {
    const Layout *layout; ///< nullptr: no tensor, but memory on every rank
    std::size_t offset;   ///< in bytes, a multiple of 64
    int64_t elements = 0; ///< at least so many, of a tensor on every rank of its grid
  };

  /// As large as this rank's blocks need; offsets are the same on all ranks.
  /// \throws std::bad_alloc
  SharedStorage(MemoryLedger &ledger, int64_t rank, std::size_t elementBytes,
                std::initializer_list<Place> places, MemoryUse use = MemoryUse::Tensors);

  int64_t rank() const { return ownRank; }
  std::byte *at(std::size_t offset) const { return buffer.data() + offset; }
  std::size_t size() const { return buffer.size(); }
  const Buffer &memory() const { return buffer; }

private:
  int64_t ownRank;
  Buffer buffer;
};

} // namespace einsumc

#endif // EINSUMC_SHAREDSTORAGE_H
