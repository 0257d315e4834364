//===- EmitNest.h - the C++ of a contraction's loop nest --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CODEGEN_EMITNEST_H
#define EINSUMC_CODEGEN_EMITNEST_H

#include "compiler/codegen/NodeScope.h"

namespace einsumc {

/// Emits a nest: its tile constants and kernels into the members of the node's struct, its loops
/// into the body of `run`.
void emitNest(const Tree &tree, const LocalNest &nest, NodeScope &scope, llvm::raw_ostream &members,
              llvm::raw_ostream &body);

} // namespace einsumc

#endif // EINSUMC_CODEGEN_EMITNEST_H
