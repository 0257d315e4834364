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
#include "compiler/plan/TaskLoops.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>

namespace einsumc {

namespace {

/// The rows of a panel should be multiples of a vector's length, in elements.
constexpr int64_t kStepPanel = 8;

class BlockNest {
public:
  BlockNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest)
      : dims(dims), bytesOfElement(static_cast<double>(sizeInBytes(type))), nest(nest),
        panelRows(BlockLimits(machine, sizeInBytes(type)).panelRows),
        blocks(chooseBlocks(dims, type, machine, nest.serial, nest.maySplitSums)) {
    const auto isLarge = [&](Role role) {
      return dims.elements(role) * bytesOfElement >= tiles::kPastCachesBytes;
    };
    nest.resultPastCaches = blocks.kBlocks == 1 && !nest.adds && isLarge(Role::C);
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
    nest.resultThroughScratch = blocks.resultThroughScratch;
    nest.right = blocks.packsRight ? BlockAccess::Packed : BlockAccess::Direct;
    if (blocks.panelsAcross)
      nest.panelRows = panelRows;
    else if (blocks.isPackedInScratch())
      chooseOnePanel();
    else if (blocks.packsLeft)
      choosePanels(blocks.columnTogether > 0 && nest.resultPastCaches
                       ? panelRows / tiles::kPanelVectors * tiles::kMostPanelVectors
                       : panelRows);
    addLoops();
  }

private:
  NestSide side(DimClass dimClass, Role role) const {
    NestSide result;
    for (const std::size_t dim : dims.bySpeed(dimClass, role))
      if (blocks.taskCounts[dim] > 1 || (dims.extent(dim) == 1 && dimClass != DimClass::C))
        result.dims.push_back({dim, blocks.counts[dim]});
    return result;
  }

  /// Kernels go along all dims of m: none is cut.
  void chooseOnePanel() {
    nest.panelDims = nest.m.dims.size();
    nest.panelCount = nest.m.dims.back().count;
  }

  /// As many dims of m, from the fastest on, as make about a kernel's rows; rather half as many
  /// than a few indices of the dim along which L is read, which could not be transposed.
  void choosePanels(int64_t most) {
    int64_t rows = 1;
    for (const SideDim &part : nest.m.dims) {
      const bool fits = rows * part.count <= most;
      if (!fits && 2 * rows >= most && dims.isUnit(Role::A, part.dim))
        return;
      ++nest.panelDims;
      nest.panelCount = fits ? part.count : panelPart(part.count, rows, most);
      if (!fits)
        return;
      rows *= part.count;
    }
  }

  /// Indices a panel of a dim that is cut: those with the fewest vectors, more rather than fewer.
  static int64_t panelPart(int64_t count, int64_t rows, int64_t most) {
    int64_t best = std::max<int64_t>(most / rows, 1);
    auto vectors = [&](int64_t part) {
      const int64_t rest = count % part;
      return count / part * ceilDiv(part * rows, kStepPanel) + ceilDiv(rest * rows, kStepPanel);
    };
    for (int64_t part = best; part * rows * 3 >= most * 2; --part)
      if (vectors(part) < vectors(best))
        best = part;
    return best;
  }

  void addLoops() {
    std::vector<NestLoop> tasks;
    // With long rows and few columns in scratch, rather R is packed again.
    for (const std::size_t dim :
         taskLoops(dims, bytesOfElement, blocks.taskCounts, blocks.isPackedInScratch()))
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
  const double bytesOfElement;
  LocalNest &nest;
  const int64_t panelRows;
  const BlockChoice blocks;
};

} // namespace

void blockNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest) {
  BlockNest(dims, type, machine, nest).run();
}

} // namespace einsumc
