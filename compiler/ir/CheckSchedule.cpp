//===- CheckSchedule.cpp - the rules of the schedule model ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Schedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace einsumc {

namespace {

std::string checkGrid(const Grid &grid, std::size_t axes, int64_t ranks) {
  if (grid.extents.size() != axes)
    return "the grid has " + std::to_string(grid.extents.size()) + " axes, but " +
           std::to_string(axes) + " are described";
  int64_t size = 1;
  for (int64_t extent : grid.extents)
    if (extent < 1 || __builtin_mul_overflow(size, extent, &size))
      return "an axis of the grid has an invalid extent";
  if (grid.firstRank < 0 || size > ranks || grid.firstRank > ranks - size)
    return "the grid " + gridText(grid) + " needs more than the " + std::to_string(ranks) +
           " ranks";
  return {};
}

bool isCutAlongItsDim(const Tree &tree, NodeId node, const AxisPlacement &storage, Role role) {
  return storage.kind != AxisKind::Split ||
         (storage.position >= 0 &&
          storage.position < static_cast<int>(dimsOf(tree, node, role).size()));
}

/// \pre isCutAlongItsDim
std::string checkTraveller(const AxisSchedule &axis, Role role) {
  const bool isC = role == Role::C;
  const AxisPlacement &storage = axis.storage;
  const auto who = [&] { return "the traveller " + name(role).str(); };
  if (!isC && storage.kind == AxisKind::Partial)
    return who() + " cannot be stored as partial sums";
  if (axis.movement == Movement::None) {
    if (isC && storage.kind != AxisKind::Partial)
      return who() + " is left as partial sums when it does not move: store it as P, or move it";
    if (!isC && storage.kind != AxisKind::Copy)
      return who() + " must be stored as B when it does not move";
    return {};
  }
  if (isC ? storage.kind == AxisKind::Partial : storage.kind == AxisKind::Copy)
    return who() + " has nothing to move along this axis";
  if (isStepping(axis.movement) && storage.kind != AxisKind::Split)
    return who() + " moves in steps, so it must be stored as S(t)";
  if (isC && axis.movement == Movement::Ring && axis.pace < 2)
    return "sums that rotate do so in parts, one under way while another is computed: pace must be "
           "at least 2";
  return {};
}

/// One axis by itself. On one of a single rank nothing moves, whatever it is said to do.
std::string checkAxis(const Tree &tree, NodeId node, const AxisSchedule &axis, int64_t extent) {
  if (axis.pace < 1)
    return "pace must be at least 1";
  if (axis.pace > 1 && !isStepping(axis.movement))
    return "only what moves in steps has a pace";
  if (!axis.loopDim)
    return axis.movement == Movement::None ? "" : "an axis without a loop dim has nothing to move";
  if (!llvm::is_contained(tree.iterationDims(node), *axis.loopDim))
    return "the loop dim '" + tree.dim(*axis.loopDim).name + "' is not a dim of this node";
  const std::optional<Role> role = travellerOf(classOf(tree, node, *axis.loopDim));
  if (role && !isCutAlongItsDim(tree, node, axis.storage, *role))
    return "the traveller " + name(*role).str() + " has no such dim to be split along";
  if (extent == 1)
    return {};
  if (axis.movement == Movement::Stream) {
    if (role == Role::C)
      return "only along a dim of the result can tensors stream";
    return axis.storage.kind == AxisKind::Root ? "" : "what streams is stored at the root, as R";
  }
  if (role)
    return checkTraveller(axis, *role);
  return axis.movement == Movement::None
             ? ""
             : "nothing travels along an axis whose loop dim is in all three tensors";
}

/// The stepping loop: the axes that move in it, together.
std::string checkSteps(const Tree &tree, NodeId node, const NodeSchedule &schedule) {
  llvm::SmallVector<std::size_t, 2> axes;
  for (std::size_t i = 0; i < schedule.axes.size(); ++i)
    if (schedule.grid.extents[i] > 1 && isStepping(schedule.axes[i].movement))
      axes.push_back(i);
  if (axes.empty())
    return {};
  if (tree.node(node).kind == NodeKind::Unary)
    return "a node with one operand computes too little for a stepping loop: move before or after";
  if (axes.size() == 1)
    return {};
  if (axes.size() > 2)
    return "a node has one stepping loop, in which at most two travellers move";
  const AxisSchedule &first = schedule.axes[axes[0]];
  const AxisSchedule &second = schedule.axes[axes[1]];
  if (first.movement == Movement::Stream || second.movement == Movement::Stream)
    return "tensors that stream do so alone";
  auto role = [&](const AxisSchedule &axis) {
    return *travellerOf(classOf(tree, node, *axis.loopDim));
  };
  auto chunked = [&](const AxisSchedule &axis) {
    return dimsOf(tree, node, role(axis))[static_cast<std::size_t>(axis.storage.position)];
  };
  const bool isInLockStep = role(first) != role(second) && role(first) != Role::C &&
                            role(second) != Role::C && chunked(first) == chunked(second) &&
                            classOf(tree, node, chunked(first)) == DimClass::K;
  if (!isInLockStep)
    return "two travellers move in one stepping loop only if they are A and B, both cut along the "
           "same k dim";
  if (first.pace != second.pace)
    return "travellers that move in lock step have the same pace";
  const bool anyRing = first.movement == Movement::Ring || second.movement == Movement::Ring;
  if (anyRing && schedule.grid.extents[axes[0]] != schedule.grid.extents[axes[1]])
    return "a ring in lock step needs axes of the same extent: use bcast or get";
  return {};
}

} // namespace

std::string checkNodeSchedule(const Tree &tree, NodeId node, const NodeSchedule &schedule,
                              int64_t ranks) {
  if (std::string text = checkGrid(schedule.grid, schedule.axes.size(), ranks); !text.empty())
    return text;
  for (std::size_t i = 0; i < schedule.axes.size(); ++i)
    if (std::string text = checkAxis(tree, node, schedule.axes[i], schedule.grid.extents[i]);
        !text.empty())
      return text;
  return checkSteps(tree, node, schedule);
}

std::string checkPlacement(const Tree &tree, NodeId tensor, const Placement &placement,
                           int64_t ranks) {
  if (std::string text = checkGrid(placement.grid, placement.axes.size(), ranks); !text.empty())
    return text;
  for (const AxisPlacement &axis : placement.axes) {
    if (axis.kind == AxisKind::Partial)
      return "inputs and outputs cannot be partial sums";
    if (axis.kind == AxisKind::Split &&
        (axis.position < 0 || axis.position >= static_cast<int>(tree.node(tensor).dims.size())))
      return "the tensor has no such dim to be split along";
  }
  return {};
}

} // namespace einsumc
