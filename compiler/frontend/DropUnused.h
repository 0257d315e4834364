//===- DropUnused.h - tensors that no output needs --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_FRONTEND_DROPUNUSED_H
#define EINSUMC_FRONTEND_DROPUNUSED_H

#include "compiler/ir/Tree.h"
#include "compiler/support/Diagnostics.h"

#include <vector>

namespace einsumc {

/// The nodes that outputs are computed from, in their order, with operands renumbered. Warns of the
/// others that the text names, the first 20 one by one.
/// \param nodes operands before their users
/// \param isWritten by node: whether the text names it
std::vector<Node> dropUnused(std::vector<Node> nodes, const std::vector<bool> &isWritten,
                             Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_FRONTEND_DROPUNUSED_H
