//===- BlockNest.cpp - the loops of contractions that the processor limits --------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Loops around the blocks that `chooseBlocks` gives. Consecutive tasks of a thread share their
// block of R, or lines of the result.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/Nests.h"
#include "compiler/plan/BlockChoice.h"
#include "compiler/plan/BlockCost.h"
#include "compiler/plan/BlockPanels.h"
#include "compiler/plan/TaskLoops.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>

namespace einsumc {

namespace {

class BlockNest {
public:
  BlockNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest)
      : dims(dims), type(type), machine(machine),
        bytesOfElement(static_cast<double>(sizeInBytes(type))), nest(nest),
        limits(machine, sizeInBytes(type)),
        blocks(chooseBlocks(
            dims, type, machine,
            {.isSerial = nest.serial, .maySplitSums = nest.maySplitSums, .adds = nest.adds})) {
    const auto isLarge = [&](Role role) {
      return dims.elements(role) * bytesOfElement >= tiles::kPastCachesBytes;
    };
    const bool isWrittenOnce = blocks.kBlocks == 1 || blocks.sumsInScratch;
    nest.resultPastCaches = isWrittenOnce && !nest.adds && isLarge(Role::C);
    nest.leftFromMemory = isLarge(Role::A);
    nest.rightFromMemory = isLarge(Role::B);
  }

  void run() {
    nest.kernel = NestKernel::Block;
    nest.c = side(DimClass::C, Role::C);
    nest.m = side(DimClass::M, blocks.rowsAsIn);
    nest.n = side(DimClass::N, Role::C);
    nest.k = side(DimClass::K, blocks.sumsAsIn);
    nest.sumsInParallel = blocks.sumsInParallel;
    nest.left = blocks.fetchesLeft ? BlockAccess::Fetched
                : blocks.packsLeft ? BlockAccess::Packed
                                   : BlockAccess::Direct;
    nest.sumsInScratch = blocks.sumsInScratch;
    nest.resultThroughScratch = blocks.resultThroughScratch || blocks.sumsInScratch;
    nest.resultInLines = blocks.resultInLines;
    nest.right = blocks.packsRight ? BlockAccess::Packed : BlockAccess::Direct;
    if (blocks.panelsAcross)
      nest.panelRows = limits.panelRows;
    else if (blocks.hasOnePanel())
      chooseOnePanel();
    else if (blocks.packsLeft)
      choosePanels();
    if (limits.hasFewRegisters && blocks.packsLeft && blocks.packsRight && blocks.k >= kLeastSums &&
        blocks.n >= tiles::kPanelColumns && arePanelsPackedByRows())
      chooseColumnPanels(areTilesInPlace(dims, type, machine, blocks) && !blocks.panelsAcross);
    addLoops();
  }

private:
  /// LIBXSMM's kernels are as fast for shorter sums, which rather go through a buffer.
  static constexpr int64_t kLeastSums = 48;
  static constexpr double kLeastRowBytes = 128;

  /// Tiles in place end with the result's runs along n, and begin with panels of columns: these
  /// begin anew with runs that are no multiples of them, if the last one of each is rather full.
  /// Not for short rows of R in memory, of which panels would take parts one after the other.
  void chooseColumnPanels(bool areTilesInPlace) {
    const SideDim &first = nest.n.dims.front();
    const auto isWhole = [](int64_t run) { return run % tiles::kPanelColumns == 0; };
    nest.rightPanelDims = nest.n.dims.size();
    nest.rightInPanels = nest.rightPanelDims == 1 || nest.sumsInScratch ||
                         (isWhole(first.count) && isWhole(restOf(first)));
    const bool hasShortRows = nest.rightFromMemory && dims.isUnit(Role::B, first.dim) &&
                              toDouble(first.count) * bytesOfElement < kLeastRowBytes;
    if (nest.rightInPanels || hasShortRows || !(areTilesInPlace || areColumnsTogether()))
      return;
    nest.rightPanelDims = dimsOfRun();
    int64_t before = 1; // Indices of the run's dims but the last.
    for (std::size_t d = 0; d + 1 < nest.rightPanelDims; ++d)
      before *= nest.n.dims[d].count;
    const SideDim &last = nest.n.dims[nest.rightPanelDims - 1];
    nest.rightInPanels =
        nest.rightPanelDims == nest.n.dims.size() ||
        (isWorthPanels(before * last.count) && isWorthPanels(before * restOf(last)));
  }

