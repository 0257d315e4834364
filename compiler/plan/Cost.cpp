//===- Cost.cpp - what a schedule is predicted to take ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Cost.h"

#include "compiler/ir/Moves.h"
#include "compiler/plan/LocalCost.h"

namespace einsumc {

NodeCost costOf(const Tree &tree, const Machine &machine, const Schedule &schedule, NodeId node) {
  const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(node)];
  NodeCost cost;
  cost.computeSeconds = localCost(localWork(tree, node, on), machine).seconds();
  cost.bytes = trafficBytes(tree, schedule, node);
  cost.seconds = cost.computeSeconds;
  if (cost.bytes > 0) {
    const auto ranks = static_cast<double>(schedule.ranks);
    const Link &link =
        schedule.ranks <= machine.ranksPerNode ? machine.withinNode : machine.betweenNodes;
    cost.seconds += link.alpha * ranks + link.beta * cost.bytes / ranks;
  }
  return cost;
}

} // namespace einsumc
