//===- ShapeKey.cpp - what is alike but for names ---------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/ShapeKey.h"

#include "llvm/ADT/STLExtras.h"

namespace einsumc {

namespace {

int64_t placeOf(const std::vector<DimId> &dims, DimId dim) {
  return llvm::find(dims, dim) - dims.begin();
}

void addGrid(const Grid &grid, ShapeKey &key) {
  key.push_back(static_cast<int64_t>(grid.extents.size()));
  key.push_back(grid.firstRank);
  key.insert(key.end(), grid.extents.begin(), grid.extents.end());
}

void addAxis(const AxisPlacement &on, ShapeKey &key) {
  key.insert(key.end(), {static_cast<int64_t>(on.kind), on.position, on.level});
}

} // namespace

std::vector<DimId> dimsInOrder(const Tree &tree, NodeId node) {
  std::vector<DimId> dims = tree.iterationDims(node);
  llvm::sort(dims);
  return dims;
}

ShapeKey shapeOf(const Tree &tree, NodeId node) {
  const std::vector<DimId> dims = dimsInOrder(tree, node);
  ShapeKey key = {static_cast<int64_t>(tree.node(node).kind), static_cast<int64_t>(dims.size())};
  for (const DimId dim : dims)
    key.push_back(tree.dim(dim).extent);
  for (const Role role : rolesOf(tree, node)) {
    const std::vector<DimId> &of = dimsOf(tree, node, role);
    key.push_back(static_cast<int64_t>(of.size()));
    for (const DimId dim : of)
      key.push_back(placeOf(dims, dim));
  }
  return key;
}

void addExtents(const Tree &tree, NodeId tensor, ShapeKey &key) {
  const std::vector<DimId> &dims = tree.node(tensor).dims;
  key.push_back(static_cast<int64_t>(dims.size()));
  for (const DimId dim : dims)
    key.push_back(tree.dim(dim).extent);
}

void addPlacement(const Placement &placement, ShapeKey &key) {
  addGrid(placement.grid, key);
  for (const AxisPlacement &on : placement.axes)
    addAxis(on, key);
}

void addSchedule(const Tree &tree, NodeId node, const NodeSchedule &on, ShapeKey &key) {
  const std::vector<DimId> dims = dimsInOrder(tree, node);
  addGrid(on.grid, key);
  for (const AxisSchedule &axis : on.axes) {
    key.push_back(axis.loopDim ? placeOf(dims, *axis.loopDim) : -1);
    addAxis(axis.storage, key);
    key.insert(key.end(), {static_cast<int64_t>(axis.movement), axis.pace});
  }
}

} // namespace einsumc
