//===- EmitNode.h - the C++ of one node -------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CODEGEN_EMITNODE_H
#define EINSUMC_CODEGEN_EMITNODE_H

#include "compiler/lower/Lower.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>

namespace einsumc {

/// `float` or `double`.
std::string cppType(ElementType type);

/// Names of what is emitted, safe whatever the tensors and dims are called: the identifiers of the
/// source stand behind a prefix that no keyword, macro or name of the runtime has.
std::string tensorName(const TensorBuffer &buffer);      ///< `tensor_X`
std::string layoutName(const TensorBuffer &buffer);      ///< `layout_X`
std::string workName(const Tree &tree, NodeId node);     ///< `work_T`
std::string computeName(const Tree &tree, NodeId node);  ///< `Compute_T`
std::string steppingName(const Tree &tree, NodeId node); ///< `stepping_T`
std::string placeName(const TensorBuffer &buffer);       ///< `place_X`

/// A declaration: what follows it in its block is shown by --trace as an activity of the thread.
std::string traceSpan(const std::string &activity);

/// Emits the struct of a node: its local extents, strides and kernels, and the function `run` that
/// computes this rank's block of the result.
void emitNode(const Tree &tree, const Schedule &schedule, const LoweredProgram &program,
              const LoweredNode &node, llvm::raw_ostream &out);

} // namespace einsumc

#endif // EINSUMC_CODEGEN_EMITNODE_H
