//===- Roofline.h - what the machine can do at this moment ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CALIBRATE_ROOFLINE_H
#define EINSUMC_CALIBRATE_ROOFLINE_H

#include "Timing.h"

#include <cstdint>

namespace einsumc::measure {

/// The peak of fused multiply-adds of an OpenMP team, in flops a second: independent chains in
/// registers.
template <class T> double peakFlops(const Effort &effort);

/// The bandwidth of the triad a = b + s * c (J. D. McCalpin, "Memory Bandwidth and Machine Balance
/// in Current High Performance Computers", 1995) of an OpenMP team, each of whose threads goes
/// again and again through three arrays of f32 of its own: in bytes a second, each array counted
/// once.
/// \param bytes of a thread's three arrays: they decide which cache they are found in
double triadBandwidth(int64_t bytes, const Effort &effort);

} // namespace einsumc::measure

#endif // EINSUMC_CALIBRATE_ROOFLINE_H
