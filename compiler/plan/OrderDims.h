//===- OrderDims.h - the order in which intermediates are stored ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_ORDERDIMS_H
#define EINSUMC_PLAN_ORDERDIMS_H

#include "compiler/ir/DimOrders.h"
#include "compiler/ir/Machine.h"

namespace einsumc {

/// The tree with its intermediates stored so that the estimated seconds of all nodes on one rank
/// (`localCost`) are least in sum: an order that suits the producer's result and the operands of
/// all consumers together. Inputs and outputs keep the orders that the user declared.
///
/// Each intermediate has a set of candidates (`orderCandidates`), trimmed to the best for its own
/// nodes where a node would have too many combinations; the best combination is found by dynamic
/// programming over the tree, or by bucket elimination where tensors are used more than once
/// (`minimiseSum`). This is repeated from the orders found as long as it gains enough. The
/// estimate of the result never exceeds that of the orders it starts from; ties keep these. The
/// work grows with the nodes only: some hundred estimates each.
/// \param fixed orders that stay as given, e.g. by a plan
/// \pre tree.isBinary()
Tree orderDims(const Tree &tree, const Machine &machine, const DimOrders &fixed = {});

/// What a tree's nodes are estimated to take in sum on one rank, in seconds.
double estimatedSeconds(const Tree &tree, const Machine &machine);

} // namespace einsumc

#endif // EINSUMC_PLAN_ORDERDIMS_H
