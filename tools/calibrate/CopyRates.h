//===- CopyRates.h - how fast tensors are packed into blocks ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CALIBRATE_COPYRATES_H
#define EINSUMC_CALIBRATE_COPYRATES_H

#include "Timing.h"

#include <cstdint>

namespace einsumc::measure {

/// The seconds an element, on each thread of an OpenMP team, of copies from a large f32 tensor into
/// a block in the second-level cache.
/// \param row elements that lie next to each other in the tensor
/// \param isTransposed rows become columns
/// \param tensorBytes of each thread's tensor, through which the copies go
double packSeconds(int64_t row, bool isTransposed, int64_t tensorBytes, const Effort &effort);

/// A model of packSeconds: an element takes 1 / rate, a row `row`, or `row + memoryRow` from a
/// tensor in memory, where bytes take their time at the memory's bandwidth, too.
struct CopyFit {
  double rate = 0;      ///< bytes a second, all threads
  double row = 0;       ///< seconds, each thread
  double memoryRow = 0; ///< seconds, each thread
};

/// Fits the model to short and long rows.
/// \param cacheBytes, memoryBytes sizes of tensors that fit the caches, and that do not
/// \param memoryBandwidth of all threads, in bytes a second
CopyFit fitCopies(bool isTransposed, int64_t cacheBytes, int64_t memoryBytes,
                  double memoryBandwidth, const Effort &effort);

} // namespace einsumc::measure

#endif // EINSUMC_CALIBRATE_COPYRATES_H
