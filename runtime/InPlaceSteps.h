//===- InPlaceSteps.h - steps that compute with chunks where they are stored ------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_INPLACESTEPS_H
#define EINSUMC_RUNTIME_INPLACESTEPS_H

#include "HostMemory.h"
#include "HostRanks.h"
#include "StepLists.h"

#include <cstddef>

namespace einsumc {

/// Where the ranks of a line along a traveller's axis, all of one host, store the traveller.
struct LineMemory {
  const HostRanks *host = nullptr;
  const Communicator *line = nullptr; ///< by coordinates; nullptr: not all are on this host
  const HostView *view = nullptr;     ///< of the tensor's buffer
  std::size_t offset = 0;             ///< of the tensor in it, in bytes
};

/// Lets a rank compute with a traveller's chunks where they are stored, in the order of its steps.
/// Nothing is copied: ranks meet before the first touches what another stores, and again before
/// that changes; sums that rotate are handed on by messages without content, as each rank must
/// have added its part before the next one does. What would have been sent counts as sent.
/// \param tag of those messages
/// \pre canStayInPlace(stepping, stepping.travellers[t])
template <class T>
void computeInPlace(StepLists<T> &lists, const Stepping &stepping, const StepTable &table,
                    std::size_t t, const LineMemory &memory, int tag);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_INPLACESTEPS_H
