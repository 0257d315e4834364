//===- Parallel.h - the same for many things, by several threads ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SUPPORT_PARALLEL_H
#define EINSUMC_SUPPORT_PARALLEL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Parallel.h"

#include <cstddef>

namespace einsumc {

/// Calls body(i) for all i < count, as many at a time as `llvm::parallel::strategy` says. One alone
/// is not worth a thread.
inline void forAll(std::size_t count, llvm::function_ref<void(std::size_t)> body) {
  if (count == 1)
    body(0);
  else if (count > 1)
    llvm::parallelFor(0, count, body);
}

} // namespace einsumc

#endif // EINSUMC_SUPPORT_PARALLEL_H
