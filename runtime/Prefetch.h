//===- Prefetch.h - fetching lines of memory before they are needed ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_PREFETCH_H
#define EINSUMC_RUNTIME_PREFETCH_H

namespace einsumc {

/// Fetches the line at an address into the second-level cache. The address may be any: one that
/// cannot be read is ignored. To GCC (12 and later) a function that does nothing but prefetch has
/// no effects, and calls of it go away; the empty asm statement counts as one.
inline void prefetch(const void *line) {
  __builtin_prefetch(line, 0, 2);
  asm volatile("");
}

/// The same into the nearest cache.
inline void prefetchToUse(const void *line) {
  __builtin_prefetch(line, 0, 3);
  asm volatile("");
}

/// The same, into the nearest cache, of a line that is going to be written.
inline void prefetchToWrite(const void *line) {
  __builtin_prefetch(line, 1);
  asm volatile("");
}

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PREFETCH_H
