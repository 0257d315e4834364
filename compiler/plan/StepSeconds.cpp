//===- StepSeconds.cpp - what parts of a node's work take to compute --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/StepSeconds.h"

#include "compiler/plan/WorkDims.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

namespace einsumc {

StepSeconds::StepSeconds(const Tree &tree, NodeId node, const Machine &machine,
                         const Stepping *stepping)
    : tree(tree), node(node), machine(machine) {
  if (stepping == nullptr)
    return;
  const Box whole = stepping->work.box(stepping->work.grid.firstRank);
  footprint = WorkDims::fused(localWork(tree, node, whole)).footprint();
  adds = stepping->sums || rotatesResult(*stepping);
}

double StepSeconds::of(const Box &work, std::size_t step) {
  std::vector<int64_t> extents;
  for (const Interval &range : work)
    extents.push_back(range.size());
  const auto [found, isNew] = known.try_emplace(std::move(extents), 0);
  if (isNew && volume(work) > 0) {
    LocalWork part = localWork(tree, node, work);
    part.footprint = footprint;
    found->second = localCost(part, machine).seconds();
  }
  return found->second + (adds && step > 0 ? readSeconds(work) : 0);
}

/// Reading the step's part of the result, which it adds to.
double StepSeconds::readSeconds(const Box &work) const {
  const std::vector<DimId> &dims = tree.iterationDims(node);
  double elements = 1;
  for (const DimId dim : tree.node(node).dims)
    elements *= static_cast<double>(
        work[static_cast<std::size_t>(llvm::find(dims, dim) - dims.begin())].size());
  return elements * static_cast<double>(sizeInBytes(tree.elementType())) / machine.memoryBandwidth;
}

} // namespace einsumc
