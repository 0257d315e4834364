//===- EmitDescription.h - what a program says of itself --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CODEGEN_EMITDESCRIPTION_H
#define EINSUMC_CODEGEN_EMITDESCRIPTION_H

#include "compiler/codegen/Codegen.h"

#include "llvm/Support/raw_ostream.h"

namespace einsumc {

/// Emits the layouts of all buffers and of every node's work, as constants of the program.
void emitLayouts(const Tree &tree, const Schedule &schedule, const LoweredProgram &program,
                 llvm::raw_ostream &out);

/// Emits `ec::ProgramDescription describe()`.
void emitDescription(const Tree &tree, const Machine &machine, const Schedule &schedule,
                     const LoweredProgram &program, const CodegenOptions &options,
                     llvm::raw_ostream &out);

} // namespace einsumc

#endif // EINSUMC_CODEGEN_EMITDESCRIPTION_H
