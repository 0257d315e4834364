//===- BlocksInPlace.cpp - blocks of contractions whose R is read in place --------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/BlocksInPlace.h"

#include "compiler/plan/GrowBlock.h"

#include <algorithm>
#include <optional>

namespace einsumc {

namespace {

/// Sums of a block that are worth it: adding each block's to C takes little of the time.
constexpr int64_t kLeastSums = 64;
/// Those of more rows than a vector has, for which kernels do not fetch columns
/// (TileShape::bFetched): these are so long that the processor does.
constexpr int64_t kLeastSumsOfManyRows = 512;
/// Neighbours in R that the processor fetches from memory by itself.
constexpr double kLeastRun = 128;
/// Columns of a kernel that keep the processor busy.
constexpr int64_t kEnoughColumns = 8;

/// Takes as many sums that are neighbours in R as there is room for.
void growSums(const WorkDims &dims, int64_t most, BlockCounts &block) {
  for (const std::size_t dim : block.contiguousDims(DimClass::K, {Role::B}))
    block.grow(dim, most, most);
  block.growRuns(DimClass::K, {Role::B}, most, most);
  for (const std::size_t dim : dims.bySpeed(DimClass::K, Role::B))
    block.even(dim);
}

/// The dim along which columns are the nearest to each other, or, where these are few, the longest.
std::optional<std::size_t> dimOfColumns(const WorkDims &dims) {
  std::optional<std::size_t> found;
  for (const std::size_t dim : dims.bySpeed(DimClass::N, Role::B))
    if (!found || dims.extent(*found) < std::min(kEnoughColumns, dims.extent(dim)))
      found = dim;
  return found;
}

} // namespace

bool growInPlace(const WorkDims &dims, const BlockLimits &limits, int64_t elementBytes,
                 BlockCounts &block) {
  const auto columns = dimOfColumns(dims);
  if (!columns)
    return false;
  const int64_t left = limits.leftBytes / elementBytes;
  const int64_t rows =
      std::min(roundUp(dims.extentOf(DimClass::M), limits.lanes()), BlockLimits::kMostM);
  growSums(dims, left / rows, block);
  const int64_t sums = block.sizeOf(DimClass::K);
  if (sums < (rows <= limits.lanes() ? kLeastSums : kLeastSumsOfManyRows))
    return false;
  block.fill(DimClass::M, Role::C, std::max(left / sums, limits.panelRows), rowSteps(limits));
  block.grow(*columns, dims.extent(*columns),
             std::max(limits.rightBytes / elementBytes / sums, BlockLimits::kLeastN));
  return dims.run(Role::B, block.counts) >= kLeastRun;
}

} // namespace einsumc
