//===- FileArray.h - a row-major array inside a file ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_FILEARRAY_H
#define EINSUMC_RUNTIME_FILEARRAY_H

#include "einsumc/Layout.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace einsumc {

struct FileArray {
  std::size_t offset = 0; ///< bytes before the first element
  std::vector<int64_t> extents;
  std::size_t elementBytes = 0;

  /// The bytes of the elements.
  std::size_t dataBytes() const;
  /// The number of elements of a box that lie one after the other in the file.
  int64_t contiguousRun(const Box &box) const;
  /// Cuts a box as piecesOf does, into pieces of at most \p pieceBytes. Pieces of scattered
  /// elements are smaller, as MPI-IO keeps a list of their runs.
  std::vector<Box> pieces(const Box &box, std::size_t pieceBytes) const;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_FILEARRAY_H
