//===- DimOrders.h - the same tree with its intermediates stored in other orders --------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_IR_DIMORDERS_H
#define EINSUMC_IR_DIMORDERS_H

#include "compiler/ir/Tree.h"

#include <map>
#include <vector>

namespace einsumc {

struct PartialSchedule;

/// By tensor: the dims of its definition in the order in which it is to be stored, the last the
/// fastest.
using DimOrders = std::map<NodeId, std::vector<DimId>>;

/// Whether the compiler may choose the order of a tensor: it is neither an input nor an output,
/// whose orders are the user's.
bool isIntermediate(const Tree &tree, NodeId node);

/// The tree with some intermediates stored in other orders: their definitions and all uses change,
/// values and node ids do not.
/// \pre each order is a permutation of the dims of an intermediate
Tree reordered(const Tree &tree, const DimOrders &orders);

/// A partial schedule of \p from as one of \p to, which `reordered` made of it: positions of
/// intermediates follow their dims.
PartialSchedule reordered(PartialSchedule schedule, const Tree &from, const Tree &to);

} // namespace einsumc

#endif // EINSUMC_IR_DIMORDERS_H
