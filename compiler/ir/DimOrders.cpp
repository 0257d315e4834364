//===- DimOrders.cpp - the same tree with its intermediates stored in other orders ------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/DimOrders.h"

#include "compiler/ir/ReadPlan.h"

#include "llvm/ADT/STLExtras.h"

namespace einsumc {

namespace {

std::size_t positionOf(const std::vector<DimId> &dims, DimId dim) {
  return static_cast<std::size_t>(llvm::find(dims, dim) - dims.begin());
}

} // namespace

bool isIntermediate(const Tree &tree, NodeId node) {
  return tree.node(node).kind != NodeKind::Input && !tree.node(node).isOutput;
}

Tree reordered(const Tree &tree, const DimOrders &orders) {
  std::vector<Node> nodes = tree.nodes();
  for (Node &node : nodes)
    for (Operand &operand : node.operands) {
      const auto order = orders.find(operand.node);
      if (order == orders.end())
        continue;
      // A use may name other dims than the definition: what moves are positions.
      std::vector<DimId> dims;
      for (DimId dim : order->second)
        dims.push_back(operand.dims[positionOf(tree.node(operand.node).dims, dim)]);
      operand.dims = std::move(dims);
    }
  for (const auto &[id, order] : orders)
    nodes[static_cast<std::size_t>(id)].dims = order;
  return Tree::make(tree.elementType(), tree.dims(), std::move(nodes));
}

PartialSchedule reordered(PartialSchedule schedule, const Tree &from, const Tree &to) {
  for (auto &[id, node] : schedule.nodes)
    for (AxisSchedule &axis : node.axes) {
      if (!axis.loopDim || axis.storage.kind != AxisKind::Split)
        continue;
      const std::optional<Role> role = travellerOf(classOf(from, id, *axis.loopDim));
      if (!role)
        continue;
      const NodeId tensor = tensorOf(from, id, *role);
      const DimId dim = from.node(tensor).dims[static_cast<std::size_t>(axis.storage.position)];
      if (isIntermediate(from, tensor))
        axis.storage.position = static_cast<int>(positionOf(to.node(tensor).dims, dim));
    }
  return schedule;
}

} // namespace einsumc
