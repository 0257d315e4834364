//===- Streaming.cpp - contractions that are computed on their tensors in place ---------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Streaming.h"

#include "einsumc/BlockTiles.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>

namespace einsumc {

namespace {

/// Fewer rows or columns are not worth a block.
constexpr int64_t kNarrow = 4;
/// Up to so many iterations take less time than packing for them.
constexpr double kFewIterations = 1 << 15;
constexpr std::array kRoles = {Role::A, Role::B, Role::C};

/// Whether kernels on the tensors in place go along vectors of the largest one: another one with
/// which it shares its fastest dim must be contiguous along it, too.
bool isVectorised(const WorkDims &dims) {
  const Role role = largestTensor(dims);
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

/// Whether kernels along a dim of each class go along enough neighbours of every tensor that
/// matters.
/// \param counts by dim: indices in a call
bool goesInRuns(const WorkDims &dims, const DimCounts &counts, double shortest) {
  constexpr double kShare = 0.25;
  const double most = dims.elements(largestTensor(dims));
  return llvm::all_of(kRoles, [&](Role role) {
    return dims.elements(role) < kShare * most || dims.run(role, counts) >= shortest;
  });
}

/// Whether it is a batch of products so small that packing each would cost more.
bool hasTinyProducts(const WorkDims &dims) {
  constexpr double kTiny = 1024;
  return toDouble(dims.extentOf(DimClass::M)) * toDouble(dims.extentOf(DimClass::N)) *
             toDouble(dims.extentOf(DimClass::K)) <=
         kTiny;
}

/// Whether kernels on tiny products in place would go along neither rows of the result nor sums
/// that fill vectors, and a batch is long enough for these to lie along it.
bool isForLongBatch(const WorkDims &dims) {
  constexpr int64_t kLeastBatch = 64, kFewSums = 16;
  const std::size_t unit = dims.fastest(Role::C);
  const Role operand = dims[unit].dimClass == DimClass::N ? Role::B : Role::A;
  return dims.extentOf(DimClass::C) >= kLeastBatch && hasTinyProducts(dims) &&
         dims.extentOf(DimClass::K) < kFewSums && !dims.isUnit(operand, unit);
}

/// Makes enough tasks for a team, first of the dims that are slowest in the largest tensor: its
/// rows stay long.
class TeamCuts {
public:
  TeamCuts(const WorkDims &dims, int64_t enough)
      : dims(dims), enough(enough), counts(streamedCounts(dims)) {}

  DimCounts run() {
    const Role role = largestTensor(dims);
    DimIndices cuts;
    for (const DimClass dimClass : {DimClass::N, DimClass::M, DimClass::C})
      if (const DimIndices found = dims.bySpeed(dimClass, Role::C); !found.empty())
        cuts.push_back(found.front());
    llvm::stable_sort(cuts, [&](std::size_t x, std::size_t y) {
      return dims.stride(role, x) > dims.stride(role, y);
    });
    for (const std::size_t dim : cuts)
      if (tasksOfCalls(dims, counts) < enough)
        cut(dim, dims.isUnit(role, dim));
    return counts;
  }

private:
  /// \param isAlong the largest tensor is contiguous along the dim: fewer parts, of whole vectors
  /// rather than even ones
  void cut(std::size_t dim, bool isAlong) {
    const int64_t tasks = isAlong ? enough : 4 * enough;
    constexpr int64_t kLeast = 16;
    const int64_t extent = dims.extent(dim);
    const int64_t others = tasksOfCalls(dims, counts) / ceilDiv(extent, counts[dim]);
    const int64_t part = ceilDiv(extent, ceilDiv(tasks, others));
    const int64_t most = std::max(std::min(counts[dim], kLeast), part);
    counts[dim] = isAlong ? std::min(most, extent) : ceilDiv(extent, ceilDiv(extent, most));
  }

  const WorkDims &dims;
  const int64_t enough;
  DimCounts counts;
};

/// Whether the runs of a large tensor are long enough where they are cut for the team. Dots of rows
/// that are no longer than these go from one piece to the next far away in memory, which processors
/// fetch late. Of a matrix threads share the sums instead.
bool staysInRuns(const WorkDims &dims, const Machine &machine) {
  // Elements, of a thread's part of the tensor those that are large.
  constexpr double kLarge = 1 << 17, kRun = 64, kLargeOfDots = 1 << 22, kRunOfDots = 4096;
  const Role largest = largestTensor(dims);
  const std::size_t along = dims.fastest(largest);
  const bool areDots = dims[along].dimClass == DimClass::K;
  const double ofThread = dims.elements(largest) / toDouble(machine.threads);
  return dims.size() == 2 || ofThread < (areDots ? kLargeOfDots : kLarge) ||
         (areDots && dims.extent(along) >= kStream) ||
         goesInRuns(dims, sharedCounts(dims, machine), areDots ? kRunOfDots : kRun);
}

/// Whether kernels go through the tensors in place along vectors and in runs; where blocks could be
/// reordered, these must be long, also in a large tensor whose runs are cut for the team.
bool goesInPlace(const WorkDims &dims, const Machine &machine) {
  constexpr int64_t kVectors = 32;
  constexpr double kShortRun = 32, kLongRun = 1024;
  if (!isVectorised(dims))
    return false;
  const DimCounts counts = streamedCounts(dims);
  if (!canReorder(dims))
    return goesInRuns(dims, counts, kShortRun);
  return dims.extent(dims.fastest(largestTensor(dims))) >= kVectors &&
         goesInRuns(dims, counts, kLongRun) && staysInRuns(dims, machine);
}

} // namespace

bool canReorder(const WorkDims &dims) {
  const int64_t fewer = std::min(dims.extentOf(DimClass::M), dims.extentOf(DimClass::N));
  if (fewer == 1)
    return true;
  const bool isOuter = dims.extentOf(DimClass::K) == 1;
  const bool isAlongBatch = dims[dims.fastest(Role::C)].dimClass == DimClass::C;
  return (isOuter && fewer < kNarrow) || (isAlongBatch && (isOuter || hasTinyProducts(dims))) ||
         isForLongBatch(dims);
}

Role largestTensor(const WorkDims &dims) {
  return *std::max_element(kRoles.begin(), kRoles.end(),
                           [&](Role a, Role b) { return dims.elements(a) < dims.elements(b); });
}

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

DimCounts sharedCounts(const WorkDims &dims, const Machine &machine) {
  return TeamCuts(dims, enoughTasks(machine)).run();
}

int64_t tasksOfCalls(const WorkDims &dims, const DimCounts &counts) {
  int64_t product = 1;
  for (std::size_t dim = 0; dim < dims.size(); ++dim)
    if (dims[dim].dimClass != DimClass::K)
      product *= ceilDiv(dims.extent(dim), counts[dim]);
  return product;
}

bool isStreaming(const WorkDims &dims, const Machine &machine) {
  constexpr int64_t kBatch = 8, kFewRows = 12;
  constexpr double kShortRun = 16;
  const int64_t fewer = std::min(dims.extentOf(DimClass::M), dims.extentOf(DimClass::N));
  const bool isTinyInPlace =
      hasTinyProducts(dims) && (!canReorder(dims) || dims.iterations() <= kFewIterations);
  if (fewer < kNarrow)
    return dims.iterations() <= kFewIterations || goesInPlace(dims, machine) || isTinyInPlace;
  const DimIndices batch = dims.bySpeed(DimClass::C, Role::C);
  if (batch.empty() || dims.extent(batch.front()) < kBatch)
    return false;
  // Operands that are contiguous along other dims are read across their cache lines for every
  // element of the batch: only for few sums is that less than a result written so, and only if
  // kernels go through all tensors in runs.
  const std::size_t dim = batch.front();
  const bool isForBatches =
      dims.isUnit(Role::C, dim) &&
      (dims.isUnit(Role::A, dim) || dims.isUnit(Role::B, dim) ||
       (fewer < kFewRows && goesInRuns(dims, streamedCounts(dims), kShortRun)));
  return (isForBatches && isVectorised(dims)) || isTinyInPlace;
}

bool mayBeBlocks(const WorkDims &dims) {
  return std::min(dims.extentOf(DimClass::M), dims.extentOf(DimClass::N)) > 1 &&
         dims.iterations() > kFewIterations;
}

int64_t enoughTasks(const Machine &machine) {
  constexpr int64_t kFewTasks = 8, kTasksOfThread = 2;
  return std::max(kFewTasks, kTasksOfThread * machine.threads);
}

bool goesAlongRows(const WorkDims &dims, const Machine &machine) {
  constexpr int64_t kFewColumns = 8, kLongRow = 1024, kLeastInTask = 256;
  const Role role = largestTensor(dims);
  if (dims.extentOf(DimClass::C) > 1 || !isVectorised(dims))
    return false;
  const std::size_t along = dims.fastest(role);
  const DimClass rows = dims[along].dimClass;
  if (rows == DimClass::K)
    return false;
  const DimClass others = rows == DimClass::M ? DimClass::N : DimClass::M;
  const DimCounts counts = streamedCounts(dims);
  int64_t columns = 1, sums = 1; // Of one call of a kernel.
  for (std::size_t dim = 0; dim < dims.size(); ++dim) {
    columns *= dims[dim].dimClass == others ? counts[dim] : 1;
    sums *= dims[dim].dimClass == DimClass::K ? counts[dim] : 1;
  }
  const int64_t otherTasks = dims.extentOf(rows) / dims.extent(along);
  const int64_t parts = ceilDiv(enoughTasks(machine), otherTasks);
  const int64_t inTask = std::min(counts[along], ceilDiv(dims.extent(along), parts));
  // The last condition also asks for a large tensor, and for eight sums and more a column.
  static_assert(tiles::kStreamedElements >= kStream * 8 * kFewColumns);
  return dims.extent(along) >= kLongRow && inTask >= kLeastInTask && columns <= kFewColumns &&
         columns == dims.extentOf(others) && inTask * sums > tiles::kStreamedElements;
}

bool mayReorder(const WorkDims &dims) {
  constexpr int64_t kFewSums = 8;
  return dims[dims.fastest(Role::C)].dimClass == DimClass::C &&
         dims.extentOf(DimClass::K) <= kFewSums;
}

bool mayBeDots(const WorkDims &dims) {
  constexpr int64_t kMostDots = 8; // Of each row or column of the large operand.
  return std::min(dims.extentOf(DimClass::M), dims.extentOf(DimClass::N)) <= kMostDots &&
         dims[dims.fastest(largestTensor(dims))].dimClass == DimClass::K;
}

} // namespace einsumc
