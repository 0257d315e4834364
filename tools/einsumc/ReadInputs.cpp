//===- ReadInputs.cpp - the tree and the machine that the options name ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "ReadInputs.h"

#include "Output.h"

#include "compiler/frontend/ReadBracketTree.h"
#include "compiler/frontend/ReadEin.h"
#include "compiler/frontend/ReadEinsum.h"
#include "compiler/plan/Network.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace einsumc {

std::optional<Tree> readTree(const Options &options, Diagnostics &diagnostics) {
  if (options.tree)
    return readBracketTree(*options.tree, options.sizes, options.elementType, diagnostics);
  if (options.einsum)
    return readEinsum(*options.einsum, options.sizes,
                      options.path ? std::optional<llvm::StringRef>(*options.path) : std::nullopt,
                      options.elementType, diagnostics);
  const std::optional<llvm::StringRef> text = readFile(*options.inputFile, diagnostics);
  if (!text)
    return std::nullopt;
  return readEin(*text, diagnostics);
}

std::optional<Machine> machineToUse(const Options &options, Diagnostics &diagnostics) {
  if (options.machineName)
    return builtInMachine(*options.machineName);
  if (!options.machineFile)
    return Machine{};
  const std::optional<llvm::StringRef> text = readFile(*options.machineFile, diagnostics);
  if (!text)
    return std::nullopt;
  return readMachine(*text, diagnostics);
}

bool checkNodes(const Machine &machine, int64_t ranks, llvm::StringRef tool) {
  const std::optional<int64_t> limit = Network::nodeLimit(machine);
  const int64_t nodes = llvm::divideCeil(ranks, machine.ranksPerNode);
  if (!limit || nodes <= *limit)
    return true;
  llvm::errs() << tool << ": error: the ranks need " << nodes << " nodes, but " << machine.topology
               << " has " << *limit << "\n";
  return false;
}

std::optional<int64_t> memoryOf(const Options &options, const Machine &machine) {
  const bool isKnown = options.memory || options.machineFile || options.machineName;
  return isKnown ? std::optional(options.memory.value_or(machine.memory)) : std::nullopt;
}

} // namespace einsumc