  int64_t restOf(const SideDim &dim) const { return dims.extent(dim.dim) % dim.count; }

  /// The first dims of n, along which tiles go on from one to the next where they are written.
  std::size_t dimsOfRun() const {
    const std::vector<SideDim> &n = nest.n.dims;
    std::size_t count = 1;
    // In scratch products of a batch may come in between.
    while (!blocks.isPackedInScratch() && count < n.size() &&
           dims.stride(Role::C, n[count].dim) ==
               n[count - 1].count * dims.stride(Role::C, n[count - 1].dim))
      ++count;
    return count;
  }

  /// A panel of few columns takes as long as one of more, as sums wait for each other.
  static bool isWorthPanels(int64_t run) {
    constexpr int64_t kFew = 4;
    constexpr double kLeastShare = 0.9;
    const int64_t rest = run % tiles::kPanelColumns;
    const int64_t columns = run - rest + (rest > 0 ? std::max(rest, kFew) : 0);
    return toDouble(run) >= kLeastShare * toDouble(columns);
  }

  /// Whether panels of columns, for which R is gone through along the first dims of n and k, get
  /// neighbours in it.
  bool arePanelsPackedByRows() const {
    const auto isRow = [&](const NestSide &side) {
      return dims.isUnit(Role::B, side.dims.front().dim) &&
             side.dims.front().count >= 2 * tiles::kPanelColumns;
    };
    return nest.c.dims.empty() && (isRow(nest.n) || isRow(nest.k));
  }

  bool areColumnsTogether() const { return blocks.columnTogether > 0 && nest.resultPastCaches; }

  NestSide side(DimClass dimClass, Role role) const {
    NestSide result;
    for (const std::size_t dim : dimsOfTask(dims, dimClass, role, blocks.taskCounts))
      result.dims.push_back({dim, blocks.counts[dim]});
    return result;
  }

  /// Kernels go along all dims of m: none is cut.
  void chooseOnePanel() {
    nest.panelDims = nest.m.dims.size();
    nest.panelCount = nest.m.dims.back().count;
  }

  void choosePanels() {
    const BlockPanels panels = panelsOf(
        dims, blocks,
        areColumnsTogether() ? tiles::mostOfColumns(blocks.columnTogether, blocks.k, limits.lanes(),
                                                    static_cast<int64_t>(bytesOfElement))
                             : limits.panelRows);
    nest.panelDims = panels.dims;
    nest.panelCount = panels.count;
  }

  void addLoops() {
    std::vector<NestLoop> tasks;
    for (const std::size_t dim :
         taskLoops(dims, bytesOfElement, blocks.taskCounts, blocks.taskOrder()))
      tasks.push_back({dim, blocks.taskCounts[dim]});
    std::vector<NestLoop> sums;
    einsumc::addLoops(dims, DimClass::K, Role::A, blocks.taskCounts, sums);

    nest.firstTeamLoop = nest.sumsInParallel || blocks.sumsInside ? 0 : sums.size();
    nest.teamLoops = nest.sumsInParallel ? sums.size() : tasks.size();
    nest.loops = blocks.sumsInside ? tasks : sums;
    const std::vector<NestLoop> &inner = blocks.sumsInside ? sums : tasks;
    nest.loops.insert(nest.loops.end(), inner.begin(), inner.end());
  }

  const WorkDims &dims;
  const ElementType type;
  const Machine &machine;
  const double bytesOfElement;
  LocalNest &nest;
  const BlockLimits limits;
  const BlockChoice blocks;
};

} // namespace

void blockNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest) {
  BlockNest(dims, type, machine, nest).run();
}

} // namespace einsumc
