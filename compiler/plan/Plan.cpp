//===- Plan.cpp - chooses how every node and tensor lies on the ranks -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Plan.h"

#include "compiler/plan/Algorithms.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace einsumc {

namespace {

/// The classes whose dims are tried in turn: cutting along a c dim moves nothing, along m or n a
/// copy of the other operand, along k the result.
const std::vector<std::vector<DimClass>> kCutOrder = {
    {DimClass::C}, {DimClass::M, DimClass::N}, {DimClass::K}};

class FirstPlanner {
public:
  FirstPlanner(const Tree &tree, const Machine &machine, const PlanOptions &options)
      : tree(tree), machine(machine), options(options) {}

  Schedule run() {
    const auto size = static_cast<std::size_t>(tree.size());
    schedule.ranks = options.ranks;
    schedule.slices = options.fixed.slices;
    schedule.inputs.resize(size);
    schedule.nodes.resize(size);
    schedule.finals.resize(size);
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).kind != NodeKind::Input)
        schedule.nodes[static_cast<std::size_t>(id)] = scheduleOf(id);
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).kind == NodeKind::Input)
        schedule.inputs[static_cast<std::size_t>(id)] = placementOfInput(id);
    for (NodeId id = 0; id < tree.size(); ++id)
      schedule.finals[static_cast<std::size_t>(id)] = finalPlacement(id);
    return std::move(schedule);
  }

private:
  NodeSchedule scheduleOf(NodeId id) const {
    if (auto fixed = options.fixed.nodes.find(id); fixed != options.fixed.nodes.end())
      return fixed->second;
    if (isSmall(id))
      return localSchedule(options.ranks);
    std::optional<DimId> fallback;
    for (const std::vector<DimClass> &classes : kCutOrder) {
      const std::optional<DimId> dim = bestDim(id, classes);
      if (dim && tree.dim(*dim).extent >= options.ranks)
        return cutAlong(tree, id, *dim, options.ranks);
      fallback = fallback ? fallback : dim;
    }
    return fallback ? cutAlong(tree, id, *fallback, options.ranks) : localSchedule(options.ranks);
  }

  /// Whether computing the node everywhere costs less than the messages of cutting it.
  bool isSmall(NodeId id) const {
    const double seconds = tree.flops(id) / machine.flopsPerSecond(tree.elementType());
    double elements = static_cast<double>(tree.elements(id));
    for (const Operand &operand : tree.node(id).operands)
      elements += static_cast<double>(tree.elements(operand.node));
    const double traffic =
        elements * static_cast<double>(sizeInBytes(tree.elementType())) / machine.memoryBandwidth;
    constexpr double kMessages = 10;
    return std::max(seconds, traffic) < kMessages * machine.betweenNodes.alpha;
  }

  /// The dim of some classes that leaves the busiest rank the least work, the longest of equals;
  /// none if all have extent 1.
  std::optional<DimId> bestDim(NodeId id, const std::vector<DimClass> &classes) const {
    auto quality = [&](DimId dim) {
      const int64_t extent = tree.dim(dim).extent;
      const int64_t longest = (extent + options.ranks - 1) / options.ranks;
      return std::make_tuple(-static_cast<double>(longest) / static_cast<double>(extent), extent);
    };
    std::optional<DimId> best;
    for (DimId dim : tree.iterationDims(id))
      if (llvm::is_contained(classes, classOf(tree, id, dim)) && tree.dim(dim).extent > 1 &&
          (!best || quality(dim) > quality(*best)))
        best = dim;
    return best;
  }

  /// Where the first user needs it, or the pin.
  Placement placementOfInput(NodeId input) const {
    if (auto fixed = options.fixed.inputs.find(input); fixed != options.fixed.inputs.end())
      return fixed->second;
    if (std::optional<Placement> pinned = pinnedPlacement(tree.node(input).pin, options.ranks))
      return *pinned;
    for (NodeId id = input + 1; id < tree.size(); ++id)
      for (const Role role : rolesOf(tree, id))
        if (role != Role::C && tree.node(id).kind != NodeKind::Input &&
            tensorOf(tree, id, role) == input)
          return storedPlacement(tree, id, schedule.nodes[static_cast<std::size_t>(id)], role);
    return normalised({{{options.ranks}, 0}, {copied()}});
  }

  /// Outputs end where they are pinned, and never as partial sums.
  std::optional<Placement> finalPlacement(NodeId id) const {
    const Node &node = tree.node(id);
    if (!node.isOutput)
      return std::nullopt;
    const Placement home = homePlacement(tree, schedule, id);
    std::optional<Placement> wanted = pinnedPlacement(node.pin, options.ranks);
    if (auto fixed = options.fixed.finals.find(id); fixed != options.fixed.finals.end())
      wanted = normalised(fixed->second);
    if (!wanted) {
      wanted = home;
      for (AxisPlacement &axis : wanted->axes)
        axis = axis.kind == AxisKind::Partial ? copied() : axis;
    }
    return *wanted == home ? std::nullopt : wanted;
  }

  const Tree &tree;
  const Machine &machine;
  const PlanOptions &options;
  Schedule schedule;
};

} // namespace

Schedule plan(const Tree &tree, const Machine &machine, const PlanOptions &options) {
  return FirstPlanner(tree, machine, options).run();
}

} // namespace einsumc
