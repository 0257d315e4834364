//===- Fingerprint.h - whether a block has changed --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_FINGERPRINT_H
#define EINSUMC_RUNTIME_FINGERPRINT_H

#include "einsumc/Program.h"

#include <cstdint>

namespace einsumc {

/// A number that depends on the bits of every element of this rank's block and on their order: two
/// blocks that differ have different ones but for a chance of 2^-64 or so. Not collective.
uint64_t fingerprint(const TensorView &view);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_FINGERPRINT_H
