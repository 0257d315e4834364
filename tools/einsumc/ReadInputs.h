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

/// Whether the machine's topology has room for the ranks; says so on stderr, for a tool, if not.
bool checkNodes(const Machine &machine, int64_t ranks, llvm::StringRef tool);

/// Bytes that a rank may use for tensors; none if neither the options nor a machine say.
std::optional<int64_t> memoryOf(const Options &options, const Machine &machine);

} // namespace einsumc

#endif // EINSUMC_TOOLS_READINPUTS_H
