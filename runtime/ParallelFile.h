//===- ParallelFile.h - a file that all ranks read or write -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_PARALLELFILE_H
#define EINSUMC_RUNTIME_PARALLELFILE_H

#include "FileArray.h"
#include "einsumc/Communicator.h"

#include <mpi.h>

#include <cstddef>
#include <string>

namespace einsumc {

/// An existing file, open on all ranks of a communicator. A rank that meets an error still takes
/// part in the calls that follow, so that none waits for it; `close` lets all ranks know.
class ParallelFile {
public:
  enum class Mode { Read, Write };

  /// Collective. \throws CollectiveError if a rank cannot open the file.
  ParallelFile(const Communicator &comm, const std::string &name, Mode mode);
  /// Leaves a file open that was not closed: closing would wait for ranks that may be elsewhere.
  ~ParallelFile() = default;
  ParallelFile(const ParallelFile &) = delete;
  ParallelFile &operator=(const ParallelFile &) = delete;

  /// Reads a box of the array into \p memory, or writes it from there, row-major. Collective: every
  /// rank makes equally many calls, with an empty box when it has no part.
  /// \pre the box has fewer than 2^31 bytes
  void transfer(const FileArray &array, const Box &box, std::byte *memory);

  /// Collective. \throws CollectiveError if anything failed on any rank.
  void close();

private:
  void note(int code, const char *call);

  const Communicator &comm;
  std::string name;
  Mode mode;
  MPI_File file = MPI_FILE_NULL;
  std::string failure; ///< the first of this rank
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PARALLELFILE_H
