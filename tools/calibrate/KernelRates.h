//===- KernelRates.h - how fast the runtime's kernels compute ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CALIBRATE_KERNELRATES_H
#define EINSUMC_CALIBRATE_KERNELRATES_H

#include "Timing.h"

#include <cstdint>

namespace einsumc::measure {

/// The flops a second that an OpenMP team reaches with f32 tiles of m x k by k x 48 that accumulate
/// in C, its blocks in the second-level cache.
double tileFlops(int64_t m, int64_t k, const Effort &effort);

/// The seconds of a call of the smallest kernel, on each thread.
double callSeconds(const Effort &effort);

/// The bytes a second at which an OpenMP team writes tiles, through a buffer, to a C in the caches
/// that has m outside of n.
double scatterRate(const Effort &effort);

} // namespace einsumc::measure

#endif // EINSUMC_CALIBRATE_KERNELRATES_H
