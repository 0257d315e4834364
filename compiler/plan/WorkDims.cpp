//===- WorkDims.cpp - the dims of a local work and their strides ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/WorkDims.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

namespace einsumc {

namespace {

bool continues(const WorkDim &outer, const WorkDim &inner) {
  if (outer.dimClass != inner.dimClass)
    return false;
  for (std::size_t role = 0; role < outer.strides.size(); ++role)
    if (outer.strides[role] != inner.strides[role] * inner.extent)
      return false;
  return true;
}

} // namespace

WorkDims WorkDims::fused(const LocalWork &work) {
  llvm::SmallVector<WorkDim, 8> dims;
  for (const WorkDim &dim : work.dims)
    if (dim.extent != 1)
      dims.push_back(dim);
  // Dims that fuse are neighbours in this order: every dim is in C, or else in A (class K).
  llvm::sort(dims, [](const WorkDim &a, const WorkDim &b) {
    return std::tie(a.dimClass, a.strides[2], a.strides[0], a.strides[1], a.extent) <
           std::tie(b.dimClass, b.strides[2], b.strides[0], b.strides[1], b.extent);
  });
  std::size_t last = 0;
  for (std::size_t d = 1; d < dims.size(); ++d)
    if (continues(dims[d], dims[last])) {
      dims[last].extent *= dims[d].extent;
      dims[last].isPart = dims[d].isPart;
    } else {
      dims[++last] = dims[d];
    }
  if (!dims.empty())
    dims.truncate(last + 1);
  return WorkDims(std::move(dims), work.footprint);
}

WorkDims WorkDims::exchanged() const {
  llvm::SmallVector<WorkDim, 8> result = dims;
  for (WorkDim &dim : result) {
    std::swap(dim.strides[0], dim.strides[1]);
    std::swap(dim.isPart[0], dim.isPart[1]);
    if (dim.dimClass == DimClass::M || dim.dimClass == DimClass::N)
      dim.dimClass = dim.dimClass == DimClass::M ? DimClass::N : DimClass::M;
  }
  return WorkDims(std::move(result), given);
}

DimIndices WorkDims::bySpeed(DimClass dimClass, Role role) const {
  DimIndices result;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims[d].dimClass == dimClass)
      result.push_back(d);
  llvm::sort(result, [&](std::size_t a, std::size_t b) {
    return std::pair(stride(role, a), a) < std::pair(stride(role, b), b);
  });
  return result;
}

std::size_t WorkDims::fastest(Role role) const {
  std::size_t best = size();
  for (std::size_t d = 0; d < size(); ++d)
    if (stride(role, d) > 0 && (best == size() || stride(role, d) < stride(role, best)))
      best = d;
  return best;
}

int64_t WorkDims::extentOf(DimClass dimClass) const {
  int64_t product = 1;
  for (const WorkDim &dim : dims)
    if (dim.dimClass == dimClass)
      product *= dim.extent;
  return product;
}

DimIndices WorkDims::inOrder(Role role) const {
  DimIndices order;
  for (std::size_t d = 0; d < size(); ++d)
    if (stride(role, d) != 0)
      order.push_back(d);
  llvm::sort(order,
             [&](std::size_t a, std::size_t b) { return stride(role, a) < stride(role, b); });
  return order;
}

double WorkDims::run(Role role, const DimCounts &counts) const {
  int64_t run = 1;
  for (const std::size_t dim : inOrder(role)) {
    if (stride(role, dim) != run)
      break;
    run *= counts[dim];
    if (counts[dim] < extent(dim) || isPart(role, dim))
      break;
  }
  return static_cast<double>(run);
}

bool WorkDims::areRowsAt(Role role, int64_t row, int64_t step) const {
  return llvm::all_of(inOrder(role), [&](std::size_t dim) {
    return stride(role, dim) < row || stride(role, dim) % step == 0;
  });
}

int64_t WorkDims::runAlong(DimClass dimClass, Role role) const {
  int64_t run = 1;
  for (const std::size_t dim : bySpeed(dimClass, role))
    if (extent(dim) > 1) {
      if (stride(role, dim) != run)
        break;
      run *= extent(dim);
    }
  return run;
}

double WorkDims::elements(Role role) const {
  double product = 1;
  for (std::size_t d = 0; d < size(); ++d)
    if (stride(role, d) != 0)
      product *= static_cast<double>(extent(d));
  return product;
}

double WorkDims::footprint() const {
  return given > 0 ? given : elements(Role::A) + elements(Role::B) + elements(Role::C);
}

double WorkDims::iterations() const {
  double product = 1;
  for (const WorkDim &dim : dims)
    product *= static_cast<double>(dim.extent);
  return product;
}

bool isResultAlongB(const WorkDims &dims) {
  std::size_t fastest = dims.size();
  for (std::size_t d = 0; d < dims.size(); ++d)
    if ((dims[d].dimClass == DimClass::M || dims[d].dimClass == DimClass::N) &&
        (fastest == dims.size() || dims.stride(Role::C, d) < dims.stride(Role::C, fastest)))
      fastest = d;
  return fastest < dims.size() && dims[fastest].dimClass == DimClass::N;
}

} // namespace einsumc
