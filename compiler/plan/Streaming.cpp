//===- Streaming.cpp - contractions that are computed on their tensors in place ---------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Streaming.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>

namespace einsumc {

namespace {

constexpr std::array kRoles = {Role::A, Role::B, Role::C};

Role largest(const WorkDims &dims) {
  return *std::max_element(kRoles.begin(), kRoles.end(),
                           [&](Role a, Role b) { return dims.elements(a) < dims.elements(b); });
}

/// Whether kernels on the tensors in place go along vectors of the largest one: another one with
/// which it shares its fastest dim must be contiguous along it, too.
bool isVectorised(const WorkDims &dims) {
  const Role role = largest(dims);
  const std::size_t unit = dims.fastest(role);
  switch (dims[unit].dimClass) {
  case DimClass::C:
    return llvm::all_of(kRoles, [&](Role other) { return dims.isUnit(other, unit); });
  case DimClass::M:
    return dims.isUnit(role == Role::A ? Role::C : Role::A, unit);
  case DimClass::N:
    return dims.isUnit(role == Role::B ? Role::C : Role::B, unit);
  case DimClass::K:
    return dims.isUnit(role == Role::A ? Role::B : Role::A, unit);
  }
  return false;
}

/// Whether kernels along the fastest dim of each class go along enough neighbours of every tensor
/// that matters.
bool goesInRuns(const WorkDims &dims) {
  constexpr double kShare = 0.25, kShortest = 32;
  const DimCounts counts = streamedCounts(dims);
  const double most = dims.elements(largest(dims));
  return llvm::all_of(kRoles, [&](Role role) {
    return dims.elements(role) < kShare * most || dims.run(role, counts) >= kShortest;
  });
}

} // namespace

DimCounts streamedCounts(const WorkDims &dims) {
  DimCounts counts(dims.size(), 1);
  const bool isLongerA = dims.extentOf(DimClass::M) >= dims.extentOf(DimClass::N);
  for (const DimClass dimClass : {DimClass::C, DimClass::M, DimClass::N, DimClass::K}) {
    const Role order = dimClass != DimClass::K ? Role::C : isLongerA ? Role::A : Role::B;
    const DimIndices candidates = dims.bySpeed(dimClass, order);
    if (!candidates.empty())
      counts[candidates.front()] = std::min(dims.extent(candidates.front()), kStream);
  }
  return counts;
}

bool isStreaming(const WorkDims &dims) {
  constexpr int64_t kNarrow = 4, kBatch = 8, kFewRows = 12;
  constexpr double kTinyProduct = 1024;
  const int64_t m = dims.extentOf(DimClass::M);
  const int64_t n = dims.extentOf(DimClass::N);
  const int64_t k = dims.extentOf(DimClass::K);
  const double product = toDouble(m) * toDouble(n) * toDouble(k);
  if (m < kNarrow || n < kNarrow)
    return std::min({m, n, k}) == 1 || product <= kTinyProduct ||
           (isVectorised(dims) && goesInRuns(dims));
  const DimIndices batch = dims.bySpeed(DimClass::C, Role::C);
  if (batch.empty() || dims.extent(batch.front()) < kBatch)
    return false;
  // Operands that are contiguous along other dims are read across their cache lines for every
  // element of the batch: only for few sums is that less than a result written so.
  const std::size_t dim = batch.front();
  const bool isForBatches =
      dims.isUnit(Role::C, dim) &&
      (dims.isUnit(Role::A, dim) || dims.isUnit(Role::B, dim) || std::min(m, n) < kFewRows);
  return (isForBatches && isVectorised(dims)) || product <= kTinyProduct;
}

} // namespace einsumc
