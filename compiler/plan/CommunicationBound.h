//===- CommunicationBound.h - how little a contraction can send -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_COMMUNICATIONBOUND_H
#define EINSUMC_PLAN_COMMUNICATIONBOUND_H

#include "compiler/ir/Tree.h"

#include <cstdint>

namespace einsumc {

/// Bytes that some rank must send or get at least when a node is computed by so many ranks that
/// store every operand and the result once, in even shares, with any amount of memory: with the
/// products d1 >= d2 >= d3 of the extents of its m, n and k dims,
///
///   P <= d1 / d2             d2 d3 (1 - 1/P)
///   d1 / d2 < P <= d1 d2/d3^2   2 (d1 d2 d3^2 / P)^(1/2) + d1 d2 / P - S
///   more                     3 (d1 d2 d3 / P)^(2/3) - S
///
/// elements, S being the share (d1 d2 + d1 d3 + d2 d3) / P that a rank stores (H. Al Daas,
/// G. Ballard, L. Grigori, S. Kumar and K. Rouse, "Tight Memory-Independent Parallel Matrix
/// Multiplication Communication Lower Bounds", SPAA 2022). Of the products that c dims
/// number each has P over their extents ranks, at least one. 0 for unary nodes.
double communicationBound(const Tree &tree, NodeId node, int64_t ranks);

} // namespace einsumc

#endif // EINSUMC_PLAN_COMMUNICATIONBOUND_H
