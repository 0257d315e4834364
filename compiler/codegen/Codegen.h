//===- Codegen.h - a lowered program as C++ text ----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CODEGEN_CODEGEN_H
#define EINSUMC_CODEGEN_CODEGEN_H

#include "compiler/ir/Machine.h"
#include "compiler/lower/Lower.h"

#include <string>

namespace einsumc {

struct CodegenOptions {
  /// What the program was compiled from, for its head and `--help`; any text.
  std::string source;
  /// A translation unit with a class for a caller's own main function instead of a program.
  bool library = false;
  /// Of a library: how its source includes its header; any text without a line break.
  std::string headerName;
  /// Of a library: the namespace of its class; an identifier.
  std::string libraryNamespace;
};

struct GeneratedCode {
  std::string source;
  std::string header; ///< empty for a program
};

/// The C++20 text of a program (or library) that evaluates the tree by the schedule on exactly its
/// number of ranks, through the runtime of include/einsumc.
GeneratedCode generateCpp(const Tree &tree, const Machine &machine, const Schedule &schedule,
                          const LoweredProgram &program, const CodegenOptions &options);

} // namespace einsumc

#endif // EINSUMC_CODEGEN_CODEGEN_H
