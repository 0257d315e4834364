//===- BlockCounts.cpp - the parts of dims that a block has -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/BlockCounts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace einsumc {

namespace {

/// A length in multiples of a unit for nearly equal parts that are about at most so long; none if
/// it is much longer, or the last part much shorter.
/// \param share eighths of `most` that a part may have
std::optional<int64_t> evenPart(int64_t extent, int64_t most, int64_t unit, int64_t share) {
  const int64_t part = ceilDiv(extent, ceilDiv(extent, most));
  if (part < unit)
    return std::nullopt;
  const int64_t rounded = roundUp(part, unit);
  if (8 * rounded <= share * most)
    return rounded;
  const int64_t shorter = most / unit * unit;
  const bool isEven = extent % shorter == 0 || 2 * (extent % shorter) > shorter;
  return isEven ? std::optional(shorter) : std::nullopt;
}

/// Vectors of all parts of an extent together.
int64_t vectorsIn(int64_t extent, int64_t part, int64_t vector) {
  return extent / part * ceilDiv(part, vector) + ceilDiv(extent % part, vector);
}

} // namespace

DimIndices BlockCounts::contiguousDims(DimClass dimClass, std::initializer_list<Role> roles) const {
  DimIndices result;
  for (const Role role : roles)
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      if (dims[dim].dimClass == dimClass && dims.isUnit(role, dim) &&
          !llvm::is_contained(result, dim))
        result.push_back(dim);
  return result;
}

/// The first dim, in the order of a tensor, that a block has only a part of, if the elements of
/// the block before it lie next to each other.
struct BlockCounts::RunEnd {
  std::size_t dim = 0;
  int64_t stride = 1; ///< elements of the run
};
std::optional<BlockCounts::RunEnd> BlockCounts::endOfRun(Role role) const {
  int64_t run = 1;
  for (std::size_t dim = 0; dim < dims.size();) {
    const bool isNext = dims.extent(dim) > 1 && dims.stride(role, dim) == run;
    if (isNext && counts[dim] < dims.extent(dim))
      return RunEnd{dim, run};
    if (isNext && dims.isPart(role, dim))
      return std::nullopt;
    run *= isNext ? dims.extent(dim) : 1;
    dim = isNext ? 0 : dim + 1;
  }
  return std::nullopt;
}

bool BlockCounts::isWithinRun(Role role, std::size_t dim) const {
  constexpr int64_t kShort = 64; // Elements: of long runs it does not matter where they end.
  if (counts[dim] < dims.extent(dim) || dims.stride(role, dim) >= kShort)
    return false;
  const auto end = endOfRun(role);
  return dims.stride(role, dim) > 0 && (!end || dims.stride(role, dim) < end->stride);
}

void BlockCounts::grow(std::size_t dim, int64_t wanted, int64_t most) {
  int64_t &count = counts[dim];
  const int64_t others = sizeOf(dims[dim].dimClass) / count;
  // Rather a little more than a dim cut in two.
  const int64_t extent = dims.extent(dim);
  const int64_t room = std::max<int64_t>(most / others, 1);
  const bool nearlyFits = wanted >= extent && 2 * extent <= 3 * room;
  count = std::max(count, nearlyFits ? extent : std::min({wanted, extent, room}));
}

void BlockCounts::even(std::size_t dim) {
  counts[dim] = ceilDiv(dims.extent(dim), ceilDiv(dims.extent(dim), counts[dim]));
}

void BlockCounts::growRuns(DimClass dimClass, std::initializer_list<Role> roles, int64_t wanted,
                           int64_t most) {
  for (const Role role : roles)
    for (std::optional<RunEnd> end = endOfRun(role);
         end && dims[end->dim].dimClass == dimClass && end->stride > 1 && end->stride < wanted;) {
      grow(end->dim, ceilDiv(wanted, end->stride), most);
      end = counts[end->dim] == dims.extent(end->dim) ? endOfRun(role) : std::nullopt;
    }
}

void BlockCounts::fill(DimClass dimClass, Role role, int64_t most, const Steps &steps) {
  const DimIndices candidates = dims.bySpeed(dimClass, role);
  for (const std::size_t dim : candidates)
    grow(dim, dims.extent(dim), most);
  for (const std::size_t dim : candidates)
    counts[dim] = partOf(dim, counts[dim], steps);
}

