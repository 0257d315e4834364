//===- ShareWork.cpp - blocks of a contraction that keep a team busy --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/ShareWork.h"

#include "compiler/plan/BlockPanels.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>
#include <utility>

namespace einsumc {

namespace {

/// Fewer tasks for each thread are worth reading operands in parts of lines.
constexpr int64_t kTasksAtLeast = 3;

class Sharer {
public:
  Sharer(const WorkDims &dims, const BlockLimits &limits, const BlockAims &aims,
         const TeamNeeds &needs, const BatchCounts &batch, BlockCounts &block)
      : dims(dims), limits(limits), aims(aims), needs(needs), batch(batch), block(block) {}

  bool run() {
    if (needs.maySplitSums && block.blocksOf(DimClass::K) >= needs.sums)
      return true;
    const DimCounts whole = block.counts;
    shrinkForTeam();
    if (2 * block.tasks() >= needs.tasks)
      return false;
    const DimCounts shrunk = std::exchange(block.counts, whole);
    if (needs.maySplitSums && cutSums())
      return true;
    block.counts = shrunk;
    while (2 * block.tasks() < needs.tasks && halveBatch(batch.lines))
      ;
    const int64_t few = std::min(needs.tasks / 2, kTasksAtLeast * needs.threads);
    while (block.tasks() < few && halveBatch(DimCounts(dims.size(), 1)))
      ;
    return false;
  }

private:
  /// Cuts the sums into enough blocks for the team. Returns whether they are long enough.
  bool cutSums() {
    while (block.blocksOf(DimClass::K) < needs.sums)
      if (!block.halve(DimClass::K, Role::A, BlockLimits::kLeastK, {1}))
        return false;
    return true;
  }

  /// Cuts blocks until there are enough tasks or the sides are short, first along m, if the rows
  /// still fill vectors then: every task packs its block of L, while R is packed once for a row of
  /// them.
  void shrinkForTeam() {
    while (block.tasks() < needs.tasks)
      if (!halveBatch(batch.runs) &&
          !block.halve(DimClass::M, Role::A,
                       std::max(limits.panelRows, rowsToFill(dims, limits, aims.fullness())),
                       rowSteps(limits)) &&
          !block.halve(DimClass::N, Role::B, BlockLimits::kLeastN, {tiles::kStepN}))
        return;
  }

  /// Halves a dim of a batch of which there are more than so many indices. Returns whether it
  /// could.
  bool halveBatch(const DimCounts &least) {
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      if (dims[dim].dimClass != DimClass::C || block.counts[dim] <= least[dim])
        continue;
      const int64_t parts = 2 * ceilDiv(dims.extent(dim), block.counts[dim]);
      block.counts[dim] = std::max(least[dim], ceilDiv(dims.extent(dim), parts));
      return true;
    }
    return false;
  }

  const WorkDims &dims;
  const BlockLimits &limits;
  const BlockAims &aims;
  const TeamNeeds &needs;
  const BatchCounts &batch;
  BlockCounts &block;
};

} // namespace

bool shareWork(const WorkDims &dims, const BlockLimits &limits, const BlockAims &aims,
               const TeamNeeds &needs, const BatchCounts &batch, BlockCounts &block) {
  return Sharer(dims, limits, aims, needs, batch, block).run();
}

} // namespace einsumc
