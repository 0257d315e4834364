//===- TaskLoops.cpp - the order of tasks and how evenly they are shared ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/TaskLoops.h"

#include "compiler/plan/BlockCounts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <array>
#include <vector>

namespace einsumc {

namespace {

/// The work of the first tasks, the product of the lengths of their parts.
class TaskWork {
public:
  TaskWork(const WorkDims &dims, const DimCounts &counts, const DimIndices &loops) {
    for (const std::size_t dim : loops)
      levels.push_back({dims.extent(dim), counts[dim]});
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
      level->tasksInside = tasks;
      level->workInside = work;
      tasks *= ceilDiv(level->extent, level->part);
      work *= level->lengthOf(ceilDiv(level->extent, level->part));
    }
  }

  /// Of the thread with the most.
  double ofLargest(int64_t threads) const {
    double largest = 0, before = 0;
    for (int64_t thread = 1; thread <= threads; ++thread) {
      const double until = ofFirst(firstTask(thread, threads, tasks));
      largest = std::max(largest, until - before);
      before = until;
    }
    return largest;
  }

private:
  double ofFirst(int64_t count) const {
    double result = 0, outside = 1;
    for (const Level &level : levels) {
      const int64_t parts = count / level.tasksInside;
      count %= level.tasksInside;
      result += outside * level.lengthOf(parts) * level.workInside;
      outside *= level.lengthOf(parts + 1) - level.lengthOf(parts);
    }
    return result;
  }

  struct Level {
    int64_t extent, part;
    int64_t tasksInside = 1;
    double workInside = 1;

    /// Of the first parts together.
    double lengthOf(int64_t parts) const { return toDouble(std::min(extent, parts * part)); }
  };

  std::vector<Level> levels; ///< the outermost loop first
  int64_t tasks = 1;
  double work = 1;
};

/// Of a result of which a task writes parts of a few lines, as it has a part of the next dim, the
/// next tasks have the rest of these: unasked, if the result is far larger than the operands and a
/// cache has the lines until then, as that is worth packing the operands again.
void completeLines(const WorkDims &dims, double elementBytes, const DimCounts &counts, bool isAsked,
                   DimIndices &loops) {
  constexpr double kFar = 2, kFewLines = 512, kCacheBytes = 16 << 20;
  const double run = dims.run(Role::C, counts);
  if (run * elementBytes > kFewLines ||
      (!isAsked &&
       dims.elements(Role::C) < kFar * (dims.elements(Role::A) + dims.elements(Role::B))))
    return;
  double bytesOfTask = elementBytes;
  for (std::size_t dim = 0; dim < dims.size(); ++dim)
    if (dims[dim].dimClass != DimClass::K)
      bytesOfTask *= toDouble(counts[dim]);
  const auto next = llvm::find_if(
      loops, [&](std::size_t dim) { return toDouble(dims.stride(Role::C, dim)) == run; });
  if (next != loops.end() && (isAsked || bytesOfTask * toDouble(dims.extent(*next)) <= kCacheBytes))
    std::rotate(next, next + 1, loops.end());
}

} // namespace

DimIndices taskLoops(const WorkDims &dims, double elementBytes, const DimCounts &counts,
                     TaskOrder order) {
  DimIndices loops;
  const auto add = [&](DimClass dimClass, Role role) {
    const DimIndices fastestFirst = dims.bySpeed(dimClass, role);
    for (const std::size_t dim : llvm::reverse(fastestFirst))
      if (counts[dim] < dims.extent(dim))
        loops.push_back(dim);
  };
  add(DimClass::C, Role::C);
  if (order.rowsOutside)
    add(DimClass::M, Role::A);
  add(DimClass::N, Role::B);
  if (!order.rowsOutside)
    add(DimClass::M, Role::A);
  completeLines(dims, elementBytes, counts, order.linesInside, loops);
  return loops;
}

int64_t firstTask(int64_t thread, int64_t threads, int64_t tasks) {
  return tasks / threads * thread + std::min(thread, tasks % threads);
}

double imbalanceOf(const WorkDims &dims, const DimCounts &counts, const DimIndices &loops,
                   int64_t threads) {
  if (loops.empty()) // One task.
    return toDouble(threads);
  double all = 1;
  for (const std::size_t dim : loops)
    all *= toDouble(dims.extent(dim));
  return toDouble(threads) * TaskWork(dims, counts, loops).ofLargest(threads) / all;
}

namespace {

/// Parts of a dim that are shorter than \p count, but not by much or shorter than rows should be:
/// even ones, and such of whole vectors.
llvm::SmallVector<int64_t> shorterParts(const WorkDims &dims, std::size_t dim, int64_t count,
                                        int64_t vector) {
  constexpr int64_t kShortestRow = BlockCounts::kShortestRow;
  const bool isRow = llvm::any_of(std::array{Role::A, Role::B, Role::C},
                                  [&](Role role) { return dims.isUnit(role, dim); });
  // Rows of less than a vector, which take one in any case, may be somewhat shorter.
  const int64_t row = count < vector ? ceilDiv(3 * count, 4) : std::min(kShortestRow, count);
  const int64_t least = std::max(ceilDiv(count, 2), isRow ? row : 1);
  constexpr std::size_t kMost = 24; // The ones after them are hardly different.
  const int64_t extent = dims.extent(dim);
  const auto evenPart = [&](int64_t most) { return ceilDiv(extent, ceilDiv(extent, most)); };
  llvm::SmallVector<int64_t> result;
  for (int64_t part = evenPart(count); part >= least && result.size() < kMost;) {
    for (const int64_t length : {part, roundUp(part, vector)})
      if (length < count && !llvm::is_contained(result, length))
        result.push_back(length);
    if (part == 1)
      break;
    part = evenPart(part - 1);
  }
  return result;
}

} // namespace

DimCounts evenParts(const WorkDims &dims, int64_t vector, const DimCounts &counts,
                    llvm::function_ref<TeamTime(const DimCounts &)> timeOf) {
  // Kernels take as long as the estimate says, copies and memory less surely so.
  constexpr double kUneven = 1.04, kFaster = 0.96;
  constexpr double kUnevenKernels = 1.02, kFasterKernels = 0.98, kMostly = 0.85;
  DimCounts result = counts;
  TeamTime time = timeOf(result);
  const bool areKernels = time.kernelSeconds >= kMostly * time.seconds;
  while (time.imbalance > (areKernels ? kUnevenKernels : kUneven)) {
    DimCounts best = result;
    TeamTime least = time;
    least.seconds *= areKernels ? kFasterKernels : kFaster;
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      if (dims[dim].dimClass == DimClass::K || result[dim] == dims.extent(dim))
        continue;
      DimCounts other = result;
      for (const int64_t part : shorterParts(dims, dim, result[dim], vector)) {
        other[dim] = part;
        const TeamTime ofOther = timeOf(other);
        if (ofOther.imbalance < time.imbalance && ofOther.seconds < least.seconds) {
          best = other;
          least = ofOther;
        }
      }
    }
    if (best == result)
      break;
    result = best;
    time = least;
  }
  return result;
}

} // namespace einsumc
