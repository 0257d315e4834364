//===- EmitKernel.h - the C++ of a contraction's kernels --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CODEGEN_EMITKERNEL_H
#define EINSUMC_CODEGEN_EMITKERNEL_H

#include "compiler/codegen/NodeScope.h"

#include <string>

namespace einsumc {

/// Emits the kernel that a nest calls, or the set of them, into the members of the node's struct.
/// Returns its name.
std::string emitKernel(const Tree &tree, const LocalNest &nest, NodeScope &scope,
                       llvm::raw_ostream &members);

} // namespace einsumc

#endif // EINSUMC_CODEGEN_EMITKERNEL_H
