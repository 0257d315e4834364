//===- FuseDims.cpp - dims that all tensors store as one --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/LocalNest.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace einsumc {

namespace {

/// One tensor of the node: the dims longer than 1 of its positions, in storage order, and whether
/// each position is stored exactly as the work needs it.
struct StoredDims {
  std::vector<DimId> dims;
  std::vector<bool> whole;
};

StoredDims storedDims(const Tree &tree, const std::vector<DimId> &positions,
                      const ComputeShape::Block &block) {
  StoredDims result;
  for (std::size_t p = 0; p < positions.size(); ++p) {
    if (tree.dim(positions[p]).extent == 1)
      continue;
    result.dims.push_back(positions[p]);
    result.whole.push_back(block.isWhole[p]);
  }
  return result;
}

/// Whether `inner` follows `outer` directly, both once, and is stored whole.
bool continues(const StoredDims &tensor, DimId outer, DimId inner) {
  const auto at = llvm::find(tensor.dims, outer);
  const bool hasInner = llvm::is_contained(tensor.dims, inner);
  if (at == tensor.dims.end() || !hasInner)
    return at == tensor.dims.end() && !hasInner;
  const std::size_t next = static_cast<std::size_t>(at - tensor.dims.begin()) + 1;
  return llvm::count(tensor.dims, outer) == 1 && llvm::count(tensor.dims, inner) == 1 &&
         next < tensor.dims.size() && tensor.dims[next] == inner && tensor.whole[next];
}

} // namespace

std::vector<FusedDim> fuseDims(const Tree &tree, NodeId node, const ComputeShape &shape) {
  const std::vector<DimId> &workDims = shape.dims;
  std::vector<StoredDims> tensors;
  const std::vector<Role> roles = rolesOf(tree, node);
  for (std::size_t r = 0; r < roles.size(); ++r)
    tensors.push_back(storedDims(tree, dimsOf(tree, node, roles[r]), shape.blocks[r]));

  std::vector<FusedDim> fused;
  std::vector<bool> done(workDims.size());
  auto extend = [&](FusedDim &group) {
    for (std::size_t i = 0; i < workDims.size(); ++i) {
      const bool fits = !done[i] && tree.dim(workDims[i]).extent > 1 &&
                        classOf(tree, node, workDims[i]) == group.dimClass &&
                        llvm::all_of(tensors, [&](const StoredDims &tensor) {
                          return continues(tensor, group.dims.back(), workDims[i]);
                        });
      if (!fits)
        continue;
      group.dims.push_back(workDims[i]);
      group.extent *= shape.largest[i];
      done[i] = true;
      return true;
    }
    return false;
  };
  auto hasPredecessor = [&](std::size_t i) {
    return llvm::any_of(workDims, [&](DimId outer) {
      return outer != workDims[i] && tree.dim(outer).extent > 1 &&
             classOf(tree, node, outer) == classOf(tree, node, workDims[i]) &&
             llvm::all_of(tensors, [&](const StoredDims &tensor) {
               return continues(tensor, outer, workDims[i]);
             });
    });
  };
  for (std::size_t i = 0; i < workDims.size(); ++i) {
    if (done[i] || tree.dim(workDims[i]).extent == 1 || hasPredecessor(i))
      continue;
    done[i] = true;
    FusedDim group{{workDims[i]}, classOf(tree, node, workDims[i]), shape.largest[i]};
    while (extend(group)) {
    }
    fused.push_back(std::move(group));
  }
  return fused;
}

} // namespace einsumc
