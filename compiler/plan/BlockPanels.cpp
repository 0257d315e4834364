//===- BlockPanels.cpp - how a block's rows fall into panels and vectors ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/BlockPanels.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>

namespace einsumc {

namespace {

/// The rows of a panel should be multiples of a vector's length, in elements.
constexpr int64_t kStepPanel = 8;

/// Indices a panel of a dim that is cut: those with the fewest vectors, more rather than fewer.
int64_t partOfPanel(int64_t count, int64_t rows, int64_t most) {
  int64_t best = std::max<int64_t>(most / rows, 1);
  const auto vectors = [&](int64_t part) {
    const int64_t rest = count % part;
    return count / part * ceilDiv(part * rows, kStepPanel) + ceilDiv(rest * rows, kStepPanel);
  };
  for (int64_t part = best; part * rows * 3 >= most * 2; --part)
    if (vectors(part) < vectors(best))
      best = part;
  return best;
}

} // namespace

DimIndices dimsOfTask(const WorkDims &dims, DimClass dimClass, Role role,
                      const DimCounts &taskCounts) {
  DimIndices result;
  for (const std::size_t dim : dims.bySpeed(dimClass, role))
    if (taskCounts[dim] > 1 || (dims.extent(dim) == 1 && dimClass != DimClass::C))
      result.push_back(dim);
  return result;
}

/// As many dims of m, from the fastest on, as make about a kernel's rows; rather half as many than
/// a few indices of the dim along which L is read, which could not be transposed.
BlockPanels panelsOf(const WorkDims &dims, const BlockChoice &blocks, int64_t most) {
  BlockPanels panels;
  int64_t rows = 1;
  for (const std::size_t dim : dimsOfTask(dims, DimClass::M, blocks.rowsAsIn, blocks.taskCounts)) {
    const int64_t count = blocks.counts[dim];
    const bool fits = rows * count <= most;
    if (!fits && 2 * rows >= most && dims.isUnit(Role::A, dim))
      break;
    ++panels.dims;
    panels.count = fits ? count : partOfPanel(count, rows, most);
    if (!fits)
      break;
    rows *= count;
  }
  return panels;
}

double fullnessOf(const WorkDims &dims, const BlockChoice &blocks, int64_t lanes, int64_t run) {
  // Vectors of rows in one panel.
  const auto vectorsOf = [&](int64_t rows) {
    const int64_t within = run > 0 && !blocks.panelsAcross ? std::min(run, rows) : rows;
    return rows / within * ceilDiv(within, lanes) + ceilDiv(rows % within, lanes);
  };
  int64_t vectors = 0;
  if (blocks.panelsAcross || blocks.isPackedInScratch() || !blocks.packsLeft) {
    vectors = vectorsOf(blocks.m);
  } else {
    const BlockPanels panels = panelsOf(dims, blocks, tiles::kPanelVectors * lanes);
    const DimIndices order = dimsOfTask(dims, DimClass::M, blocks.rowsAsIn, blocks.taskCounts);
    int64_t whole = 1; // Rows of the dims that lie whole in a panel.
    for (std::size_t d = 0; d + 1 < panels.dims; ++d)
      whole *= blocks.counts[order[d]];
    const int64_t parted = panels.dims > 0 ? blocks.counts[order[panels.dims - 1]] : 1;
    const int64_t part = std::max<int64_t>(panels.count, 1), rest = parted % part;
    const int64_t inParted =
        parted / part * vectorsOf(whole * part) + (rest > 0 ? vectorsOf(whole * rest) : 0);
    vectors = blocks.m / (whole * parted) * inParted;
  }
  return toDouble(blocks.m) / toDouble(std::max<int64_t>(vectors, 1) * lanes);
}

} // namespace einsumc
