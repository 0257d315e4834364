//===- LocalNest.cpp - chooses the loops and blocks of a contraction --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/LocalNest.h"

#include "compiler/lower/Nests.h"
#include "compiler/plan/BlockChoice.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace einsumc {

namespace {

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
/// ranks, as no block is larger than those that it is computed from. Where a tensor has more
/// indices of a dim than the work on some rank, others lie further apart there than these say.
LocalWork workOf(const Tree &tree, NodeId node, const LocalNest &nest, const ComputeShape &shape) {
  LocalWork work{{}, tree.elementType(), false};
  for (const FusedDim &dim : nest.dims)
    work.dims.push_back({dim.dimClass, dim.extent, {}});
  for (const Role role : {Role::A, Role::B, Role::C}) {
    const auto index = static_cast<std::size_t>(role);
    const std::vector<int64_t> &extents = shape.blocks[index].largest;
    const std::vector<DimId> &positions = dimsOf(tree, node, role);
    for (std::size_t d = 0; d < nest.dims.size(); ++d) {
      work.dims[d].strides[index] = strideOf(positions, extents, nest.dims[d].dims.back());
      const auto outermost = llvm::find(positions, nest.dims[d].dims.front());
      work.dims[d].isPart[index] =
          outermost != positions.end() &&
          !shape.blocks[index].isWhole[static_cast<std::size_t>(outermost - positions.begin())];
    }
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

LocalNest chooseNest(const Tree &tree, NodeId node, const ComputeShape &shape, bool adds,
                     const Machine &machine) {
  LocalNest nest;
  nest.dims = fuseDims(tree, node, shape);
  nest.adds = adds;
  nest.maySplitSums = llvm::all_of(shape.blocks.back().isWhole, [](bool whole) { return whole; });
  const LocalWork work = workOf(tree, node, nest, shape);
  const WorkDims asInTree({work.dims.begin(), work.dims.end()});
  nest.serial = isForOneThread(asInTree);
  const LocalCost cost = localCost(work, machine);
  nest.swapped = cost.swapped;
  const WorkDims dims = nest.swapped ? asInTree.exchanged() : asInTree;
  for (std::size_t d = 0; d < nest.dims.size(); ++d)
    nest.dims[d].dimClass = dims[d].dimClass;
  switch (cost.kernel) {
  case NestKernel::Stream:
    streamNest(dims, tree.elementType(), machine, nest);
    break;
  case NestKernel::Reorder:
    reorderNest(dims, tree.elementType(), machine, nest);
    break;
  case NestKernel::Block:
    blockNest(dims, tree.elementType(), machine, nest);
    break;
  }
  return nest;
}

} // namespace einsumc
