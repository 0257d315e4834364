//===- Moves.cpp - the redistributions that a schedule implies --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Moves.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace einsumc {

namespace {

/// Below this a second hop's messages cost more than the bytes that it saves.
constexpr int64_t kSmallBytes = 4096;

int64_t bytesOf(const Tree &tree, NodeId tensor) {
  return tree.elements(tensor) * sizeInBytes(tree.elementType());
}

int longestPosition(const Tree &tree, NodeId tensor) {
  const std::vector<int64_t> extents = tree.extents(tensor);
  return static_cast<int>(std::max_element(extents.begin(), extents.end()) - extents.begin());
}

/// Partial sums added up into blocks: those of the target where it has the same grid.
Placement reduced(const Tree &tree, NodeId tensor, Placement from, const Placement &to) {
  const bool sameGrid = from.grid == to.grid;
  for (std::size_t axis = 0; axis < from.axes.size(); ++axis)
    if (from.axes[axis].kind == AxisKind::Partial)
      from.axes[axis] = sameGrid && to.axes[axis].kind == AxisKind::Split
                            ? to.axes[axis]
                            : split(longestPosition(tree, tensor), 1);
  return normalised(std::move(from));
}

} // namespace

std::vector<Placement> route(const Tree &tree, NodeId tensor, const Placement &from,
                             const Placement &to) {
  if (from == to)
    return {};
  const bool small = bytesOf(tree, tensor) <= kSmallBytes;
  std::vector<Placement> hops;
  if (has(from, AxisKind::Partial) && !small)
    hops.push_back(reduced(tree, tensor, from, to));
  else if (has(from, AxisKind::Root) && has(to, AxisKind::Copy) && !small)
    hops.push_back(normalised(
        {{{to.grid.size()}, to.grid.firstRank}, {split(longestPosition(tree, tensor))}}));
  if (hops.empty() || hops.back() != to)
    hops.push_back(to);
  return hops;
}

bool covers(const Tree &tree, NodeId tensor, const Placement &stored, const Placement &needed) {
  if (stored == needed)
    return true;
  if (has(stored, AxisKind::Partial))
    return false;
  // Then nothing would cross ranks.
  return transferVolume(layoutOf(tree, tensor, stored), layoutOf(tree, tensor, needed)) == 0;
}

NodeMoves movesOf(const Tree &tree, const Schedule &schedule, NodeId node) {
  const auto index = static_cast<std::size_t>(node);
  const NodeSchedule &on = schedule.nodes[index];
  const std::optional<Stepping> stepping = steppingOf(tree, node, on);
  NodeMoves moves;
  for (const Role role : rolesOf(tree, node)) {
    const NodeId tensor = tensorOf(tree, node, role);
    const Placement work = workPlacement(tree, node, on, role);
    if (role == Role::C) {
      const Placement home = storedPlacement(tree, node, on, role);
      moves.result = route(tree, tensor, work, home);
      if (schedule.finals[index])
        moves.final = route(tree, tensor, home, *schedule.finals[index]);
      continue;
    }
    const Placement home = homePlacement(tree, schedule, tensor);
    // What a stepping loop sends are chunks, not views of more.
    const bool isThere = travels(stepping, role) ? home == work : covers(tree, tensor, home, work);
    moves.operands.push_back(isThere ? std::vector<Placement>{} : route(tree, tensor, home, work));
  }
  return moves;
}

NodeHops hopsOf(const Tree &tree, const Schedule &schedule, NodeId node) {
  const NodeMoves moves = movesOf(tree, schedule, node);
  const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(node)];
  NodeHops hops;
  auto walk = [&](NodeId tensor, Placement from, const std::vector<Placement> &way,
                  std::vector<Hop> &list) {
    for (const Placement &to : way) {
      list.push_back({tensor, layoutOf(tree, tensor, from), layoutOf(tree, tensor, to)});
      from = to;
    }
  };
  for (std::size_t o = 0; o < moves.operands.size(); ++o) {
    const NodeId tensor = tree.node(node).operands[o].node;
    walk(tensor, homePlacement(tree, schedule, tensor), moves.operands[o], hops.before);
  }
  walk(node, workPlacement(tree, node, on, Role::C), moves.result, hops.after);
  walk(node, storedPlacement(tree, node, on, Role::C), moves.final, hops.after);
  return hops;
}

namespace {

/// Calls visit(from, to) for the layouts of every hop around a node.
template <class Visit>
void forEachHop(const Tree &tree, const Schedule &schedule, NodeId node, Visit &&visit) {
  const NodeHops hops = hopsOf(tree, schedule, node);
  for (const std::vector<Hop> *list : {&hops.before, &hops.after})
    for (const Hop &hop : *list)
      visit(hop.from, hop.to);
}

std::optional<Stepping> steppingOf(const Tree &tree, const Schedule &schedule, NodeId node) {
  return steppingOf(tree, node, schedule.nodes[static_cast<std::size_t>(node)]);
}

} // namespace

NodeTraffic trafficOf(const Tree &tree, const Schedule &schedule, NodeId node) {
  const auto bytes = static_cast<double>(sizeInBytes(tree.elementType()));
  const auto along = [&](NodeId tensor, const Placement &from, const std::vector<Placement> &way) {
    double sent = 0;
    Layout at = layoutOf(tree, tensor, from);
    for (const Placement &hop : way) {
      Layout next = layoutOf(tree, tensor, hop);
      sent += bytes * static_cast<double>(transferVolume(at, next));
      at = std::move(next);
    }
    return sent;
  };
  const NodeMoves moves = movesOf(tree, schedule, node);
  const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(node)];
  NodeTraffic traffic;
  for (std::size_t o = 0; o < moves.operands.size(); ++o) {
    const NodeId tensor = tree.node(node).operands[o].node;
    traffic.operands.push_back(
        along(tensor, homePlacement(tree, schedule, tensor), moves.operands[o]));
  }
  traffic.result = along(node, workPlacement(tree, node, on, Role::C), moves.result);
  traffic.final = along(node, storedPlacement(tree, node, on, Role::C), moves.final);
  if (const std::optional<Stepping> stepping = steppingOf(tree, schedule, node))
    for (std::size_t t = 0; t < stepping->travellers.size(); ++t) {
      const std::size_t role = stepping->travellers[t].role;
      (role < traffic.operands.size() ? traffic.operands[role] : traffic.result) +=
          bytes * static_cast<double>(trafficOf(*stepping, t).elements);
    }
  return traffic;
}

double trafficBytes(const Tree &tree, const Schedule &schedule, NodeId node) {
  const NodeTraffic traffic = trafficOf(tree, schedule, node);
  return std::accumulate(traffic.operands.begin(), traffic.operands.end(),
                         traffic.result + traffic.final);
}

int64_t trafficMessages(const Tree &tree, const Schedule &schedule, NodeId node) {
  int64_t messages = 0;
  forEachHop(tree, schedule, node,
             [&](const Layout &from, const Layout &to) { messages += transferMessages(from, to); });
  if (const std::optional<Stepping> stepping = steppingOf(tree, schedule, node))
    messages += trafficOf(*stepping).messages;
  return messages;
}

} // namespace einsumc
