//===- Parallel.h - the same for many things, by several threads ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Not LLVM's pool of threads, which ends the process where a limit of processes, as login nodes
// have them, lets none start.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SUPPORT_PARALLEL_H
#define EINSUMC_SUPPORT_PARALLEL_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>
#include <optional>

namespace einsumc {

/// Calls body(i) for all i < count, in no order, by this thread and others: one for each processor
/// that this process may use, up to 16, as more take longer to start than they save.
/// \param body throws nothing
void forAll(std::size_t count, llvm::function_ref<void(std::size_t)> body);

/// Has `forAll` use so many threads, for tests; nothing: as it does by itself.
void setThreads(std::optional<std::size_t> threads);

} // namespace einsumc

#endif // EINSUMC_SUPPORT_PARALLEL_H
