//===- Calibration.h - measures what the cost model knows of a machine ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CALIBRATE_CALIBRATION_H
#define EINSUMC_CALIBRATE_CALIBRATION_H

#include "compiler/ir/Machine.h"
#include "einsumc/Communicator.h"

#include "llvm/Support/raw_ostream.h"

namespace einsumc {

/// A machine, and which of its messages were measured; the others are the built-in ones.
struct Calibrated {
  Machine machine;
  bool hasWithinNode = false, hasBetweenNodes = false;
};

/// Measures one rank of this machine with as many threads as OpenMP's next team has: its share of
/// the memory, flops, bandwidths, kernels and copies, of all ranks that do the same at that time
/// the slowest's, for which programs wait; then the messages between ranks of a node and of
/// several. What there are no ranks for keeps its built-in value. Collective; the result is rank
/// 0's.
/// \param quick in about a second, less exactly
Calibrated calibrate(const Communicator &world, bool quick);

/// Prints what was measured as an aligned table for people, and what was not.
void printSummary(const Calibrated &found, llvm::raw_ostream &stream);

} // namespace einsumc

#endif // EINSUMC_CALIBRATE_CALIBRATION_H
