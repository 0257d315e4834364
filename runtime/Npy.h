//===- Npy.h - tensors in .npy files ----------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_NPY_H
#define EINSUMC_RUNTIME_NPY_H

#include "einsumc/Program.h"

#include <cstddef>
#include <string>

namespace einsumc {

/// How files are transferred, so that tests can choose.
struct NpyLimits {
  /// What one collective call of MPI-IO reads or writes on a rank at most.
  std::size_t piece = std::size_t{1} << 26;
  /// A file with no more data than this is rank 0's, which sends the data to the others or gets it
  /// from them: a dozen collective calls of MPI-IO cost more.
  std::size_t small = std::size_t{1} << 22;
};

/// Fills the blocks of all ranks from a file, in parallel, each rank its own part (MPI-IO).
/// Collective over all ranks, also those that hold nothing. Returns a note for the user (that f64
/// was converted to f32), or nothing.
/// \throws CollectiveError naming the file, what was found and what was expected.
std::string readNpy(const Communicator &comm, const std::string &file, const std::string &tensor,
                    const TensorView &view, const NpyLimits &limits = {});

/// Writes a tensor to a file: version 1.0, little endian, C order. The file appears under its name
/// when it is complete; until then, it is FILE.part. Collective.
/// \pre !view.layout->hasPartial()
/// \throws CollectiveError; then no file is left.
void writeNpy(const Communicator &comm, const std::string &file, const TensorView &view,
              const NpyLimits &limits = {});

} // namespace einsumc

#endif // EINSUMC_RUNTIME_NPY_H
