//===- Simulation.h - what a schedule would take on a machine ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SIM_SIMULATION_H
#define EINSUMC_SIM_SIMULATION_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/Schedule.h"
#include "compiler/plan/Network.h"

#include <cstdint>
#include <vector>

namespace einsumc::sim {

/// One unary node or contraction, its moves included. Each of the seconds but the first is that of
/// the rank with most.
struct SimulatedNode {
  NodeId node = 0;
  double seconds = 0;         ///< by which it makes the whole later
  double computeSeconds = 0;  ///< kernels run
  double transferSeconds = 0; ///< messages are under way
  double waitSeconds = 0;     ///< nothing is computed
  double bytes = 0;           ///< sent between ranks, over all of them
};

/// A simulated run.
struct Simulation {
  double seconds = 0; ///< until the last rank is done
  std::vector<SimulatedNode> nodes;
  std::vector<double> linkBytes; ///< by link of the Network: what passes it
};

/// Replays a schedule as the runtime does: every rank does one node after the other and goes on as
/// soon as it has what it needs, ranks beside a node's grid skip it. Computing takes `localCost`.
/// A message takes alpha before its bytes move. In an exchange each rank starts one message at a
/// time, in the order of the distance from sender to receiver, which must both have come to it; the
/// bytes of those that have started move beside each other. Stepping loops compute beside their
/// transfers, as LoopGraph says. A chunk that is broadcast to q ranks takes alpha log2 q, and 2
/// (q-1)/q of its bytes between neighbours of the axis (R. Thakur, R. Rabenseifner and W. Gropp,
/// "Optimization of Collective Communication Operations in MPICH", IJHPCA 19, 2005), and so does a
/// sum over an axis.
///
/// Message by message: every message is a flow that shares the links that it passes with those of
/// its time, max-min fair; messages within a node share the senders' and receivers' rates. The time
/// of the simulation grows with the square of the ranks: for some hundreds.
Simulation simulateMessages(const Tree &tree, const Machine &machine, const Schedule &schedule,
                            const Network &network);

/// By phases, for any number of ranks: an exchange takes each rank its messages' alpha or, if
/// that is longer, the time of the busiest link that its bytes may pass; ranks wait for those with
/// which they exchange. A loop takes the time of one rank with the largest blocks, which stands for
/// all of them in lock step: its transfers take their pattern's load of the busiest network card,
/// the busiest link between nodes, and the busiest rank's messages within a node, shared as above.
/// An exchange of more than 2^20 messages is taken from those of some nodes' ranks, a fetch pattern
/// of more than 64 steps from 64 of them.
Simulation simulatePhases(const Tree &tree, const Machine &machine, const Schedule &schedule,
                          const Network &network);

} // namespace einsumc::sim

#endif // EINSUMC_SIM_SIMULATION_H
