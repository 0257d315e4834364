//===- StreamNest.cpp - the loops of contractions that memory limits --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/Nests.h"
#include "compiler/plan/Streaming.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>

namespace einsumc {

namespace {

class StreamNest {
public:
  StreamNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest)
      : dims(dims), type(type), machine(machine), enough(enoughTasks(machine)),
        shared(sharedCounts(dims, machine)), nest(nest) {}

  void run() {
    nest.kernel = NestKernel::Stream;
    chooseSides();
    DimCounts steps(dims.size());
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      steps[dim] = stepOf(dim);
    shareLoops(dims, machine, steps, nest);
    nest.resultPastCaches = isResultPastCaches(dims, type, nest);
  }

private:
  void chooseSides() {
    nest.c = side(DimClass::C, Role::C);
    nest.m = side(DimClass::M, Role::C);
    nest.n = side(DimClass::N, Role::C);
    nest.k = side(DimClass::K,
                  dims.extentOf(DimClass::M) >= dims.extentOf(DimClass::N) ? Role::A : Role::B);
    if (shouldShareSums()) {
      SideDim &rows = nest.m.dims.front(), &sums = nest.k.dims.front();
      rows.count = dims.extent(rows.dim);
      // The same number for every thread, and as many as it takes to be shared.
      const int64_t extent = dims.extent(sums.dim);
      int64_t parts = roundUp(enough, machine.threads);
      while (ceilDiv(extent, ceilDiv(extent, parts)) < enough)
        parts += machine.threads;
      sums.count = ceilDiv(extent, parts);
      return;
    }
    growSums();
  }

  /// Whether the threads share the sums of a matrix whose rows they would read in short pieces if
  /// they shared the result: memory gives whole rows faster, and sums of these fit a near cache.
  bool shouldShareSums() const {
    constexpr int64_t kLeastRow = 4 << 10, kMostRow = 64 << 10; // Bytes.
    constexpr int64_t kLeastSums = 64;                          // Rows that are worth a kernel.
    const bool isMatrix = dims.size() == 2 && nest.m.dims.size() == 1 && nest.k.dims.size() == 1;
    if (!isMatrix || nest.serial || !nest.maySplitSums)
      return false;
    const std::size_t rows = nest.m.dims.front().dim, sums = nest.k.dims.front().dim;
    const int64_t bytes = sizeInBytes(type), row = dims.extent(rows) * bytes;
    return dims.isUnit(Role::A, rows) && dims.extent(sums) >= enough * kLeastSums &&
           row >= kLeastRow && row <= kMostRow &&
           dims.elements(Role::A) * toDouble(bytes) >= tiles::kPastCachesBytes;
  }

  /// Takes longer sums where each element of the largest tensor is used once, in rows that are
  /// gone through as they lie, if the threads do not share them.
  void growSums() {
    const bool isUsedOnce = std::min(dims.extentOf(DimClass::M), dims.extentOf(DimClass::N)) == 1;
    const std::size_t fastest = dims.fastest(largestTensor(dims)); // Scalars have none.
    const bool isBatch = fastest < dims.size() && dims[fastest].dimClass == DimClass::C;
    if (!isUsedOnce || isBatch || nest.k.dims.empty() ||
        (!nest.serial && tasksOfCalls(dims, shared) < enough))
      return;
    SideDim &sums = nest.k.dims.front();
    sums.count = std::min(dims.extent(sums.dim), kStreamedSums);
  }

  NestSide side(DimClass dimClass, Role role) const {
    const DimIndices candidates = dims.bySpeed(dimClass, role);
    if (candidates.empty())
      return {};
    return {{{candidates.front(), shared[candidates.front()]}}};
  }

  /// Indices of a dim that one iteration of the nest covers.
  int64_t stepOf(std::size_t dim) const {
    for (const NestSide *side : {&nest.c, &nest.m, &nest.n, &nest.k})
      if (!side->dims.empty() && side->dims.front().dim == dim)
        return side->dims.front().count;
    return 1;
  }

  const WorkDims &dims;
  const ElementType type;
  const Machine &machine;
  const int64_t enough;
  const DimCounts shared;
  LocalNest &nest;
};

} // namespace

void streamNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest) {
  StreamNest(dims, type, machine, nest).run();
}

} // namespace einsumc
