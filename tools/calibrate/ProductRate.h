//===- ProductRate.h - how fast a whole product is --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CALIBRATE_PRODUCTRATE_H
#define EINSUMC_CALIBRATE_PRODUCTRATE_H

#include "Timing.h"

#include "compiler/plan/LocalCost.h"

namespace einsumc {

/// C[n,m] = sum over k of A[k,m] * B[n,k] with matrices of one extent, in f32.
LocalWork squareProduct(int64_t extent);

/// The seconds that an OpenMP team takes for it in the blocks that the compiler chooses, by the
/// loops that it emits: packing, tiles whose results come from memory, and all.
/// \param machine what is known of it so far
double productSeconds(int64_t extent, const Machine &machine, const measure::Effort &effort);

} // namespace einsumc

#endif // EINSUMC_CALIBRATE_PRODUCTRATE_H
