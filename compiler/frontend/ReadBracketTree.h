//===- ReadBracketTree.h - bracket notation to tree -------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_FRONTEND_READBRACKETTREE_H
#define EINSUMC_FRONTEND_READBRACKETTREE_H

#include "compiler/ir/Tree.h"
#include "compiler/support/Diagnostics.h"

#include <optional>

namespace einsumc {

/// Reads a tree in bracket notation, `[[8,4],[7,3,8]->[7,3,4]],[5,7]->[5,3,4]`, as einsum_ir and
/// the literature on einsum trees write it:
///
///   tree    := operand (',' operand)? '->' '[' dims ']'
///   operand := '[' dims ']'                         an input
///            | '[' (tree | operand) ']'             a tree within a tree
///   dims    := (dim (',' dim)*)?                    numbers or names
///
/// The whole may stand in brackets, too. Every leaf is an input of its own.
///
/// \p tree and \p sizes (see finishTree, which also says how everything is named) are added to
/// \p diagnostics as `<--tree>` and `<--sizes>`.
/// \returns nothing if there are errors, all of which are reported.
std::optional<Tree> readBracketTree(llvm::StringRef tree, llvm::StringRef sizes, ElementType type,
                                    Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_FRONTEND_READBRACKETTREE_H
