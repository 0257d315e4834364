//===- FetchTarget.h - the cache that operands are fetched into -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_FETCHTARGET_H
#define EINSUMC_RUNTIME_FETCHTARGET_H

namespace einsumc {

/// Whether operands that are read a tile later are fetched into the nearest cache rather than into
/// the second-level one alone, as measured: on AMD's Zen 4 the nearest one has places on their way
/// for half of the lines that memory gives a core, and what gets none is not fetched at all. On
/// Zen 5 (family 1Ah) it serves as well, and of what is fetched into the other one loads wait for
/// much all the same in some copies of a program's file, depending on the physical pages that its
/// instructions are in.
extern const bool kFetchesIntoNearestCache;

} // namespace einsumc

#endif // EINSUMC_RUNTIME_FETCHTARGET_H
