//===- VerifyWhole.h - small trees, every element ---------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_VERIFYWHOLE_H
#define EINSUMC_RUNTIME_VERIFYWHOLE_H

#include "Finding.h"
#include "einsumc/Program.h"

#include <cstdint>

namespace einsumc {

/// The worst finding, on rank 0 only; on all ranks whether the bounds tell: with many nodes in a
/// row rounding errors may grow so far beyond the outputs that hardly any error would be found.
struct WholeFinding {
  Finding finding;
  bool isTelling = true;
};

/// Whether the nodes' multiplications and the tensors' elements are each no more than \p limit.
bool isSmall(const ProgramDescription &description, int64_t limit);

/// Evaluates the tree in f64 on rank 0, node by node with plain loops, and compares every element
/// that any rank holds of every output. Collective; the finding is rank 0's.
WholeFinding verifyWhole(const Communicator &comm, const ProgramDescription &description,
                         Program &program);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_VERIFYWHOLE_H
