//===- OrderCandidates.h - orders in which a tensor may well be stored ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_ORDERCANDIDATES_H
#define EINSUMC_PLAN_ORDERCANDIDATES_H

#include "compiler/ir/Tree.h"

#include <cstddef>
#include <vector>

namespace einsumc {

/// An order of a tensor: by place in storage, the last the fastest, the position that it holds.
using PositionOrder = std::vector<std::size_t>;

/// A part that a tensor plays: the result or an operand of a node.
struct TensorUse {
  NodeId node = 0;
  /// Index into Node::operands; -1 for the result.
  int operand = -1;
};

/// Orders worth a look, all distinct, the tree's own first. Positions of extent 1, whose place
/// means nothing, keep theirs. Up to four longer positions: all their permutations. More: for each
/// use, the classes that the positions have there (c, m, n, k) one after the other in every
/// sequence, those of a class in the order that the other tensor with them has; then the same with
/// a second use's classes within the first one's.
/// \param uses of the tensor, its definition included
std::vector<PositionOrder> orderCandidates(const Tree &tree, NodeId tensor,
                                           const std::vector<TensorUse> &uses);

} // namespace einsumc

#endif // EINSUMC_PLAN_ORDERCANDIDATES_H
