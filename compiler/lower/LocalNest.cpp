//===- LocalNest.cpp - chooses the loops and blocks of a contraction --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/LocalNest.h"

#include "compiler/lower/NestDims.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace einsumc {

namespace {

/// Below so many flops a team costs more than it gains.
constexpr double kSerialFlops = 200'000;

/// Lets the operand with the fastest m or n dim of the result play L.
void orient(const NestDims &dims, LocalNest &nest) {
  std::optional<std::size_t> fastest;
  for (std::size_t d = 0; d < nest.dims.size(); ++d)
    if ((nest.dims[d].dimClass == DimClass::M || nest.dims[d].dimClass == DimClass::N) &&
        (!fastest || dims.speed(Role::C, d) > dims.speed(Role::C, *fastest)))
      fastest = d;
  nest.swapped = fastest && nest.dims[*fastest].dimClass == DimClass::N;
  if (!nest.swapped)
    return;
  for (FusedDim &dim : nest.dims)
    if (dim.dimClass == DimClass::M || dim.dimClass == DimClass::N)
      dim.dimClass = dim.dimClass == DimClass::M ? DimClass::N : DimClass::M;
}

/// Whether the node moves more than it computes, so that its tensors are read in place: one
/// operand is (nearly) a vector, the elements of a batch lie next to each other, or a batch has
/// products so small that a call for each would cost more.
bool isStreaming(const NestDims &dims) {
  constexpr int64_t kNarrow = 4, kBatch = 8;
  constexpr double kTinyProduct = 1024;
  const int64_t m = dims.extentOf(DimClass::M);
  const int64_t n = dims.extentOf(DimClass::N);
  if (m < kNarrow || n < kNarrow)
    return true;
  const std::vector<std::size_t> batch = dims.bySpeed(DimClass::C, Role::C);
  if (batch.empty() || dims.extent(batch.front()) < kBatch)
    return false;
  return dims.isUnit(Role::C, batch.front()) ||
         static_cast<double>(m) * static_cast<double>(n) *
                 static_cast<double>(dims.extentOf(DimClass::K)) <=
             kTinyProduct;
}

} // namespace

int64_t NestSide::size() const {
  int64_t product = 1;
  for (const SideDim &side : dims)
    product *= side.count;
  return product;
}

int NestDims::speed(Role role, std::size_t dim) const {
  const std::vector<DimId> &dims = dimsOf(tree, node, role);
  const auto at = llvm::find(dims, nest.dims[dim].dims.back());
  return at == dims.end() ? -1 : static_cast<int>(at - dims.begin());
}

bool NestDims::isUnit(Role role, std::size_t dim) const {
  const std::vector<DimId> &dims = dimsOf(tree, node, role);
  const auto last =
      std::find_if(dims.rbegin(), dims.rend(), [&](DimId d) { return tree.dim(d).extent > 1; });
  return last != dims.rend() && *last == nest.dims[dim].dims.back();
}

std::vector<std::size_t> NestDims::bySpeed(DimClass dimClass, Role role) const {
  std::vector<std::size_t> result;
  for (std::size_t d = 0; d < nest.dims.size(); ++d)
    if (nest.dims[d].dimClass == dimClass)
      result.push_back(d);
  llvm::sort(result, [&](std::size_t a, std::size_t b) { return speed(role, a) > speed(role, b); });
  return result;
}

int64_t NestDims::extentOf(DimClass dimClass) const {
  int64_t product = 1;
  for (const FusedDim &dim : nest.dims)
    if (dim.dimClass == dimClass)
      product *= dim.extent;
  return product;
}

int64_t NestDims::resultSize() const {
  return extentOf(DimClass::C) * extentOf(DimClass::M) * extentOf(DimClass::N);
}

LocalNest chooseNest(const Tree &tree, NodeId node, const NodeSchedule &schedule,
                     const std::array<Layout, 3> &stored) {
  LocalNest nest;
  nest.dims = fuseDims(tree, node, schedule, {stored.begin(), stored.end()});
  double flops = 2;
  for (const FusedDim &dim : nest.dims)
    flops *= static_cast<double>(dim.extent);
  nest.serial = flops < kSerialFlops;

  const NestDims dims(tree, node, nest);
  orient(dims, nest);
  if (isStreaming(dims))
    streamNest(dims, nest);
  else
    blockNest(dims, sizeInBytes(tree.elementType()), nest);
  return nest;
}

} // namespace einsumc
