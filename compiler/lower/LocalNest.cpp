//===- LocalNest.cpp - chooses the loops and blocks of a contraction --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/LocalNest.h"

#include "compiler/lower/Nests.h"
#include "compiler/plan/BlockChoice.h"
#include "compiler/plan/LocalCost.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace einsumc {

namespace {

/// The largest extents of a tensor's blocks on any rank of a grid, at least 1.
std::vector<int64_t> largestBlock(const Layout &stored, const Grid &grid) {
  std::vector<int64_t> extents(stored.extents.size(), 1);
  for (int64_t rank = grid.firstRank; rank < grid.firstRank + grid.size(); ++rank) {
    const Box block = stored.box(rank);
    for (std::size_t p = 0; p < extents.size(); ++p)
      extents[p] = std::max(extents[p], block[p].size());
  }
  return extents;
}

/// Elements between neighbours along a dim in a row-major tensor; 0 where it lacks the dim.
int64_t strideOf(const std::vector<DimId> &positions, const std::vector<int64_t> &extents,
                 DimId dim) {
  int64_t stride = 1;
  for (std::size_t p = positions.size(); p-- > 0; stride *= extents[p])
    if (positions[p] == dim)
      return stride;
  return 0;
}

/// The nest's dims with their strides, as the estimate wants them. A stride of 1 is one on all
/// ranks, as no block is larger than those that it is computed from.
LocalWork workOf(const Tree &tree, NodeId node, const NodeSchedule &schedule, const LocalNest &nest,
                 const std::array<Layout, 3> &stored) {
  LocalWork work{{}, tree.elementType(), false};
  for (const FusedDim &dim : nest.dims)
    work.dims.push_back({dim.dimClass, dim.extent, {}});
  for (const Role role : {Role::A, Role::B, Role::C}) {
    const auto index = static_cast<std::size_t>(role);
    const std::vector<int64_t> extents = largestBlock(stored[index], schedule.grid);
    for (std::size_t d = 0; d < nest.dims.size(); ++d)
      work.dims[d].strides[index] =
          strideOf(dimsOf(tree, node, role), extents, nest.dims[d].dims.back());
  }
  return work;
}

} // namespace

int64_t NestSide::size() const {
  int64_t product = 1;
  for (const SideDim &side : dims)
    product *= side.count;
  return product;
}

LocalNest chooseNest(const Tree &tree, NodeId node, const NodeSchedule &schedule,
                     const std::array<Layout, 3> &stored, const Machine &machine) {
  LocalNest nest;
  nest.dims = fuseDims(tree, node, schedule, {stored.begin(), stored.end()});
  const LocalWork work = workOf(tree, node, schedule, nest, stored);
  const WorkDims asInTree({work.dims.begin(), work.dims.end()});
  nest.serial = 2 * asInTree.iterations() < kSerialFlops;
  nest.swapped = localCost(work, machine).swapped;
  const WorkDims dims = nest.swapped ? asInTree.exchanged() : asInTree;
  for (std::size_t d = 0; d < nest.dims.size(); ++d)
    nest.dims[d].dimClass = dims[d].dimClass;
  if (isStreaming(dims))
    streamNest(dims, nest);
  else
    blockNest(dims, sizeInBytes(tree.elementType()), nest);
  return nest;
}

} // namespace einsumc
