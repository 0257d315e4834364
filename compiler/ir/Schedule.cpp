//===- Schedule.cpp - what follows from a schedule --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Schedule.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace einsumc {

namespace {

bool contains(const std::vector<DimId> &dims, DimId dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

int positionOf(const std::vector<DimId> &dims, DimId dim) {
  return static_cast<int>(std::find(dims.begin(), dims.end(), dim) - dims.begin());
}

/// How a role's tensor lies along one axis, during the work or in storage.
AxisPlacement placementOnAxis(const Tree &tree, NodeId node, const AxisSchedule &axis, Role role,
                              bool stored) {
  if (!axis.loopDim)
    return copied();
  const std::vector<DimId> &dims = dimsOf(tree, node, role);
  const int position = positionOf(dims, *axis.loopDim);
  const bool isTraveller = position == static_cast<int>(dims.size()); // It lacks the dim.
  if (axis.movement == Movement::Stream)
    return isTraveller ? copied() : atRoot();
  if (!isTraveller)
    return split(position);
  if (stored || axis.movement != Movement::Gather)
    return axis.storage;
  return role == Role::C ? partial() : copied();
}

StepMovement stepMovement(Movement movement) {
  switch (movement) {
  case Movement::Bcast:
    return StepMovement::Bcast;
  case Movement::Get:
    return StepMovement::Get;
  case Movement::Stream:
    return StepMovement::Stream;
  default:
    return StepMovement::Ring;
  }
}

Placement placementOfRole(const Tree &tree, NodeId node, const NodeSchedule &schedule, Role role,
                          bool stored) {
  Placement result{schedule.grid, {}};
  result.axes.reserve(schedule.axes.size());
  for (const AxisSchedule &axis : schedule.axes)
    result.axes.push_back(placementOnAxis(tree, node, axis, role, stored));
  return normalised(std::move(result));
}

/// Makes the levels of the axes that cut a position 0 where their order says the same.
void clearLevels(Placement &placement, int position) {
  auto cuts = [&](const AxisPlacement &on) {
    return on.kind == AxisKind::Split && on.position == position;
  };
  int level = std::numeric_limits<int>::min();
  for (const AxisPlacement &on : placement.axes) {
    if (!cuts(on))
      continue;
    if (on.level < level)
      return;
    level = on.level;
  }
  for (AxisPlacement &on : placement.axes)
    if (cuts(on))
      on.level = 0;
}

} // namespace

bool isStepping(Movement movement) {
  return movement != Movement::None && movement != Movement::Gather;
}

DimClass classOf(const Tree &tree, NodeId id, DimId dim) {
  const Node &node = tree.node(id);
  const bool inResult = contains(node.dims, dim);
  if (node.kind == NodeKind::Unary)
    return inResult ? DimClass::C : DimClass::K;
  const bool inA = contains(node.operands[0].dims, dim);
  const bool inB = contains(node.operands[1].dims, dim);
  if (inA && inB)
    return inResult ? DimClass::C : DimClass::K;
  return inA ? DimClass::M : DimClass::N;
}

std::optional<Role> travellerOf(DimClass dimClass) {
  switch (dimClass) {
  case DimClass::C:
    return std::nullopt;
  case DimClass::M:
    return Role::B;
  case DimClass::N:
    return Role::A;
  case DimClass::K:
    return Role::C;
  }
  return std::nullopt;
}

const std::vector<DimId> &dimsOf(const Tree &tree, NodeId node, Role role) {
  const Node &n = tree.node(node);
  return role == Role::C ? n.dims : n.operands[role == Role::A ? 0 : 1].dims;
}

NodeId tensorOf(const Tree &tree, NodeId node, Role role) {
  return role == Role::C ? node : tree.node(node).operands[role == Role::A ? 0 : 1].node;
}

std::vector<Role> rolesOf(const Tree &tree, NodeId node) {
  switch (tree.node(node).kind) {
  case NodeKind::Input:
    return {Role::C};
  case NodeKind::Unary:
    return {Role::A, Role::C};
  case NodeKind::Product:
    return {Role::A, Role::B, Role::C};
  }
  return {};
}

Placement normalised(Placement placement) {
  for (std::size_t axis = 0; axis < placement.axes.size(); ++axis) {
    AxisPlacement &on = placement.axes[axis];
    if (placement.grid.extents[axis] == 1)
      on = copied();
    else if (on.kind != AxisKind::Split)
      on = {on.kind, 0, 0};
  }
  for (std::size_t first = 0; first < placement.axes.size(); ++first)
    if (placement.axes[first].level != 0)
      clearLevels(placement, placement.axes[first].position);
  return placement;
}

bool has(const Placement &placement, AxisKind kind) {
  return llvm::any_of(placement.axes, [&](const AxisPlacement &axis) { return axis.kind == kind; });
}

double blockBytes(const Tree &tree, NodeId tensor, const Placement &placement) {
  int64_t bytes = sizeInBytes(tree.elementType());
  const std::vector<DimId> &dims = tree.node(tensor).dims;
  for (std::size_t position = 0; position < dims.size(); ++position)
    bytes *=
        firstBlock(tree.dim(dims[position]).extent,
                   partsAlong(placement.grid, placement.axes, position, placement.axes.size()));
  return static_cast<double>(bytes);
}

Placement storedPlacement(const Tree &tree, NodeId node, const NodeSchedule &schedule, Role role) {
  return placementOfRole(tree, node, schedule, role, true);
}

Placement workPlacement(const Tree &tree, NodeId node, const NodeSchedule &schedule, Role role) {
  return placementOfRole(tree, node, schedule, role, false);
}

std::optional<Placement> pinnedPlacement(const Pin &pin, int64_t ranks) {
  switch (pin.kind) {
  case Pin::Kind::Free:
    return std::nullopt;
  case Pin::Kind::Split:
    return normalised(Placement{Grid{{ranks}, 0}, {split(pin.position)}});
  case Pin::Kind::Root:
    return normalised(Placement{Grid{{ranks}, 0}, {atRoot()}});
  }
  return std::nullopt;
}

Placement homePlacement(const Tree &tree, const Schedule &schedule, NodeId node) {
  const auto index = static_cast<std::size_t>(node);
  if (tree.node(node).kind == NodeKind::Input)
    return normalised(schedule.inputs[index]);
  return storedPlacement(tree, node, schedule.nodes[index], Role::C);
}

Layout layoutOf(const Tree &tree, NodeId tensor, const Placement &placement) {
  return {tree.extents(tensor), placement.grid, placement.axes};
}

Layout workLayout(const Tree &tree, NodeId node, const NodeSchedule &schedule) {
  const std::vector<DimId> &dims = tree.iterationDims(node);
  Layout result;
  result.extents.reserve(dims.size());
  result.axes.reserve(schedule.axes.size());
  for (DimId dim : dims)
    result.extents.push_back(tree.dim(dim).extent);
  result.grid = schedule.grid;
  for (const AxisSchedule &axis : schedule.axes)
    // What streams lies at the root as the other axes cut it, so its axis cuts last.
    result.axes.push_back(axis.loopDim ? split(positionOf(dims, *axis.loopDim),
                                               axis.movement == Movement::Stream ? 1 : 0)
                                       : copied());
  return result;
}

bool isReadLast(const Tree &tree, NodeId node, NodeId tensor) {
  const auto isTensor = [&](const Operand &operand) { return operand.node == tensor; };
  if (tree.node(tensor).kind == NodeKind::Input || tree.node(tensor).isOutput ||
      llvm::count_if(tree.node(node).operands, isTensor) > 1)
    return false;
  return llvm::none_of(llvm::drop_begin(tree.nodes(), static_cast<std::size_t>(node) + 1),
                       [&](const Node &later) { return llvm::any_of(later.operands, isTensor); });
}

std::vector<int64_t> workExtents(const Tree &tree, NodeId node, const NodeSchedule &schedule) {
  std::vector<int64_t> extents;
  const std::vector<DimId> &dims = tree.iterationDims(node);
  extents.reserve(dims.size());
  for (const DimId dim : dims) {
    int64_t parts = 1;
    for (std::size_t axis = 0; axis < schedule.axes.size(); ++axis)
      if (schedule.axes[axis].loopDim == dim)
        parts *= schedule.grid.extents[axis];
    extents.push_back(firstBlock(tree.dim(dim).extent, parts));
  }
  return extents;
}

std::optional<Stepping> steppingOf(const Tree &tree, NodeId node, const NodeSchedule &schedule) {
  if (llvm::none_of(schedule.axes,
                    [](const AxisSchedule &axis) { return isStepping(axis.movement); }))
    return std::nullopt;
  Stepping stepping{workLayout(tree, node, schedule), 0, 1, {}, false};
  const std::vector<DimId> &dims = tree.iterationDims(node);
  auto add = [&](std::size_t axis, Role role, int position) {
    const DimId dim = dimsOf(tree, node, role)[static_cast<std::size_t>(position)];
    stepping.dim = static_cast<std::size_t>(positionOf(dims, dim));
    stepping.sums = classOf(tree, node, dim) == DimClass::K;
    stepping.pace = schedule.axes[axis].pace;
    stepping.travellers.push_back(
        {static_cast<std::size_t>(role), stepMovement(schedule.axes[axis].movement),
         layoutOf(tree, tensorOf(tree, node, role), workPlacement(tree, node, schedule, role)),
         axis, static_cast<std::size_t>(position),
         role != Role::C && isReadLast(tree, node, tensorOf(tree, node, role))});
  };
  for (std::size_t i = 0; i < schedule.axes.size(); ++i) {
    const AxisSchedule &axis = schedule.axes[i];
    if (schedule.grid.extents[i] == 1 || !isStepping(axis.movement))
      continue;
    if (axis.movement != Movement::Stream) {
      add(i, *travellerOf(classOf(tree, node, *axis.loopDim)), axis.storage.position);
      continue;
    }
    for (const Role role : rolesOf(tree, node))
      if (contains(dimsOf(tree, node, role), *axis.loopDim))
        add(i, role, positionOf(dimsOf(tree, node, role), *axis.loopDim));
  }
  if (stepping.travellers.empty())
    return std::nullopt;
  // A chunk falls into no more parts than it has indices.
  int64_t chunks = 1;
  for (const Traveller &traveller : stepping.travellers)
    chunks = std::max(chunks, schedule.grid.extents[traveller.axis]);
  const int64_t longest = (stepping.work.extents[stepping.dim] + chunks - 1) / chunks;
  stepping.pace = std::min(stepping.pace, longest);
  llvm::sort(stepping.travellers,
             [](const Traveller &a, const Traveller &b) { return a.role < b.role; });
  return stepping;
}

bool travels(const std::optional<Stepping> &stepping, Role role) {
  return stepping && llvm::any_of(stepping->travellers, [&](const Traveller &traveller) {
           return traveller.role == static_cast<std::size_t>(role);
         });
}

} // namespace einsumc
