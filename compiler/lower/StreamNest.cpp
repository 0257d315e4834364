//===- StreamNest.cpp - the loops of contractions that memory limits --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/Nests.h"
#include "compiler/plan/Streaming.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>

namespace einsumc {

namespace {

/// With fewer iterations a nest cannot keep a team busy.
constexpr int64_t kFewTasks = 8;
/// The largest result, in elements, of which each thread may have a copy: adding the copies up must
/// cost little beside the sums, which are short in a node that streams.
constexpr int64_t kPrivateResult = int64_t{1} << 16;

class StreamNest {
public:
  StreamNest(const WorkDims &dims, LocalNest &nest) : dims(dims), nest(nest) {}

  void run() {
    nest.kernel = NestKernel::Stream;
    chooseSides();
    findCrossed();
    std::vector<NestLoop> outer;
    std::vector<NestLoop> sums;
    for (const DimClass dimClass : {DimClass::C, DimClass::N, DimClass::M})
      addLoops(dimClass, Role::C, outer);
    addLoops(DimClass::K, Role::A, sums);
    std::stable_partition(outer.begin(), outer.end(),
                          [&](const NestLoop &loop) { return !isCrossed(loop.dim); });
    nest.sumsInParallel = !nest.serial && nest.maySplitSums && iterations(outer) < kFewTasks &&
                          iterations(sums) >= kFewTasks && dims.elements(Role::C) <= kPrivateResult;
    const std::vector<NestLoop> &team = nest.sumsInParallel ? sums : outer;
    const std::vector<NestLoop> &inner = nest.sumsInParallel ? outer : sums;
    nest.teamLoops = team.size();
    nest.loops = team;
    nest.loops.insert(nest.loops.end(), inner.begin(), inner.end());
  }

private:
  void chooseSides() {
    nest.c = side(DimClass::C, Role::C);
    nest.m = side(DimClass::M, Role::C);
    nest.n = side(DimClass::N, Role::C);
    nest.k = side(DimClass::K,
                  dims.extentOf(DimClass::M) >= dims.extentOf(DimClass::N) ? Role::A : Role::B);
    for (std::size_t d = 0; d < nest.dims.size(); ++d)
      if (isCrossed(d))
        for (NestSide *side : {&nest.c, &nest.m, &nest.n, &nest.k})
          for (SideDim &part : side->dims)
            part.count = std::min(part.count, kCrossed);
    // Enough tasks for a team, from the dims that no kernel vectorises over last.
    for (NestSide *side : {&nest.n, &nest.m, &nest.c}) {
      if (side->dims.empty() || taskCount() >= kFewTasks)
        continue;
      SideDim &cut = side->dims.front();
      const int64_t extent = dims.extent(cut.dim);
      cut.count =
          std::max<int64_t>(std::min<int64_t>(cut.count, 16), ceilDiv(extent, 4 * kFewTasks));
      cut.count = std::min(cut.count, extent);
    }
  }

  NestSide side(DimClass dimClass, Role role) const {
    const DimIndices candidates = dims.bySpeed(dimClass, role);
    if (candidates.empty())
      return {};
    return {{{candidates.front(), std::min(dims.extent(candidates.front()), kStream)}}};
  }

  /// Whether an operand is contiguous along a dim that no kernel goes along.
  bool isCrossed(std::size_t dim) const {
    const bool isInside =
        llvm::any_of(std::array{&nest.c, &nest.m, &nest.n, &nest.k}, [&](const NestSide *side) {
          return !side->dims.empty() && side->dims.front().dim == dim;
        });
    return !isInside && dims.extent(dim) > 1 &&
           (dims.isUnit(Role::A, dim) || dims.isUnit(Role::B, dim));
  }

  /// Packs the operand that is crossed, if it is one, along one dim, and one that kernels go along.
  void findCrossed() {
    constexpr int64_t kShortest = 8;
    std::vector<CrossedDim> found;
    for (std::size_t d = 0; d < nest.dims.size(); ++d)
      for (const bool isLeft : {true, false}) {
        const Role role = isLeft ? Role::A : Role::B;
        if (!isCrossed(d) || !dims.isUnit(role, d))
          continue;
        std::vector<std::size_t> sides;
        for (const NestSide *side : {&nest.c, &nest.m, &nest.n, &nest.k})
          if (side->size() > 1 && dims.stride(role, side->dims.front().dim) != 0)
            sides.push_back(side->dims.front().dim);
        if (sides.size() != 1 || nest.dims[d].dimClass == DimClass::K ||
            std::min(dims.extent(d), dims.extent(sides.front())) < kShortest)
          return;
        found.push_back({d, isLeft, sides.front()});
      }
    if (found.size() != 1)
      return;
    nest.crossed = found.front();
    (nest.crossed->isLeft ? nest.left : nest.right) = BlockAccess::Packed;
  }

  /// Indices of a dim that one iteration of the nest covers.
  int64_t stepOf(std::size_t dim) const {
    if (nest.crossed && nest.crossed->dim == dim)
      return std::min(dims.extent(dim), kCrossed);
    for (const NestSide *side : {&nest.c, &nest.m, &nest.n, &nest.k})
      if (!side->dims.empty() && side->dims.front().dim == dim)
        return side->dims.front().count;
    return 1;
  }

  /// Iterations of all loops but those of class k, with the sides as they are now.
  int64_t taskCount() const {
    int64_t product = 1;
    for (std::size_t d = 0; d < nest.dims.size(); ++d)
      if (nest.dims[d].dimClass != DimClass::K)
        product *= ceilDiv(dims.extent(d), stepOf(d));
    return product;
  }

  void addLoops(DimClass dimClass, Role role, std::vector<NestLoop> &loops) const {
    const DimIndices inOrder = dims.bySpeed(dimClass, role);
    for (std::size_t dim : llvm::reverse(inOrder))
      if (stepOf(dim) < dims.extent(dim) || (nest.crossed && nest.crossed->dim == dim))
        loops.push_back({dim, stepOf(dim)});
  }

  int64_t iterations(const std::vector<NestLoop> &loops) const {
    int64_t product = 1;
    for (const NestLoop &loop : loops)
      product *= ceilDiv(dims.extent(loop.dim), loop.step);
    return product;
  }

  const WorkDims &dims;
  LocalNest &nest;
};

} // namespace

void streamNest(const WorkDims &dims, LocalNest &nest) { StreamNest(dims, nest).run(); }

} // namespace einsumc
