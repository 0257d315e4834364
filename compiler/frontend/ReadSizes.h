//===- ReadSizes.h - the extents on the command line ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_FRONTEND_READSIZES_H
#define EINSUMC_FRONTEND_READSIZES_H

#include "compiler/frontend/FinishTree.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace einsumc {

/// Reads `100,72,128`, an extent for each of \p labels in their order, or `i=100,j=72`, pairs of
/// label and extent for all of \p labels. The text is added to \p diagnostics as `<--sizes>`.
/// \returns the extents in the order of \p labels, or nothing if there are errors, all of which
/// are reported.
std::optional<std::vector<int64_t>>
readSizes(llvm::StringRef sizes, const std::vector<DimLabel> &labels, Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_FRONTEND_READSIZES_H
