//===- InputOptions.h - the command line's words for what is planned --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_INPUTOPTIONS_H
#define EINSUMC_TOOLS_INPUTOPTIONS_H

#include "Options.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/CommandLine.h"

#include <optional>
#include <string>

namespace einsumc {

/// The options that say what is planned, and for what: those of every tool that plans. They live
/// while LLVM's command-line library parses.
struct InputOptions {
  explicit InputOptions(llvm::cl::OptionCategory &category);

  llvm::cl::opt<std::string> input, tree, einsum, sizes, path, dtype;
  llvm::cl::opt<long long> ranks;
  llvm::cl::opt<std::string> machine, plan;
  llvm::cl::list<std::string> algorithms;
  llvm::cl::opt<DimOrderChoice> dimOrder;
  llvm::cl::opt<GroupChoice> groups;
};

/// Reports wrong usage of a tool, and returns false.
bool usageError(llvm::StringRef tool, const llvm::Twine &message);

/// The option's value, if it was given.
std::optional<std::string> given(const llvm::cl::opt<std::string> &option);

/// Fills in what these options say; reports wrong usage and returns false.
bool fillInputs(const InputOptions &line, llvm::StringRef tool, Options &options);

} // namespace einsumc

#endif // EINSUMC_TOOLS_INPUTOPTIONS_H
