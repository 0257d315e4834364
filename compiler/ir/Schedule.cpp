//===- Schedule.cpp - what follows from a schedule --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Schedule.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <map>

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
  const std::optional<Role> traveller = travellerOf(classOf(tree, node, *axis.loopDim));
  if (traveller != role)
    return split(positionOf(dimsOf(tree, node, role), *axis.loopDim));
  if (stored || axis.movement == Movement::None)
    return axis.storage;
  return role == Role::C ? partial() : copied();
}

Placement placementOfRole(const Tree &tree, NodeId node, const NodeSchedule &schedule, Role role,
                          bool stored) {
  Placement result{schedule.grid, {}};
  for (const AxisSchedule &axis : schedule.axes)
    result.axes.push_back(placementOnAxis(tree, node, axis, role, stored));
  return normalised(std::move(result));
}

} // namespace

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
  std::map<int, std::vector<AxisPlacement *>> cuts;
  for (std::size_t axis = 0; axis < placement.axes.size(); ++axis) {
    AxisPlacement &on = placement.axes[axis];
    if (placement.grid.extents[axis] == 1)
      on = copied();
    if (on.kind == AxisKind::Split)
      cuts[on.position].push_back(&on);
    else
      on = {on.kind, 0, 0};
  }
  for (auto &[position, axes] : cuts) {
    const bool inOrder = std::is_sorted(
        axes.begin(), axes.end(),
        [](const AxisPlacement *a, const AxisPlacement *b) { return a->level < b->level; });
    for (AxisPlacement *axis : axes)
      axis->level = inOrder ? 0 : axis->level;
  }
  return placement;
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
  const std::vector<DimId> dims = tree.iterationDims(node);
  Layout result;
  for (DimId dim : dims)
    result.extents.push_back(tree.dim(dim).extent);
  result.grid = schedule.grid;
  for (const AxisSchedule &axis : schedule.axes)
    result.axes.push_back(axis.loopDim ? split(positionOf(dims, *axis.loopDim)) : copied());
  return result;
}

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

std::string checkTraveller(const Tree &tree, NodeId node, const AxisSchedule &axis, Role role) {
  const bool isC = role == Role::C;
  const AxisPlacement &storage = axis.storage;
  const std::string who = "the traveller " + name(role).str();
  if (storage.kind == AxisKind::Split &&
      (storage.position < 0 ||
       storage.position >= static_cast<int>(dimsOf(tree, node, role).size())))
    return who + " has no such dim to be split along";
  if (!isC && storage.kind == AxisKind::Partial)
    return who + " cannot be stored as partial sums";
  if (axis.movement == Movement::None) {
    if (isC && storage.kind != AxisKind::Partial)
      return who + " is left as partial sums when it does not move: store it as P, or move it";
    if (!isC && storage.kind != AxisKind::Copy)
      return who + " must be stored as B when it does not move";
    return {};
  }
  if (isC ? storage.kind == AxisKind::Partial : storage.kind == AxisKind::Copy)
    return who + " has nothing to move along this axis";
  if (axis.movement != Movement::Gather && storage.kind != AxisKind::Split)
    return who + " moves in steps, so it must be stored as S(t)";
  return {};
}

} // namespace

std::string checkNodeSchedule(const Tree &tree, NodeId node, const NodeSchedule &schedule,
                              int64_t ranks) {
  if (std::string text = checkGrid(schedule.grid, schedule.axes.size(), ranks); !text.empty())
    return text;
  int stepping = 0;
  for (const AxisSchedule &axis : schedule.axes) {
    if (axis.pace < 1)
      return "pace must be at least 1";
    if (!axis.loopDim) {
      if (axis.movement != Movement::None)
        return "an axis without a loop dim has nothing to move";
      continue;
    }
    if (!contains(tree.iterationDims(node), *axis.loopDim))
      return "the loop dim '" + tree.dim(*axis.loopDim).name + "' is not a dim of this node";
    const std::optional<Role> role = travellerOf(classOf(tree, node, *axis.loopDim));
    if (!role) {
      if (axis.movement != Movement::None)
        return "nothing travels along an axis whose loop dim is in all three tensors";
      continue;
    }
    if (std::string text = checkTraveller(tree, node, axis, *role); !text.empty())
      return text;
    stepping += axis.movement != Movement::None && axis.movement != Movement::Gather;
  }
  if (stepping > 2)
    return "a node has one stepping loop, in which at most two travellers move";
  return {};
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

namespace {

/// The classes of the loop dims with a traveller's way of moving, e.g. `m:none,k:gather`.
std::string signature(const Tree &tree, NodeId node, const NodeSchedule &schedule) {
  std::string result;
  for (std::size_t i = 0; i < schedule.axes.size(); ++i) {
    const AxisSchedule &axis = schedule.axes[i];
    if (!axis.loopDim || schedule.grid.extents[i] == 1)
      continue;
    static constexpr const char *kClass[] = {"c", "m", "n", "k"};
    result += result.empty() ? "" : ",";
    const DimClass dimClass = classOf(tree, node, *axis.loopDim);
    result += kClass[static_cast<int>(dimClass)];
    if (dimClass != DimClass::C)
      result += (":" + name(axis.movement)).str();
  }
  return result;
}

} // namespace

std::string algorithmName(const Tree &tree, NodeId node, const NodeSchedule &schedule) {
  static const std::map<std::string, std::string> kNames = {
      {"", "local"},
      {"c", "dist_c"},
      {"m:none", "tp1d"},
      {"n:none", "tp1d"},
      {"m:ring", "ring_m"},
      {"n:ring", "ring_n"},
      {"k:ring", "ring_k"},
      {"k:none", "reduce_k"},
      {"k:gather", "reduce_k"},
      {"k:gather,n:none", "tp2d"},
      {"k:gather,m:none", "tp2d"},
      {"k:none,n:none", "tp2d"},
      {"k:none,m:none", "tp2d"},
      {"m:bcast,n:bcast", "summa"},
      {"m:ring,n:ring", "cannon"},
      {"m:gather,k:gather", "summa_a"},
      {"m:bcast,k:gather", "summa_a"},
      {"k:gather,n:gather", "summa_b"},
      {"k:gather,n:bcast", "summa_b"},
      {"m:gather,n:gather,k:gather", "summa_3d"},
      {"m:bcast,n:bcast,k:gather", "summa_25d"},
      {"m:ring,n:ring,k:gather", "cannon_25d"},
  };
  auto found = kNames.find(signature(tree, node, schedule));
  return found == kNames.end() ? "custom" : found->second;
}

} // namespace einsumc
