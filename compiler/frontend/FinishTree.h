//===- FinishTree.h - names and extents for a tree without ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_FRONTEND_FINISHTREE_H
#define EINSUMC_FRONTEND_FINISHTREE_H

#include "compiler/ir/Tree.h"
#include "compiler/support/Diagnostics.h"

#include <optional>
#include <string>
#include <vector>

namespace einsumc {

/// A dim of a notation without declarations: a name, or a number (in decimal, no leading zeros).
struct DimLabel {
  std::string text;
  llvm::SMRange where; ///< the first use
};

/// What the notations without names of tensors and without extents (`--tree`, `--einsum`) say.
struct UnfinishedTree {
  std::vector<DimLabel> labels;
  /// Nodes without names, operands before their users, the result last. Their DimIds are indices
  /// into `labels`.
  std::vector<Node> nodes;
};

/// Sorts the dims (numbers by their value, then names in ASCII order), gives them the extents that
/// \p sizes has for them, and names everything: inputs `in0`, `in1`, ... in their order, the
/// result `out`, all between `t0`, `t1`, ..., a number 8 as dim `d8`. Inputs come first in the
/// tree.
///
/// \p sizes, which is added to the texts as `<--sizes>`, has either an extent for each sorted dim,
/// `100,72,128`, or pairs, `i=100,j=72`, for all dims in any order.
/// \pre all of \p tree but its sizes is right: what Tree::check wants, and distinct labels.
/// \returns nothing if there are errors, all of which are reported.
std::optional<Tree> finishTree(UnfinishedTree tree, llvm::StringRef sizes, ElementType type,
                               Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_FRONTEND_FINISHTREE_H
