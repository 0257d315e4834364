//===- Moves.h - the redistributions that a schedule implies ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_IR_MOVES_H
#define EINSUMC_IR_MOVES_H

#include "compiler/ir/Schedule.h"

#include <vector>

namespace einsumc {

/// The placements that a tensor passes through on its way from one placement to another, the last
/// one included; empty when nothing has to move. Each hop is one exchange of messages.
///   - Partial sums of some size are first added up into blocks (a reduce-scatter), from which the
///     target is then filled: P -> S -> B moves 2 (p-1)/p of the tensor a rank, P -> B p-1 times
///     it.
///   - A tensor of some size on one rank that all need is first scattered, so that all help to
///     spread it.
std::vector<Placement> route(const Tree &tree, NodeId tensor, const Placement &from,
                             const Placement &to);

/// Whether every rank's block under \p needed lies within what it stores under \p stored, so that
/// a strided view does instead of a move.
bool covers(const Tree &tree, NodeId tensor, const Placement &stored, const Placement &needed);

/// The moves around one node: what its stepping loop moves is none of them.
struct NodeMoves {
  /// By operand: the placements that a copy of it passes through before the compute, empty when it
  /// is used where it lies.
  std::vector<std::vector<Placement>> operands;
  /// The placements of the result after the compute, up to where later nodes find it.
  std::vector<Placement> result;
  /// From there to where an output is wanted.
  std::vector<Placement> final;
};
NodeMoves movesOf(const Tree &tree, const Schedule &schedule, NodeId node);

/// What a node sends between ranks, in bytes summed over the ranks.
struct NodeTraffic {
  /// By operand: what is moved to where the node needs it, and its chunks in a stepping loop.
  std::vector<double> operands;
  double result = 0; ///< sums that are added up, and chunks of them
  double final = 0;  ///< of an output, to where it is wanted
};
NodeTraffic trafficOf(const Tree &tree, const Schedule &schedule, NodeId node);

/// One exchange of messages: a tensor goes from one layout to another.
struct Hop {
  NodeId tensor = 0;
  Layout from, to;
};
/// The exchanges of a node's moves in the order in which they happen.
struct NodeHops {
  std::vector<Hop> before; ///< of operands, before the compute
  std::vector<Hop> after;  ///< of the result
};
NodeHops hopsOf(const Tree &tree, const Schedule &schedule, NodeId node);

/// The bytes that a node's moves and its stepping loop send between ranks, summed over the ranks.
double trafficBytes(const Tree &tree, const Schedule &schedule, NodeId node);
/// The messages that they send: a chunk that is broadcast is one for each rank that gets it.
int64_t trafficMessages(const Tree &tree, const Schedule &schedule, NodeId node);

} // namespace einsumc

#endif // EINSUMC_IR_MOVES_H
