//===- LocalCost.cpp - what a node's computation takes on one rank ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/LocalCost.h"

#include "compiler/plan/BlockChoice.h"
#include "compiler/plan/BlockCost.h"
#include "compiler/plan/ReorderChoice.h"
#include "compiler/plan/StreamCost.h"
#include "compiler/plan/Streaming.h"
#include "compiler/plan/WorkDims.h"

#include <algorithm>
#include <optional>

namespace einsumc {

double LocalCost::seconds() const {
  return std::max((kernelSeconds + packSeconds) * imbalance, memorySeconds) + lineSeconds;
}

namespace {

LocalCost costOnTeam(const LocalWork &work, const WorkDims &dims, const Machine &machine,
                     TeamShares shares) {
  // The other way round must be cheaper by more than the error of the estimate.
  constexpr double kClearly = 0.93;
  if (work.isUnary)
    return unaryCost(dims, work.type, machine);
  const bool isUsuallySwapped = isResultAlongB(dims);
  const WorkDims usualDims = isUsuallySwapped ? dims.exchanged() : dims;
  const auto inUsualRoles = [&](LocalCost cost, NestKernel kernel) {
    cost.swapped = isUsuallySwapped;
    cost.kernel = kernel;
    return cost;
  };
  const auto reordering = [&](const ReorderChoice &choice) {
    return inUsualRoles(choice.cost, NestKernel::Reorder);
  };
  const bool streams = isStreaming(dims, machine);
  const bool goesAlong = !streams && goesAlongRows(dims, machine);
  std::optional<LocalCost> streamed;
  if (streams || goesAlong)
    streamed = inUsualRoles(streamCost(usualDims, work.type, machine), NestKernel::Stream);
  if (goesAlong || (streams && !mayBeBlocks(dims)))
    return *streamed;
  if (!streams && canReorder(dims))
    return reordering(chooseReordering(usualDims, work.type, machine));
  const bool isSerial = isForOneThread(dims);
  const auto costOf = [&](const WorkDims &of) {
    const int64_t team = shares == TeamShares::Equal ? 1 : machine.threads;
    return blockCost(of, work.type, machine,
                     chooseBlocks(of, work.type, machine, {.isSerial = isSerial, .shares = shares}),
                     team);
  };
  LocalCost usual = inUsualRoles(costOf(usualDims), NestKernel::Block);
  LocalCost other = costOf(usualDims.exchanged());
  other.swapped = !isUsuallySwapped;
  // What both take is beside the point.
  const double both = std::min(usual.lineSeconds, other.lineSeconds);
  LocalCost best = other.seconds() - both < kClearly * (usual.seconds() - both) ? other : usual;
  // Where memory limits both, blocks were mostly faster.
  if (streamed && streamed->seconds() < best.seconds())
    best = *streamed;
  if (!mayReorder(dims) && !mayBeDots(usualDims))
    return best;
  const ReorderChoice reordered = chooseReordering(usualDims, work.type, machine);
  const bool areDots =
      reordered.areDotsInPlace(usualDims) && reordered.hasTasks(usualDims, machine);
  return (mayReorder(dims) || areDots) && reordered.cost.seconds() < best.seconds()
             ? reordering(reordered)
             : best;
}

} // namespace

double leastSeconds(double iterations, ElementType type, const Machine &machine) {
  return 2 * iterations / (machine.flopsPerSecond(type) * machine.kernelEfficiency.best());
}

LocalCost localCost(const LocalWork &work, const Machine &machine, TeamShares shares) {
  const WorkDims dims = WorkDims::fused(work);
  LocalCost cost = costOnTeam(work, dims, machine, shares);
  if (machine.threads > 1 && isForOneThread(dims)) {
    const auto threads = static_cast<double>(machine.threads);
    cost.kernelSeconds *= threads;
    cost.packSeconds *= threads;
    cost.memorySeconds *= threads;
    cost.lineSeconds *= threads;
  }
  return cost;
}

} // namespace einsumc