int64_t BlockCounts::partOf(std::size_t dim, int64_t most, const Steps &steps) const {
  constexpr int64_t kShortUnit = 8;
  const int64_t extent = dims.extent(dim), part = ceilDiv(extent, ceilDiv(extent, most));
  const DimClass dimClass = dims[dim].dimClass;
  // Sums of packed blocks go over all dims alike, rows and columns of kernels over one dim: of
  // columns the fastest with enough of them.
  const bool isSumOfSeveral = dimClass == DimClass::K && sizeOf(dimClass) > counts[dim];
  const bool hasEnoughBefore = dimClass == DimClass::N && columnsBefore(dim) >= steps.step;
  if (part == extent || isSumOfSeveral || hasEnoughBefore)
    return part;
  const bool isShort = part < steps.step; // Fewer parts are worth more than multiples of the step.
  const int64_t share = isShort ? 10 : 9;
  const int64_t even =
      evenPart(extent, most, isShort ? kShortUnit : steps.step, share).value_or(part);
  if (!dims.isUnit(Role::C, dim))
    return even;
  const int64_t full = evenPart(extent, most, steps.vector, share).value_or(even);
  const int64_t best =
      vectorsIn(extent, full, steps.vector) < vectorsIn(extent, even, steps.vector) ? full : even;
  // Parts of a few full vectors with a short last one, if even ones are much emptier.
  constexpr int64_t kFew = 2, kWorthTenths = 8;
  const int64_t uneven = most / steps.vector * steps.vector;
  const bool isWorth =
      uneven >= kFew * steps.vector && 10 * vectorsIn(extent, uneven, steps.vector) <=
                                           kWorthTenths * vectorsIn(extent, best, steps.vector);
  return isWorth ? uneven : best;
}

int64_t BlockCounts::columnsBefore(std::size_t dim) const {
  int64_t product = 1;
  for (const std::size_t faster : dims.bySpeed(DimClass::N, Role::C)) {
    if (faster == dim)
      break;
    product *= counts[faster];
  }
  return product;
}

int64_t BlockCounts::sizeOf(DimClass dimClass) const {
  int64_t product = 1;
  for (std::size_t dim = 0; dim < dims.size(); ++dim)
    if (dims[dim].dimClass == dimClass)
      product *= counts[dim];
  return product;
}

int64_t BlockCounts::blocksOf(DimClass dimClass) const {
  int64_t product = 1;
  for (std::size_t dim = 0; dim < dims.size(); ++dim)
    if (dims[dim].dimClass == dimClass)
      product *= ceilDiv(dims.extent(dim), counts[dim]);
  return product;
}

int64_t BlockCounts::tasks() const {
  return blocksOf(DimClass::C) * blocksOf(DimClass::M) * blocksOf(DimClass::N);
}

bool BlockCounts::halve(DimClass dimClass, Role operand, int64_t least, const Steps &steps) {
  if (sizeOf(dimClass) <= least)
    return false;
  std::optional<std::size_t> largest;
  bool isLargestRow = false;
  for (const std::size_t dim : dims.bySpeed(dimClass, Role::C)) {
    const bool isWritten = dims.isUnit(Role::C, dim), isRead = dims.isUnit(operand, dim);
    const bool isRow =
        isWritten || isRead || isWithinRun(Role::C, dim) || isWithinRun(operand, dim);
    const int64_t count = counts[dim];
    if (count < 2 * (isWritten ? kWrittenRow : isRead ? kShortestRow : 1))
      continue;
    const bool isLarger = !largest || count > counts[*largest];
    if (!largest || (isRow == isLargestRow ? isLarger : isLargestRow)) {
      largest = dim;
      isLargestRow = isRow;
    }
  }
  if (!largest)
    return false;
  int64_t &count = counts[*largest];
  const int64_t half = partOf(*largest, ceilDiv(count, 2), steps);
  if (half >= count)
    return false;
  count = half;
  return true;
}

std::optional<std::size_t> BlockCounts::onlyDim(DimClass dimClass) const {
  std::size_t found = dims.size();
  for (std::size_t dim = 0; dim < dims.size(); ++dim) {
    const bool isOutside = counts[dim] == 1 && dims.extent(dim) > 1;
    if (dims[dim].dimClass != dimClass || isOutside)
      continue;
    if (found != dims.size())
      return std::nullopt;
    found = dim;
  }
  return found;
}

} // namespace einsumc
