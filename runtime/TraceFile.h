//===- TraceFile.h - traces as files for viewers ----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_TRACEFILE_H
#define EINSUMC_RUNTIME_TRACEFILE_H

#include "einsumc/Program.h"

#include <cstdint>
#include <string>

namespace einsumc {

/// The events of one rank as elements of the array `traceEvents` of Chrome's trace format, joined
/// by commas: a process with a name for the rank, a thread for each thread, then threads for the
/// sends and for the receives, as many as those that overlap need, and a complete event for each
/// event and transfer of the trace, an outer one before those within.
/// \param origin the time, on this rank's clock, that the file shows as 0
std::string formatTrace(const Trace &trace, const ProgramDescription &description, int64_t rank,
                        const std::string &host, int64_t origin);

/// Writes the traces of all ranks to one file, on the clock of rank 0, the first event at 0; the
/// ranks' parts go through rank 0 one by one. Returns how many events of all ranks were dropped.
/// Collective. \throws CollectiveError if the file cannot be written
int64_t writeTrace(const Communicator &comm, const std::string &file, const Trace &trace,
                   const ProgramDescription &description);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_TRACEFILE_H
