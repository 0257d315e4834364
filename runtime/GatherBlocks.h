//===- GatherBlocks.h - the blocks of a tensor, one by one on rank 0 --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_GATHERBLOCKS_H
#define EINSUMC_RUNTIME_GATHERBLOCKS_H

#include "einsumc/Program.h"

#include <cstdint>
#include <functional>
#include <span>

namespace einsumc {

/// Calls \p consume(rank, values) on rank 0 for every rank that \p wanted names (the same ones on
/// all ranks), with the elements of its block, row-major. Collective.
/// \pre the layout holds a block on every wanted rank
void gatherBlocks(const Communicator &comm, const TensorView &view,
                  const std::function<bool(int64_t)> &wanted,
                  const std::function<void(int64_t, std::span<const double>)> &consume);

/// Calls \p visit(index in the block, offset in a row-major array of \p extents, global index) for
/// every element of a box, row-major.
void forEachElement(
    const Box &box, const std::vector<int64_t> &extents,
    const std::function<void(std::size_t, std::size_t, const std::vector<int64_t> &)> &visit);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_GATHERBLOCKS_H
