//===- StepSeconds.cpp - what parts of a node's work take to compute --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/StepSeconds.h"

#include "compiler/plan/WorkDims.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <utility>

namespace einsumc {

int64_t foreignElements(const Traveller &traveller) {
  return traveller.chunks.largestSize(traveller.axis) - traveller.chunks.largestSize();
}

int64_t mostChunks(const Stepping &stepping) {
  int64_t chunks = 1;
  for (const Traveller &traveller : stepping.travellers)
    chunks = std::max(chunks, stepping.work.grid.extents[traveller.axis]);
  return chunks;
}

double PartSeconds::of(const Box &part, double footprint) {
  std::vector<int64_t> extents;
  for (const Interval &range : part)
    extents.push_back(range.size());
  const auto [found, isNew] = known.try_emplace({footprint, std::move(extents)}, 0);
  if (isNew && volume(part) > 0) {
    LocalWork work = localWork(tree, node, part);
    work.footprint = footprint;
    found->second = localCost(work, machine, TeamShares::Equal).seconds();
  }
  return found->second;
}

StepSeconds::StepSeconds(PartSeconds &parts, const Stepping *stepping) : parts(parts) {
  if (stepping == nullptr)
    return;
  const Box whole = stepping->work.box(stepping->work.grid.firstRank);
  footprint = WorkDims::fused(localWork(parts.tree, parts.node, whole)).footprint();
  loadOfStep = loadOf(*stepping);
  adds = stepping->sums || rotatesResult(*stepping);
}

double StepSeconds::of(const Box &work, std::size_t step) const {
  return parts.of(work, footprint) + (adds && step > 0 ? readSeconds(work) : 0);
}

namespace {

/// Elements that a rank copies between where it stores its chunk and its messages: of a chunk that
/// moves in parts which are not contiguous there.
double copiedElements(const Stepping &stepping, const Traveller &traveller, int64_t steps) {
  const Box stored = traveller.chunks.box(traveller.chunks.grid.firstRank);
  const auto isCut = [](const Interval &range) { return range.size() > 1; };
  const bool isWhole = steps == stepping.work.grid.extents[traveller.axis];
  if (isWhole || llvm::none_of(llvm::ArrayRef(stored).take_front(traveller.position), isCut))
    return 0;
  return static_cast<double>(volume(stored));
}

} // namespace

/// What messages take of a step's threads, and of memory when they are packed.
double StepSeconds::loadOf(const Stepping &stepping) const {
  const Machine &machine = parts.machine;
  const Grid &grid = stepping.work.grid;
  const int64_t steps = mostChunks(stepping) * stepping.pace;
  double ofThreads = 0, ofMemory = 0; // seconds of all steps, for each byte of an element
  for (const Traveller &traveller : stepping.travellers) {
    if (traveller.movement == StepMovement::Stream) // of which a rank has few
      continue;
    // The ranks of a line are neighbours, or as far apart as the axes inside are long.
    const int64_t span = grid.stride(traveller.axis) * grid.extents[traveller.axis];
    if (machine.isWithinNode(span) && canStayInPlace(stepping, traveller)) // Nobody copies it.
      continue;
    ofThreads += machine.linkOf(span).load * static_cast<double>(foreignElements(traveller));
    ofMemory += 2 * copiedElements(stepping, traveller, steps) / machine.memoryBandwidth;
  }
  return (ofThreads / static_cast<double>(machine.threads) + ofMemory) *
         static_cast<double>(sizeInBytes(parts.tree.elementType())) / static_cast<double>(steps);
}

/// Reading the step's part of the result, which it adds to.
double StepSeconds::readSeconds(const Box &work) const {
  const Tree &tree = parts.tree;
  const std::vector<DimId> &dims = tree.iterationDims(parts.node);
  double elements = 1;
  for (const DimId dim : tree.node(parts.node).dims)
    elements *= static_cast<double>(
        work[static_cast<std::size_t>(llvm::find(dims, dim) - dims.begin())].size());
  return elements * static_cast<double>(sizeInBytes(tree.elementType())) /
         parts.machine.memoryBandwidth;
}

} // namespace einsumc
