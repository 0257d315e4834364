//===- ReadPath.h - the notation of contraction paths -----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_FRONTEND_READPATH_H
#define EINSUMC_FRONTEND_READPATH_H

#include "compiler/support/Diagnostics.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace einsumc {

/// One `(0, 2)` of a path.
struct PathStep {
  struct Position {
    std::size_t value = 0;
    llvm::SMRange where;
  };
  std::vector<Position> positions; ///< one at least, distinct, each an index into the list
  llvm::SMLoc where;
};

/// Reads `(1,2),(0,1)`, or as a Python list, with or without the word that np.einsum_path puts in
/// front: `['einsum_path', (1, 2), (0, 1)]`. It starts with a list of \p operands operands; each
/// step removes those at its positions from the list and appends one.
///
/// \p path is added to \p diagnostics as `<--path>`.
/// \returns nothing if there are errors, all of which are reported.
std::optional<std::vector<PathStep>> readPath(llvm::StringRef path, std::size_t operands,
                                              Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_FRONTEND_READPATH_H
