//===- BlockCounts.h - the parts of dims that a block has -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_BLOCKCOUNTS_H
#define EINSUMC_PLAN_BLOCKCOUNTS_H

#include "compiler/plan/WorkDims.h"

#include <initializer_list>
#include <optional>

namespace einsumc {

/// How many indices of each dim a block of a contraction has, to begin with one, and the steps by
/// which it grows and shrinks.
class BlockCounts {
public:
  /// Elements of a dim along which a tensor is contiguous that a block does not go below, and the
  /// same for C: whole panels of it are written past the caches or stay in them.
  static constexpr int64_t kShortestRow = 16, kWrittenRow = 32;

  explicit BlockCounts(const WorkDims &dims) : counts(dims.size(), 1), dims(dims) {}

  DimCounts counts; ///< by dim

  /// What parts of dims are multiples of, if that is possible.
  struct Steps {
    int64_t step;
    int64_t vector = 1; ///< of the dim along which C is written: where these are fewer
  };

  /// Elements of a block along a class.
  int64_t sizeOf(DimClass dimClass) const;
  /// Blocks along a class.
  int64_t blocksOf(DimClass dimClass) const;
  /// Blocks of the result.
  int64_t tasks() const;

  /// The dims of a class along which one of the roles' tensors is contiguous, each once.
  DimIndices contiguousDims(DimClass dimClass, std::initializer_list<Role> roles) const;
  /// The only dim of a class that a block has more than one index of, or all; size() when there is
  /// none, nothing when there are several.
  std::optional<std::size_t> onlyDim(DimClass dimClass) const;

  /// Takes more indices of a dim while the block has at most so many elements along the dim's
  /// class.
  void grow(std::size_t dim, int64_t wanted, int64_t most);
  /// Takes fewer indices of a dim if that makes no more blocks.
  void even(std::size_t dim);
  /// Takes indices of the dims that continue the rows in the roles' tensors.
  /// \param wanted elements of a run
  void growRuns(DimClass dimClass, std::initializer_list<Role> roles, int64_t wanted, int64_t most);
  /// Takes indices of a class's dims, the fastest in the role first, up to a number of elements.
  void fill(DimClass dimClass, Role role, int64_t most, const Steps &steps);
  /// Halves the largest part of a side that is longer than `least`: those through which C or the
  /// operand is contiguous last, and rows not into too short ones. Returns whether it could.
  bool halve(DimClass dimClass, Role operand, int64_t least, const Steps &steps);

private:
  struct RunEnd;
  std::optional<RunEnd> endOfRun(Role role) const;
  /// Whether a short run of a tensor goes on through all of a dim.
  bool isWithinRun(Role role, std::size_t dim) const;
  /// The length of parts of a dim, about at most so long: nearly equal ones, unless these leave
  /// much of vectors empty.
  int64_t partOf(std::size_t dim, int64_t most, const Steps &steps) const;
  /// Columns of the block along the dims that are faster in C than this one.
  int64_t columnsBefore(std::size_t dim) const;

  const WorkDims &dims;
};

} // namespace einsumc

#endif // EINSUMC_PLAN_BLOCKCOUNTS_H
