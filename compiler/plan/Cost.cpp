//===- Cost.cpp - what a schedule is predicted to take ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Cost.h"

#include "compiler/ir/Moves.h"
#include "compiler/plan/LocalCost.h"
#include "compiler/plan/RankTimes.h"
#include "compiler/plan/StepCost.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace einsumc {

namespace {

/// The share of a core and of its memory bandwidth that transfers take while others compute
/// (docs/programs.md: from 1 % in shared memory to 20 % over TCP).
constexpr double kTransferShare = 0.1;

RunCost costOfSteps(const StepCost &steps) {
  const double hidden = steps.computeSeconds + steps.transferSeconds - steps.seconds;
  return {steps.computeSeconds, steps.transferSeconds,
          steps.seconds + kTransferShare * std::max(hidden, 0.0)};
}

} // namespace

RunCost RunCosts::of(const NodeSchedule &on) {
  RunCost cost;
  if (const std::optional<Stepping> stepping = steppingOf(tree, node, on)) {
    cost = costOfSteps(stepCost(parts, *stepping, transfers.stepLinks(*stepping)));
  } else {
    cost.computeSeconds = computeSeconds(on);
    cost.seconds = cost.computeSeconds;
  }
  // The sums are added up when the node has run.
  const double adding = transfers.moveSeconds(tree, node, workPlacement(tree, node, on, Role::C),
                                              storedPlacement(tree, node, on, Role::C));
  cost.transferSeconds += adding;
  cost.seconds += adding;
  return cost;
}

double RunCosts::bound(const NodeSchedule &on, const std::optional<Stepping> &stepping) {
  // The larger of compute and transfers counts in full, of the other a share, so both being no
  // more than they are, so is this; but for roundings.
  constexpr double kRounding = 1 - 1e-9;
  const double running =
      stepping
          ? costOfSteps(stepBound(tree, *stepping, machine, transfers.stepLinks(*stepping))).seconds
          : computeBound(on);
  const bool areSumsAdded = llvm::any_of(
      on.axes, [](const AxisSchedule &axis) { return axis.movement == Movement::Gather; });
  const double adding =
      areSumsAdded ? transfers.moveBound(tree, node, workPlacement(tree, node, on, Role::C),
                                         storedPlacement(tree, node, on, Role::C))
                   : 0;
  return kRounding * (running + adding);
}

double RunCosts::computeSeconds(const NodeSchedule &on) {
  return parts.of(busiestPart(tree, node, on));
}

double RunCosts::computeBound(const NodeSchedule &on) const {
  if (tree.node(node).kind == NodeKind::Unary)
    return 0;
  double iterations = 1;
  for (const int64_t extent : workExtents(tree, node, on))
    iterations *= static_cast<double>(extent);
  return leastSeconds(iterations, tree.elementType(), machine);
}

RunCost runCost(const Tree &tree, NodeId node, const NodeSchedule &on, const Machine &machine,
                const TransferCost &transfers) {
  return RunCosts(tree, node, machine, transfers).of(on);
}

namespace {

/// A node's prediction, and by operand what supplying it takes.
struct SuppliedCost {
  NodeCost cost;
  NodeSeconds seconds;
};

SuppliedCost suppliedCost(const Tree &tree, const Machine &machine, const TransferCost &transfers,
                          const Schedule &schedule, NodeId node) {
  const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(node)];
  const RunCost run = runCost(tree, node, on, machine, transfers);
  NodeCost cost{run.seconds, run.computeSeconds, run.transferSeconds, 0,
                trafficBytes(tree, schedule, node)};
  NodeSeconds parts{rangeOf(on.grid), {}, run.seconds, std::nullopt};
  const std::optional<Stepping> stepping = steppingOf(tree, node, on);
  const std::vector<Operand> &operands = tree.node(node).operands;
  for (std::size_t o = 0; o < operands.size(); ++o) {
    const auto role = static_cast<Role>(o);
    const Placement home = homePlacement(tree, schedule, operands[o].node);
    const double seconds = transfers.supplySeconds(
        tree, operands[o].node, home, workPlacement(tree, node, on, role), travels(stepping, role));
    parts.supplies.push_back({rangeOf(home.grid), seconds});
    cost.supplySeconds += seconds;
  }
  cost.seconds += cost.supplySeconds;
  if (const auto &final = schedule.finals[static_cast<std::size_t>(node)]) {
    const double seconds =
        transfers.moveSeconds(tree, node, storedPlacement(tree, node, on, Role::C), *final);
    parts.final = {rangeOf(final->grid), seconds};
    cost.transferSeconds += seconds;
    cost.seconds += seconds;
  }
  return {cost, parts};
}

} // namespace

NodeCost operator*(double times, const NodeCost &cost) {
  return {times * cost.seconds, times * cost.computeSeconds, times * cost.transferSeconds,
          times * cost.supplySeconds, times * cost.bytes};
}

NodeCost costOf(const Tree &tree, const Machine &machine, const TransferCost &transfers,
                const Schedule &schedule, NodeId node) {
  return suppliedCost(tree, machine, transfers, schedule, node).cost;
}

NodeCost costOf(const Tree &tree, const Machine &machine, const Schedule &schedule) {
  const TransferCost transfers(machine, schedule.ranks);
  RankTimes all(schedule.ranks), computing(schedule.ranks), transferring(schedule.ranks),
      supplying(schedule.ranks);
  double bytes = 0;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.node(id).kind == NodeKind::Input)
      continue;
    const auto [cost, parts] = suppliedCost(tree, machine, transfers, schedule, id);
    all.run(parts);
    computing.add(parts.ranks, cost.computeSeconds);
    transferring.add(parts.ranks, cost.transferSeconds);
    supplying.add(parts.ranks, cost.supplySeconds);
    bytes += cost.bytes;
  }
  const auto slices = static_cast<double>(countSlices(schedule.slices));
  return slices *
         NodeCost{all.most(), computing.most(), transferring.most(), supplying.most(), bytes};
}

} // namespace einsumc
