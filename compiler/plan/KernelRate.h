//===- KernelRate.h - how fast a tile's kernel computes ---------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_KERNELRATE_H
#define EINSUMC_PLAN_KERNELRATE_H

#include "compiler/ir/Machine.h"

namespace einsumc {

/// The extents of a tile, on average.
struct TileSize {
  double m = 1, n = 1, k = 1;
};

/// How BlockKernel cuts a part of a block into tiles on a machine.
/// \param m, n, k elements of the block that may be in one tile
/// \param inPanels A is packed
TileSize tileSize(const Machine &machine, ElementType type, int64_t m, int64_t n, int64_t k,
                  bool inPanels);

/// The share of the peak that the kernel of a tile reaches, calls apart.
double tileEfficiency(const Machine &machine, ElementType type, const TileSize &tile);

/// How busy a tile's sums keep the processor: if they are few, each waits for the one before it.
double occupancy(const Machine &machine, ElementType type, const TileSize &tile);

} // namespace einsumc

#endif // EINSUMC_PLAN_KERNELRATE_H
