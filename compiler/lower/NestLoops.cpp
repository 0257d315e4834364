//===- NestLoops.cpp - loops that all kinds of nests have ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/Nests.h"

#include "compiler/plan/Streaming.h"

#include "einsumc/BlockTiles.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace einsumc {

namespace {

/// The largest result, in elements, of which each thread may have a copy: adding the copies up must
/// cost little beside the sums, which are short in a node that streams.
constexpr int64_t kPrivateResult = int64_t{1} << 16;

int64_t iterations(const WorkDims &dims, const std::vector<NestLoop> &loops) {
  int64_t product = 1;
  for (const NestLoop &loop : loops)
    product *= ceilDiv(dims.extent(loop.dim), loop.step);
  return product;
}

} // namespace

bool isResultPastCaches(const WorkDims &dims, ElementType type, const LocalNest &nest) {
  const bool sumsInBlocks = llvm::any_of(
      nest.loops, [&](const NestLoop &loop) { return dims[loop.dim].dimClass == DimClass::K; });
  const double bytes = dims.elements(Role::C) * toDouble(sizeInBytes(type));
  return !sumsInBlocks && !nest.adds && bytes >= tiles::kPastCachesBytes;
}

void addLoops(const WorkDims &dims, DimClass dimClass, Role role, const DimCounts &counts,
              std::vector<NestLoop> &loops) {
  const DimIndices order = dims.bySpeed(dimClass, role);
  for (const std::size_t dim : llvm::reverse(order))
    if (counts[dim] < dims.extent(dim))
      loops.push_back({dim, counts[dim]});
}

void shareLoops(const WorkDims &dims, const Machine &machine, const DimCounts &counts,
                LocalNest &nest) {
  std::vector<NestLoop> outer, sums;
  for (const DimClass dimClass : {DimClass::C, DimClass::N, DimClass::M})
    addLoops(dims, dimClass, Role::C, counts, outer);
  addLoops(dims, DimClass::K, Role::A, counts, sums);
  const int64_t enough = enoughTasks(machine);
  nest.sumsInParallel = !nest.serial && nest.maySplitSums && iterations(dims, outer) < enough &&
                        iterations(dims, sums) >= enough &&
                        dims.elements(Role::C) <= kPrivateResult;
  const std::vector<NestLoop> &team = nest.sumsInParallel ? sums : outer;
  const std::vector<NestLoop> &inner = nest.sumsInParallel ? outer : sums;
  nest.teamLoops = team.size();
  nest.loops = team;
  nest.loops.insert(nest.loops.end(), inner.begin(), inner.end());
}

} // namespace einsumc
