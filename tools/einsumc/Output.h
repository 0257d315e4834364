//===- Output.h - the files that the compiler reads and writes --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_OUTPUT_H
#define EINSUMC_TOOLS_OUTPUT_H

#include "Options.h"

#include "compiler/codegen/Codegen.h"
#include "compiler/support/Diagnostics.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>

namespace einsumc {

/// The text of a file, kept by the diagnostics; reports a file that cannot be read.
std::optional<llvm::StringRef> readFile(const std::string &path, Diagnostics &diagnostics);

/// Writes a file (or stdout for `-`) whole or not at all: an older file of that name stays if
/// writing fails, which is reported.
bool writeFile(const std::string &path, llvm::function_ref<void(llvm::raw_ostream &)> print);

/// Writes the dependency file in Make's syntax: the output needs the files that were read.
bool writeDependencies(const Options &options);

/// What the options say to the code generator.
CodegenOptions codegenOptions(const Options &options);

} // namespace einsumc

#endif // EINSUMC_TOOLS_OUTPUT_H
