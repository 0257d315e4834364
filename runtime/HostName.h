//===- HostName.h - where a rank runs ---------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_HOSTNAME_H
#define EINSUMC_RUNTIME_HOSTNAME_H

#include <string>

namespace einsumc {

/// The name of this rank's host, as MPI has it; shorter than MPI_MAX_PROCESSOR_NAME.
/// \throws Error
std::string hostName();

} // namespace einsumc

#endif // EINSUMC_RUNTIME_HOSTNAME_H
