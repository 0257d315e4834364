//===- BlockPanels.cpp - how a block's rows fall into panels and vectors ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/BlockPanels.h"

#include "einsumc/BlockTiles.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>

namespace einsumc {

namespace {

/// The rows of a panel should be multiples of a vector's length, in elements.
constexpr int64_t kStepPanel = 8;

/// How much more of the lanes of vectors must be full for panels across dims.
constexpr double kFuller = 0.04;
/// With shorter sums, results that cross dims cost more than full vectors gain; so many indices of
/// a dim at least lie next to each other in panels across dims.
constexpr int64_t kSumsAcross = 192, kLeastAcross = 16;

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

/// The dim of m along which C is written, if panels may be cut anywhere along it and the others:
/// L must not be contiguous along another one, which would be read an element at a time.
std::optional<std::size_t> dimOfPanelsAcross(const WorkDims &dims) {
  const DimIndices order = dims.bySpeed(DimClass::M, Role::C);
  const auto first = llvm::find_if(order, [&](std::size_t dim) { return dims.extent(dim) > 1; });
  if (first == order.end() || dims.extent(*first) < kLeastAcross)
    return std::nullopt;
  for (const std::size_t dim : order)
    if (dim != *first && dims.extent(dim) > 1 && dims.isUnit(Role::A, dim))
      return std::nullopt;
  return *first;
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
/// a few indices of the dim along which L is read, which could not be transposed, unless there are
/// so many sums that this hardly matters.
BlockPanels panelsOf(const WorkDims &dims, const BlockChoice &blocks, int64_t most) {
  BlockPanels panels;
  int64_t rows = 1;
  for (const std::size_t dim : dimsOfTask(dims, DimClass::M, blocks.rowsAsIn, blocks.taskCounts)) {
    const int64_t count = blocks.counts[dim];
    const bool fits = rows * count <= most;
    if (!fits && 2 * rows >= most && dims.isUnit(Role::A, dim) && !blocks.sumsInScratch)
      break;
    ++panels.dims;
    panels.count = fits ? count : partOfPanel(count, rows, most);
    if (!fits)
      break;
    rows *= count;
  }
  return panels;
}

int64_t countOfFullPanels(int64_t extent, int64_t next, int64_t least, int64_t most,
                          int64_t lanes) {
  // A panel takes its vectors' time and a share of one, for which kernels load what they multiply
  // all of them with.
  constexpr double kOfPanel = 0.3;
  const auto timeOf = [&](int64_t count) {
    const int64_t inPanel = most / count;
    const auto timeOfRows = [&](int64_t rows) {
      return rows == 0 ? 0 : toDouble(ceilDiv(rows, lanes)) + kOfPanel;
    };
    const auto timeOfPart = [&](int64_t length) {
      return toDouble(next / inPanel) * timeOfRows(length * inPanel) +
             timeOfRows(length * (next % inPanel));
    };
    return toDouble(extent / count) * timeOfPart(count) + timeOfPart(extent % count);
  };
  int64_t best = std::min({least, most, extent});
  for (int64_t count = best + 1; count <= std::min(most, extent); ++count)
    if (timeOf(count) < timeOf(best))
      best = count;
  return best;
}

int64_t rowsToFill(const WorkDims &dims, const BlockLimits &limits, double full) {
  constexpr int64_t kMostRows = 4;
  const auto first = dimOfPanelsAcross(dims);
  if (!first || dims.extentOf(DimClass::K) < kSumsAcross)
    return 1;
  const int64_t length = dims.extent(*first);
  const int64_t most = std::min(kMostRows, dims.extentOf(DimClass::M) / length);
  if (most < 2 || limits.fullness(length) >= full || length > BlockLimits::kMostM / kMostRows)
    return 1;
  int64_t best = 2;
  for (int64_t rows = 3; rows <= most && limits.fullness(best * length) < full; ++rows)
    if (limits.fullness(rows * length) > limits.fullness(best * length))
      best = rows;
  return best * length;
}

RunOfColumns runOfColumns(const WorkDims &dims, const DimCounts &counts) {
  RunOfColumns run;
  for (const std::size_t dim : dims.inOrder(Role::C)) {
    if (dims.extent(dim) == 1)
      continue;
    const DimClass dimClass = dims[dim].dimClass;
    const bool isRow = dimClass == DimClass::M && run.columns == 1;
    if (dims.stride(Role::C, dim) != run.rows * run.columns || (!isRow && dimClass != DimClass::N))
      break;
    (isRow ? run.rows : run.columns) *= counts[dim];
    if (counts[dim] < dims.extent(dim) || dims.isPart(Role::C, dim))
      break;
  }
  return run;
}

int64_t columnTogether(const WorkDims &dims, const BlockChoice &blocks, const BlockLimits &limits,
                       int64_t elementBytes) {
  if (blocks.kBlocks > 1 || blocks.rowsAsIn != Role::C ||
      dims.elements(Role::C) * toDouble(elementBytes) < tiles::kPastCachesBytes)
    return 0;
  const auto [rows, columns] = runOfColumns(dims, blocks.counts);
  const bool fits = rows <= tiles::kMostColumnVectors * limits.lanes();
  const int64_t bytes = rows * std::min(columns, tiles::kMostN) * elementBytes;
  return rows > 1 && columns > 1 && fits && bytes >= tiles::kLeastPieceBytes ? rows : 0;
}

bool shouldGoAcross(const WorkDims &dims, const BlockChoice &blocks, const BlockLimits &limits) {
  const auto first = dimOfPanelsAcross(dims);
  if (!first || !blocks.packsLeft || blocks.k < kSumsAcross ||
      dims.bySpeed(DimClass::M, blocks.rowsAsIn).front() != *first)
    return false;
  const int64_t length = blocks.counts[*first];
  const int64_t inPanel = length >= limits.panelRows
                              ? length
                              : length * std::min(limits.panelRows / length, blocks.m / length);
  return length >= kLeastAcross && limits.fullness(blocks.m) >= limits.fullness(inPanel) + kFuller;
}

double fullnessOf(const WorkDims &dims, const BlockChoice &blocks, int64_t lanes, int64_t run) {
  // Vectors of rows in one panel.
  const auto vectorsOf = [&](int64_t rows) {
    const int64_t within = run > 0 && !blocks.panelsAcross ? std::min(run, rows) : rows;
    return rows / within * ceilDiv(within, lanes) + ceilDiv(rows % within, lanes);
  };
  int64_t vectors = 0;
  if (blocks.panelsAcross || blocks.hasOnePanel() || !blocks.packsLeft) {
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
