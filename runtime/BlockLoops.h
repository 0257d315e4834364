//===- BlockLoops.h - the loops of copies of blocks -------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_BLOCKLOOPS_H
#define EINSUMC_RUNTIME_BLOCKLOOPS_H

#include "einsumc/StridedCopy.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace einsumc {

/// The loops of a copy, on the stack.
class BlockLoops {
public:
  void add(int64_t extent, int64_t to, int64_t from) {
    if (extent != 1)
      items[count++] = {extent, to, from};
  }
  operator std::span<const CopyLoop>() const { return {items.data(), count}; }

private:
  std::array<CopyLoop, 63> items; // No block has more dims of 2 and above.
  std::size_t count = 0;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_BLOCKLOOPS_H
