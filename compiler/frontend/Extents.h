//===- Extents.h - checks of extents and shapes -----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_FRONTEND_EXTENTS_H
#define EINSUMC_FRONTEND_EXTENTS_H

#include "compiler/ir/Tree.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Lexer.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace einsumc {

/// Reads an extent. Returns whether a number stands there; \p extent is nothing if it is reported
/// as below 1 or too large, so that the caller can go on behind it.
bool readExtent(Lexer &lexer, Diagnostics &diagnostics, std::optional<int64_t> &extent);

/// Reports at \p where that a tensor of these dims has too many of them or is too large to be
/// addressed with 64 bits. \p what names the tensor in the message. Returns whether it is sound.
bool checkShape(const llvm::Twine &what, const std::vector<DimId> &shape,
                const std::vector<Dim> &dims, llvm::SMLoc where, Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_FRONTEND_EXTENTS_H
