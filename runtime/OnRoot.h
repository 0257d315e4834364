//===- OnRoot.h - what one rank does for all --------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_ONROOT_H
#define EINSUMC_RUNTIME_ONROOT_H

#include "einsumc/Communicator.h"

#include <functional>
#include <string>

namespace einsumc {

/// Runs \p action, which must not communicate, on rank 0 and returns its bytes on every rank. When
/// it throws, every rank throws a CollectiveError with its text.
std::string onRoot(const Communicator &comm, const std::function<std::string()> &action);

/// The same for actions that return nothing.
void doOnRoot(const Communicator &comm, const std::function<void()> &action);

/// The text of errno, for a message about a file: `FILE: cannot VERB: REASON`.
std::string systemFailure(const std::string &file, const std::string &verb, int error);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_ONROOT_H
