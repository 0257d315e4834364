//===- StepShapes.h - steps that the same kernels compute -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_STEPSHAPES_H
#define EINSUMC_RUNTIME_STEPSHAPES_H

#include "einsumc/SteppingLoop.h"

#include <vector>

namespace einsumc {

/// Gives every step with work its `shape`. Steps of one shape have the same extents of the work and
/// strides of the blocks.
/// \returns the first step of each shape
template <class T> std::vector<Step<T>> numberShapes(std::vector<Step<T>> &steps);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_STEPSHAPES_H
