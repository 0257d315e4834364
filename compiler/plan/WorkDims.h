//===- WorkDims.h - the dims of a local work and their strides --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_WORKDIMS_H
#define EINSUMC_PLAN_WORKDIMS_H

#include "compiler/plan/LocalCost.h"

#include "llvm/ADT/SmallVector.h"

namespace einsumc {

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t roundUp(int64_t a, int64_t unit) { return ceilDiv(a, unit) * unit; }
constexpr double toDouble(int64_t count) { return static_cast<double>(count); }

/// Indices into a work's dims, or one number for each of them.
using DimIndices = llvm::SmallVector<std::size_t, 8>;
using DimCounts = llvm::SmallVector<int64_t, 8>;

/// The dims of a contraction or unary node on one rank; answers questions about their order. In a
/// contraction, A plays L and B plays R; `exchanged` gives the work with A and B exchanged.
class WorkDims {
public:
  explicit WorkDims(llvm::SmallVector<WorkDim, 8> dims, double footprint = 0)
      : dims(std::move(dims)), given(footprint) {}

  /// Without dims of extent 1, and those fused that all tensors store next to each other.
  static WorkDims fused(const LocalWork &work);
  WorkDims exchanged() const;

  std::size_t size() const { return dims.size(); }
  const WorkDim &operator[](std::size_t dim) const { return dims[dim]; }
  int64_t extent(std::size_t dim) const { return dims[dim].extent; }
  int64_t stride(Role role, std::size_t dim) const {
    return dims[dim].strides[static_cast<std::size_t>(role)];
  }
  /// Whether neighbours along the dim are neighbours in the role's tensor.
  bool isUnit(Role role, std::size_t dim) const { return stride(role, dim) == 1; }
  /// Whether the role's tensor may have more indices of the dim.
  bool isPart(Role role, std::size_t dim) const {
    return dims[dim].isPart[static_cast<std::size_t>(role)];
  }
  /// The dims of a class, the fastest in the role's tensor first.
  DimIndices bySpeed(DimClass dimClass, Role role) const;
  /// The dims of a role's tensor, the fastest first.
  DimIndices inOrder(Role role) const;
  /// The fastest dim of a role's tensor; size() when it is a scalar.
  std::size_t fastest(Role role) const;
  /// The product of the extents of a class.
  int64_t extentOf(DimClass dimClass) const;
  /// Neighbours in a role's tensor that a part of the work has: so many indices of each dim.
  double run(Role role, const DimCounts &counts) const;
  /// Whether rows of so many neighbours in a role's tensor begin at multiples of \p step elements.
  bool areRowsAt(Role role, int64_t row, int64_t step) const;
  /// Neighbours in a role's tensor along the dims of a class.
  int64_t runAlong(DimClass dimClass, Role role) const;
  /// Elements of a role's tensor.
  double elements(Role role) const;
  /// Elements of the tensors that the work is a part of, or of its own.
  double footprint() const;
  /// The product of all extents.
  double iterations() const;

private:
  llvm::SmallVector<WorkDim, 8> dims;
  double given = 0; ///< LocalWork::footprint
};

/// Whether L should be B: whether the fastest dim along which the result alone shares its elements
/// with one operand comes from B.
bool isResultAlongB(const WorkDims &dims);

} // namespace einsumc

#endif // EINSUMC_PLAN_WORKDIMS_H
