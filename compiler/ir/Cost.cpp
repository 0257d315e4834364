//===- Cost.cpp - what a schedule is predicted to take ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Cost.h"

#include "compiler/ir/Moves.h"

#include <algorithm>

namespace einsumc {

namespace {

double largestBlock(const Tree &tree, NodeId tensor, const Placement &placement) {
  // The first rank of a grid has the largest block.
  return static_cast<double>(layoutOf(tree, tensor, placement).localSize(placement.grid.firstRank));
}

} // namespace

NodeCost costOf(const Tree &tree, const Machine &machine, const Schedule &schedule, NodeId node) {
  const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(node)];
  const Layout work = workLayout(tree, node, on);
  double share = 1;
  double elements = 0;
  const Box busiest = work.box(work.grid.firstRank);
  for (std::size_t d = 0; d < busiest.size(); ++d)
    share *= static_cast<double>(busiest[d].size()) / static_cast<double>(work.extents[d]);
  for (const Role role : rolesOf(tree, node))
    elements += largestBlock(tree, tensorOf(tree, node, role), workPlacement(tree, node, on, role));

  NodeCost cost;
  const double arithmetic = tree.flops(node) * share / machine.flopsPerSecond(tree.elementType());
  const double traffic =
      elements * static_cast<double>(sizeInBytes(tree.elementType())) / machine.memoryBandwidth;
  cost.computeSeconds = std::max(arithmetic, traffic);
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
