//===- CommunicationBound.h - how little a contraction can send -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_COMMUNICATIONBOUND_H
#define EINSUMC_PLAN_COMMUNICATIONBOUND_H

#include "compiler/ir/Schedule.h"

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

/// What that bounds, in bytes.
struct RankTraffic {
  /// What the busiest rank sends or gets for a node, and reads of its inputs beyond an even share
  /// of all ranks.
  double moved = 0;
  /// What of operands that other nodes compute lies there beyond an even share, as copies do, and
  /// sums that are left there for other nodes to add up.
  double held = 0;
};
RankTraffic rankTraffic(const Tree &tree, const Schedule &schedule, NodeId node);

} // namespace einsumc

#endif // EINSUMC_PLAN_COMMUNICATIONBOUND_H
