//===- EmitStorage.h - the C++ of the tensors' memory -----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CODEGEN_EMITSTORAGE_H
#define EINSUMC_CODEGEN_EMITSTORAGE_H

#include "compiler/lower/Lower.h"

#include "llvm/Support/raw_ostream.h"

namespace einsumc {

/// Emits the tensors as members of the program's class, and the storage that they share.
void emitTensors(const Tree &tree, const LoweredProgram &program, llvm::raw_ostream &out);

/// Emits the release of what nobody reads after a step.
void emitReleases(const LoweredProgram &program, int step, llvm::raw_ostream &out);

} // namespace einsumc

#endif // EINSUMC_CODEGEN_EMITSTORAGE_H
