//===- ExplainOrders.h - what the orders of intermediates save --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_EXPLAINORDERS_H
#define EINSUMC_TOOLS_EXPLAINORDERS_H

#include "compiler/ir/DimOrders.h"
#include "compiler/ir/Machine.h"

#include "llvm/Support/raw_ostream.h"

namespace einsumc {

/// Prints every tensor that is stored in another order than it was declared in, with the estimated
/// seconds of its producer and its consumers before and after and the operand that plays LIBXSMM's
/// A there; then the sums over the tree. All estimates are for whole tensors on one rank.
/// \param given the orders that the user forced
void explainOrders(const Tree &declared, const Tree &tree, const Machine &machine,
                   const DimOrders &given, llvm::raw_ostream &out);

} // namespace einsumc

#endif // EINSUMC_TOOLS_EXPLAINORDERS_H
