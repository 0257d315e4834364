//===- NestScratch.cpp - what a loop nest keeps in scratch ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/NestScratch.h"

#include "compiler/plan/WorkDims.h"

#include "einsumc/BlockTiles.h"

#include "llvm/ADT/STLExtras.h"

namespace einsumc {

namespace {

/// Elements of a cache line of f32, to which parts of scratch are aligned.
constexpr int64_t kLine = 16;

/// A distance in scratch: whole cache lines, but no multiple of so many that neighbours compete for
/// the same sets of a cache.
int64_t apart(int64_t elements) {
  const int64_t rounded = roundUp(elements, kLine);
  return rounded % (4 * kLine) == 0 ? rounded + kLine : rounded;
}

} // namespace

Panels panelsOf(const LocalNest &nest) {
  constexpr int64_t kVector = 8;
  Panels panels;
  if (nest.panelRows > 0) {
    panels.rows = nest.panelRows;
    panels.count = ceilDiv(nest.m.size(), nest.panelRows);
  }
  for (std::size_t d = 0; nest.panelRows == 0 && d < nest.m.dims.size(); ++d) {
    const int64_t indices = nest.m.dims[d].count;
    const bool isCut = d + 1 == nest.panelDims;
    panels.rows *= isCut ? nest.panelCount : d < nest.panelDims ? indices : 1;
    panels.count *= isCut ? ceilDiv(indices, nest.panelCount) : d < nest.panelDims ? 1 : indices;
  }
  // Of a panel that is longer than kernels go along, these take some rows at a time.
  panels.rows = panels.rows > tiles::kMostM ? apart(panels.rows) : roundUp(panels.rows, kVector);
  panels.stride = apart(panels.rows * nest.k.size());
  return panels;
}

int64_t columnStride(const LocalNest &nest) { return apart(nest.k.size()); }

int64_t resultStride(const LocalNest &nest) { return apart(nest.m.size()); }

/// Of a block in scratch: the products of a batch, one after the other, or columns that lie apart
/// where L is fetched or sums add up.
static int64_t resultElements(const LocalNest &nest) {
  const int64_t column =
      nest.left == BlockAccess::Fetched || nest.sumsInScratch ? resultStride(nest) : nest.m.size();
  return nest.c.size() * column * nest.n.size();
}

int64_t leftBatchStride(const LocalNest &nest) {
  const Panels panels = panelsOf(nest);
  return panels.count * panels.stride;
}

int64_t rightBatchStride(const LocalNest &nest) {
  // Columns along k, or panels of columns.
  if (nest.left == BlockAccess::Fetched)
    return apart(tiles::fetchingPanels(nest.n.size(), nest.k.size()));
  if (!nest.rightInPanels)
    return apart(columnStride(nest) * nest.n.size());
  int64_t together = 1;
  for (std::size_t d = 0; d < nest.rightPanelDims; ++d)
    together *= nest.n.dims[d].count;
  return apart(nest.n.size() / together * roundUp(together, tiles::kPanelColumns) * nest.k.size());
}

int64_t stepOf(const LocalNest &nest, std::size_t dim) {
  const auto loop = llvm::find_if(nest.loops, [&](const NestLoop &l) { return l.dim == dim; });
  return loop == nest.loops.end() ? nest.dims[dim].extent : loop->step;
}

ScratchPlan planScratch(const LocalNest &nest) {
  ScratchPlan plan;
  auto take = [&](int64_t elements) {
    const int64_t offset = plan.total;
    plan.total += roundUp(elements, kLine);
    return offset;
  };
  int64_t whole = 1;
  for (const FusedDim &dim : nest.dims)
    whole *= dim.dimClass == DimClass::K ? 1 : dim.extent;
  if (nest.sumsInParallel)
    plan.ownResult = take(whole);

  if (nest.kernel == NestKernel::Reorder) {
    plan.left = nest.left == BlockAccess::Packed ? take(nest.blockElements[0]) : 0;
    plan.right = nest.right == BlockAccess::Packed ? take(nest.blockElements[1]) : 0;
    plan.result = nest.resultThroughScratch ? take(nest.blockElements[2]) : 0;
    return plan;
  }
  if (nest.left == BlockAccess::Packed)
    plan.left = take(nest.c.size() * leftBatchStride(nest));
  if (nest.right == BlockAccess::Packed)
    plan.right = take(nest.c.size() * rightBatchStride(nest));
  if (nest.resultThroughScratch)
    plan.result = take(resultElements(nest));
  return plan;
}

} // namespace einsumc
