//===- PrintSchedule.cpp - the text form of schedules -----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/DimOrders.h"
#include "compiler/ir/Schedule.h"
#include "compiler/support/Text.h"

#include <algorithm>

namespace einsumc {

llvm::StringRef name(Movement movement) {
  static constexpr llvm::StringLiteral kNames[] = {"none",   "ring", "bcast",
                                                   "gather", "get",  "stream"};
  return kNames[static_cast<std::size_t>(movement)];
}

llvm::StringRef name(Role role) {
  static constexpr llvm::StringLiteral kNames[] = {"A", "B", "C"};
  return kNames[static_cast<std::size_t>(role)];
}

namespace {

/// A position by its dim's name, or by its number where the name is not unique.
std::string positionText(const Tree &tree, const std::vector<DimId> &dims, int position) {
  const DimId dim = dims[static_cast<std::size_t>(position)];
  if (std::count(dims.begin(), dims.end(), dim) == 1)
    return tree.dim(dim).name;
  return std::to_string(position);
}

std::string axisText(const Tree &tree, const std::vector<DimId> &dims, const AxisPlacement &axis,
                     bool withLevel) {
  switch (axis.kind) {
  case AxisKind::Split:
    return (withLevel && axis.level > 0 ? "S" + std::to_string(axis.level) : "S") + "(" +
           positionText(tree, dims, axis.position) + ")";
  case AxisKind::Copy:
    return "B";
  case AxisKind::Partial:
    return "P";
  case AxisKind::Root:
    return "R";
  }
  return {};
}

std::string axisScheduleText(const Tree &tree, NodeId node, const AxisSchedule &axis) {
  if (!axis.loopDim)
    return "-";
  std::string text = tree.dim(*axis.loopDim).name;
  const std::optional<Role> role = travellerOf(classOf(tree, node, *axis.loopDim));
  if (axis.movement == Movement::Stream)
    text += "(R";
  else if (role)
    text += "(" + name(*role).str() + "=" +
            axisText(tree, dimsOf(tree, node, *role), axis.storage, false);
  else
    return text;
  if (axis.movement != Movement::None)
    text += " " + name(axis.movement).str();
  if (axis.pace != 1)
    text += " pace=" + std::to_string(axis.pace);
  return text + ")";
}

} // namespace

std::string gridText(const Grid &grid) {
  std::vector<std::string> extents;
  for (int64_t extent : grid.extents)
    extents.push_back(std::to_string(extent));
  std::string text = "[" + join(extents, ",") + "]";
  return grid.firstRank == 0 ? text : text + "@" + std::to_string(grid.firstRank);
}

std::string placementText(const Tree &tree, NodeId tensor, const Placement &placement) {
  std::vector<std::string> axes;
  for (const AxisPlacement &axis : placement.axes)
    axes.push_back(axisText(tree, tree.node(tensor).dims, axis, true));
  return gridText(placement.grid) + (axes.empty() ? "" : " ") + join(axes, ",");
}

std::string nodeScheduleText(const Tree &tree, NodeId node, const NodeSchedule &schedule) {
  std::vector<std::string> axes;
  for (const AxisSchedule &axis : schedule.axes)
    axes.push_back(axisScheduleText(tree, node, axis));
  return gridText(schedule.grid) + (axes.empty() ? "" : " ") + join(axes, ",");
}

void print(const Tree &tree, const Schedule &schedule, llvm::raw_ostream &stream) {
  stream << "plan ranks=" << schedule.ranks << "\n";
  if (!schedule.slices.empty())
    stream << "slice " << slicesText(tree, schedule.slices) << "\n";
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Node &node = tree.node(id);
    const auto index = static_cast<std::size_t>(id);
    if (node.kind == NodeKind::Input) {
      stream << node.name << ": " << placementText(tree, id, schedule.inputs[index]) << "\n";
      continue;
    }
    const NodeSchedule &on = schedule.nodes[index];
    stream << (isIntermediate(tree, id) ? tensorText(tree, node.name, node.dims) : node.name)
           << ": " << nodeScheduleText(tree, id, on) << "  # " << algorithmName(tree, id, on)
           << "\n";
  }
  for (NodeId id = 0; id < tree.size(); ++id)
    if (const std::optional<Placement> &place = schedule.finals[static_cast<std::size_t>(id)])
      stream << "final " << tree.node(id).name << ": " << placementText(tree, id, *place) << "\n";
}

} // namespace einsumc
