//===- Verify.h - comparison with an independent evaluation -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Nothing here uses the kernels, copies and exchanges that programs run on: an error in them must
// not hide itself. docs/programs.md describes the method.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_VERIFY_H
#define EINSUMC_RUNTIME_VERIFY_H

#include "Finding.h"
#include "einsumc/Program.h"

#include <cstdint>
#include <string>

namespace einsumc {

struct VerifyOptions {
  uint64_t seed = 0; ///< of samples and projections
  /// Trees of so many multiplications, with tensors of so many elements, are evaluated whole.
  int64_t wholeLimit = int64_t{1} << 22;
  /// Random entries that are looked at in every node's result, besides corners of blocks.
  int samples = 64;
  /// Projections need the operands' shared dims to have no more elements than this.
  int64_t sharedLimit = int64_t{1} << 26;
  /// Elements of the shared dims that are in memory at once.
  int64_t chunk = int64_t{1} << 20;
};

struct Verification {
  bool passed = false;
  std::string text; ///< for the user, whole lines
};

/// What a check of a program that has run has found.
struct ProgramCheck {
  Finding finding;    ///< rank 0's word counts: floating-point sums may differ between ranks
  std::string method; ///< how it was checked
  std::string notes;  ///< for the user, whole lines
};

/// Checks a program that has run. Collective. Runs the program once more unless the tree is small.
ProgramCheck checkProgram(Session &session, const ProgramDescription &description, Program &program,
                          const VerifyOptions &options);

/// What the user is told, equal on all ranks. Collective.
Verification conclude(const Communicator &comm, const ProgramCheck &check);

/// Checks a program that has run and concludes. Collective.
Verification verify(Session &session, const ProgramDescription &description, Program &program,
                    const VerifyOptions &options);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_VERIFY_H
