//===- NestScratch.h - what a loop nest keeps in scratch --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_LOWER_NESTSCRATCH_H
#define EINSUMC_LOWER_NESTSCRATCH_H

#include "compiler/lower/LocalNest.h"

namespace einsumc {

/// The panels of a packed block of L, in elements.
struct Panels {
  int64_t rows = 1;   ///< of a panel, rounded to whole vectors
  int64_t stride = 0; ///< between panels
  int64_t count = 1;
};
Panels panelsOf(const LocalNest &nest);

/// The distance of columns of a packed block of R.
int64_t columnStride(const LocalNest &nest);
/// The distance of columns of a block of C that is computed in scratch.
int64_t resultStride(const LocalNest &nest);
/// The distance of packed blocks of L and of R in a batch.
int64_t leftBatchStride(const LocalNest &nest);
int64_t rightBatchStride(const LocalNest &nest);

/// Indices of a dim that a step of its loop covers.
int64_t stepOf(const LocalNest &nest, std::size_t dim);

/// Scratch of each thread, in elements: offsets of the parts, each on cache lines of its own.
struct ScratchPlan {
  int64_t ownResult = 0; ///< a copy of the whole local result, when the sums run in parallel
  int64_t left = 0, right = 0;
  int64_t result = 0; ///< a block that is computed in scratch
  int64_t total = 0;
};
ScratchPlan planScratch(const LocalNest &nest);

} // namespace einsumc

#endif // EINSUMC_LOWER_NESTSCRATCH_H
