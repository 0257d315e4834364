//===- Cost.cpp - what a schedule is predicted to take ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Cost.h"

#include "compiler/ir/Moves.h"
#include "compiler/plan/LocalCost.h"
#include "compiler/plan/StepCost.h"

namespace einsumc {

NodeCost costOf(const Tree &tree, const Machine &machine, const Schedule &schedule, NodeId node) {
  const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(node)];
  const Link &link =
      schedule.ranks <= machine.ranksPerNode ? machine.withinNode : machine.betweenNodes;
  NodeCost cost;
  cost.bytes = trafficBytes(tree, schedule, node);
  double bytesAround = cost.bytes; // the loop
  if (const std::optional<Stepping> stepping = steppingOf(tree, node, on)) {
    const StepCost steps = stepCost(tree, node, *stepping, machine, link);
    cost.computeSeconds = steps.computeSeconds;
    cost.seconds = steps.seconds;
    bytesAround -= static_cast<double>(trafficOf(*stepping).elements) *
                   static_cast<double>(sizeInBytes(tree.elementType()));
  } else {
    cost.computeSeconds = localCost(localWork(tree, node, on), machine).seconds();
    cost.seconds = cost.computeSeconds;
  }
  if (bytesAround > 0) {
    const auto ranks = static_cast<double>(schedule.ranks);
    cost.seconds += link.alpha * ranks + link.beta * bytesAround / ranks;
  }
  return cost;
}

} // namespace einsumc
