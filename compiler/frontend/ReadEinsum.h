//===- ReadEinsum.h - NumPy's einsum notation to tree -----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_FRONTEND_READEINSUM_H
#define EINSUMC_FRONTEND_READEINSUM_H

#include "compiler/ir/Tree.h"
#include "compiler/support/Diagnostics.h"

#include <optional>

namespace einsumc {

/// Reads `ij,jk->ik` by the rules of NumPy: dims are letters, spaces mean nothing, operands may be
/// empty (scalars) and repeat letters (diagonals), and without `->` the result has the letters
/// that appear once, sorted. There is no `...`.
///
/// Without \p path this is one product. A path, `(1,2),(0,1)` or `[(1, 2), (0, 1)]`, is that of
/// opt_einsum and np.einsum_path: each step multiplies the operands at these positions, removes
/// them from the list of operands, and appends the result, which has the dims that later steps
/// need, in the order of their first appearance. What is left at the end is one product.
///
/// \p einsum, \p sizes (see finishTree, which also says how everything is named) and \p path are
/// added to \p diagnostics as `<--einsum>`, `<--sizes>` and `<--path>`.
/// \returns nothing if there are errors, all of which are reported.
std::optional<Tree> readEinsum(llvm::StringRef einsum, llvm::StringRef sizes,
                               std::optional<llvm::StringRef> path, ElementType type,
                               Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_FRONTEND_READEINSUM_H
