//===- Npy.h - tensors in .npy files ----------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_NPY_H
#define EINSUMC_RUNTIME_NPY_H

#include "FileArray.h"
#include "PartFile.h"
#include "Region.h"
#include "einsumc/Program.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace einsumc {

/// How files are transferred, so that tests can choose.
struct NpyLimits {
  /// What one collective call of MPI-IO reads or writes on a rank at most.
  std::size_t piece = std::size_t{1} << 26;
  /// A tensor, or region of one, with no more data than this is read or written by rank 0, which
  /// sends it to the others or gets it from them: a dozen collective calls of MPI-IO cost more.
  std::size_t small = std::size_t{1} << 22;
};

/// Fills the blocks of all ranks from a file, in parallel, each rank its own part (MPI-IO).
/// Collective over all ranks, also those that hold nothing. Returns a note for the user (that f64
/// was converted to f32), or nothing.
/// \throws CollectiveError naming the file, what was found and what was expected.
std::string readNpy(const Communicator &comm, const std::string &file, const std::string &tensor,
                    const TensorView &view, const NpyLimits &limits = {});
/// The same for a tensor that is a region of the one in the file.
std::string readNpy(const Communicator &comm, const std::string &file, const std::string &tensor,
                    const TensorView &view, const Region &region, const NpyLimits &limits = {});

/// A file that regions of a tensor are written to, version 1.0, little endian, C order. It appears
/// under its name when it is complete; until then, it is FILE.part, which is removed at the end.
class NpyWriter {
public:
  /// Reserves the space for all of it. Collective.
  /// \param extents of the whole tensor
  /// \throws CollectiveError
  NpyWriter(const Communicator &comm, std::string file, DType dtype, std::vector<int64_t> extents,
            const NpyLimits &limits = {});

  /// Collective.
  /// \pre !view.layout->hasPartial()
  /// \throws CollectiveError
  void write(const TensorView &view, const Region &region);
  /// All regions are written. Collective. \throws CollectiveError; then no file is left.
  void commit();

private:
  /// Whether rank 0 gets all of it and writes it at the end.
  bool isSmall() const { return array.dataBytes() <= limits.small; }
  void gather(const TensorView &view, const Region &region, const std::vector<int64_t> &extents,
              char *data) const;
  void writeOnRoot(const TensorView &view, const Box &box) const;
  void writePart(const TensorView &view, const Region &region);
  void requireWritten(const std::vector<Box> &pieces, const std::byte *data) const;

  const Communicator &comm;
  std::string file;
  NpyLimits limits;
  FileArray array;
  bool isReserved = false;
  std::string contents;         ///< rank 0's, of a small file
  std::optional<PartFile> part; ///< rank 0's, of a large file
};

/// Writes a tensor to a file by an NpyWriter. Collective.
/// \pre !view.layout->hasPartial()
/// \throws CollectiveError; then no file is left.
void writeNpy(const Communicator &comm, const std::string &file, const TensorView &view,
              const NpyLimits &limits = {});

} // namespace einsumc

#endif // EINSUMC_RUNTIME_NPY_H
