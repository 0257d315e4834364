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
/// Neighbours in R that the processor fetches from memory by itself.
constexpr double kLeastRun = 128;
/// Columns of a kernel that keep the processor busy.
constexpr int64_t kEnoughColumns = 8;

/// Takes as many sums that are neighbours in R as there is room for, and returns their number.
int64_t growSums(const WorkDims &dims, const DimIndices &order, int64_t most, BlockCounts &block) {
  int64_t sums = 1;
  for (const std::size_t dim : order) {
    if (dims[dim].dimClass != DimClass::K || dims.stride(Role::B, dim) != sums)
      break;
    block.grow(dim, dims.extent(dim), most);
    block.even(dim);
    sums *= block.counts[dim];
    if (block.counts[dim] < dims.extent(dim) || dims.isPart(Role::B, dim))
      break;
  }
  return sums;
}

/// The dim along which columns are the nearest to each other, or, where these are few, the longest.
std::optional<std::size_t> dimOfColumns(const WorkDims &dims, const DimIndices &order) {
  std::optional<std::size_t> found;
  for (const std::size_t dim : order)
    if (dims[dim].dimClass == DimClass::N &&
        (!found || dims.extent(*found) < std::min(kEnoughColumns, dims.extent(dim))))
      found = dim;
  return found;
}

} // namespace

bool growInPlace(const WorkDims &dims, const BlockLimits &limits, int64_t elementBytes,
                 BlockCounts &block) {
  const DimIndices order = dims.inOrder(Role::B);
  const auto columns = dimOfColumns(dims, order);
  if (!columns)
    return false;
  const int64_t left = limits.leftBytes / elementBytes;
  const int64_t rows =
      std::min(roundUp(dims.extentOf(DimClass::M), limits.lanes()), BlockLimits::kMostM);
  const int64_t sums = growSums(dims, order, left / rows, block);
  if (sums < kLeastSums)
    return false;
  block.fill(DimClass::M, Role::C, std::max(left / sums, limits.panelRows), rowSteps(limits));
  block.grow(*columns, dims.extent(*columns),
             std::max(limits.rightBytes / elementBytes / sums, BlockLimits::kLeastN));
  return dims.run(Role::B, block.counts) >= kLeastRun;
}

} // namespace einsumc
