//===- LocalShape.h - what is constant about a rank's blocks ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CODEGEN_LOCALSHAPE_H
#define EINSUMC_CODEGEN_LOCALSHAPE_H

#include "einsumc/Layout.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace einsumc {

/// The local extent of each position of a layout, where it is the same on all ranks that hold a
/// block; nothing where it differs from rank to rank.
std::vector<std::optional<int64_t>> constantExtents(const Layout &layout);

/// Elements between neighbours along each position, where it is the same on all ranks.
std::vector<std::optional<int64_t>> constantStrides(const Layout &layout);

/// Whether on every rank the block of \p stored has, at \p storedPosition, exactly the interval
/// that \p work has at \p workPosition.
bool isAligned(const Layout &stored, std::size_t storedPosition, const Layout &work,
               std::size_t workPosition);

/// Whether some rank of the grid has nothing to do along a position.
bool mayBeEmpty(const Layout &layout, std::size_t position);

} // namespace einsumc

#endif // EINSUMC_CODEGEN_LOCALSHAPE_H
