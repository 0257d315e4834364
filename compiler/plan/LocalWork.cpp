//===- LocalWork.cpp - what one rank computes for a node --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/LocalCost.h"

#include "llvm/ADT/STLExtras.h"

namespace einsumc {

namespace {

/// Adds the strides of a role's row-major tensor; a dim may stand at several positions (a
/// diagonal).
void addStrides(const std::vector<DimId> &positions, const std::vector<int64_t> &extents, Role role,
                llvm::ArrayRef<DimId> workDims, LocalWork &work) {
  int64_t stride = 1;
  for (std::size_t p = positions.size(); p-- > 0; stride *= extents[p]) {
    const auto at = static_cast<std::size_t>(llvm::find(workDims, positions[p]) - workDims.begin());
    work.dims[at].strides[static_cast<std::size_t>(role)] += stride;
  }
}

} // namespace

LocalWork localWork(const Tree &tree, NodeId node) {
  LocalWork work{{}, tree.elementType(), tree.node(node).kind == NodeKind::Unary};
  const std::vector<DimId> &dims = tree.iterationDims(node);
  for (const DimId dim : dims)
    work.dims.push_back({classOf(tree, node, dim), tree.dim(dim).extent, {}});
  for (const Role role : rolesOf(tree, node))
    addStrides(dimsOf(tree, node, role), tree.extents(tensorOf(tree, node, role)), role, dims,
               work);
  return work;
}

LocalWork localWork(const Tree &tree, NodeId node, const Box &part) {
  LocalWork work{{}, tree.elementType(), tree.node(node).kind == NodeKind::Unary};
  const std::vector<DimId> &dims = tree.iterationDims(node);
  for (std::size_t d = 0; d < dims.size(); ++d)
    work.dims.push_back({classOf(tree, node, dims[d]), part[d].size(), {}});
  for (const Role role : rolesOf(tree, node)) {
    std::vector<int64_t> extents;
    for (const DimId dim : dimsOf(tree, node, role))
      extents.push_back(
          part[static_cast<std::size_t>(llvm::find(dims, dim) - dims.begin())].size());
    addStrides(dimsOf(tree, node, role), extents, role, dims, work);
  }
  return work;
}

Box busiestPart(const Tree &tree, NodeId node, const NodeSchedule &schedule) {
  Box part;
  for (const int64_t extent : workExtents(tree, node, schedule))
    part.push_back({0, extent});
  return part;
}

} // namespace einsumc
