//===- JitKernel.h - tile products that LIBXSMM generates -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_JITKERNEL_H
#define EINSUMC_RUNTIME_JITKERNEL_H

#include "einsumc/TileKernel.h"

namespace einsumc {

/// A matrix product of constant shape, as machine code.
template <class T> using JitFunction = void (*)(const T *a, const T *b, T *c);

/// LIBXSMM's kernel for one c of \p shape, whose role of m is the consecutive one (exchange A and B
/// when it is n), or null when LIBXSMM has none or einsumc was built without it.
/// \pre no extent is 0
template <class T> JitFunction<T> generateTile(const TileShape &shape);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_JITKERNEL_H
