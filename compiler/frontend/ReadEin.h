//===- ReadEin.h - .ein text to tree ----------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_FRONTEND_READEIN_H
#define EINSUMC_FRONTEND_READEIN_H

#include "compiler/ir/Tree.h"
#include "compiler/support/Diagnostics.h"

#include <optional>

namespace einsumc {

/// Reads a text in the .ein language (docs/language.md) that `diagnostics.addText` returned.
///
/// Products stay as they are written: of any number of factors, with dims repeated in an operand
/// or summed in one operand alone. Factors in parentheses become a tensor of their own (`Y_1`),
/// whose dims are those that the rest of the equation needs, in the order of their first
/// appearance. Tensors that no output needs are left out, with a warning.
///
/// \returns nothing if there are errors, all of which are reported.
std::optional<Tree> readEin(llvm::StringRef text, Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_FRONTEND_READEIN_H
