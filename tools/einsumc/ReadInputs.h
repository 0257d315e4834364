//===- ReadInputs.h - the tree and the machine that the options name --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_READINPUTS_H
#define EINSUMC_TOOLS_READINPUTS_H

#include "Options.h"

#include "compiler/ir/Machine.h"
#include "compiler/support/Diagnostics.h"

#include <optional>

namespace einsumc {

/// The tree of the options' file, brackets or einsum; reports what is wrong with it.
std::optional<Tree> readTree(const Options &options, Diagnostics &diagnostics);

/// The machine that the options name, or the built-in one; reports what is wrong with its file.
std::optional<Machine> machineToUse(const Options &options, Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_TOOLS_READINPUTS_H
