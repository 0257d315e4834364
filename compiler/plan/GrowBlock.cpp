//===- GrowBlock.cpp - what a block of a contraction has for the caches -----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/GrowBlock.h"

#include "compiler/plan/BlockPanels.h"

#include "einsumc/BlockTiles.h"

#include <algorithm>

namespace einsumc {

namespace {

constexpr int64_t kFewColumns = BlockLimits::kFewColumns;
/// Bytes of a block of L along m that are enough: a larger block rather has longer sums, so that C
/// is read and written less often.
constexpr int64_t kEnoughBytesM = 512;
constexpr int64_t kLeastK = BlockLimits::kLeastK, kLeastN = BlockLimits::kLeastN;
/// Elements of a block along m and n: beyond these, longer ones gain nothing.
constexpr int64_t kMostM = BlockLimits::kMostM, kMostN = 2048;
/// The part that is added to the room of a block of L for rows that fill vectors, to that of one of
/// R for more columns, and to the most sums of an L from the third-level cache.
constexpr int64_t kMoreRoom = 8;
/// How many times its usual room a block of L has if it may come from the third-level cache.
constexpr int64_t kFarRoom = 3;
/// Eighths of the most sums where R has more columns instead: enough for C to be fetched meanwhile.
constexpr int64_t kEighthsOfSums = 5;
/// What many sums are a multiple of.
constexpr int64_t kStepK = 16;
/// Elements of a dim along which a tensor is contiguous: first so many of every such dim, then,
/// where there is room, more. Rows of C are written past the caches or stay in them, so whole
/// panels do; single cache lines come slowly from memory, so what is read has longer ones, the more
/// so the less often it is used.
constexpr int64_t kShortestRow = BlockCounts::kShortestRow, kWrittenRow = BlockCounts::kWrittenRow;
constexpr int64_t kLongRow = 64;
constexpr int64_t kReadRow = 96, kReusedRow = 48;
constexpr int64_t kManyUses = 192;
/// Bytes of a tensor that should lie next to each other in a block, over several dims if need be:
/// pages of memory are opened for longer pieces than cache lines.
constexpr int64_t kRunBytes = 512;
/// The same of a large operand that is used few times, and what comes first.
constexpr int64_t kFarRunBytes = 4096, kLineBytes = 64;
/// Shares of all tensors that are large, and that are worth runs of some cache lines, or one.
constexpr double kLargeShare = 0.25, kSmallShare = 0.0625;
/// Sums and columns for which a batch of products leaves room in a block.
constexpr int64_t kLeastBatchK = 128, kLeastBatchN = 256;

class Grower {
public:
  Grower(const WorkDims &dims, const BlockLimits &limits, int64_t elementBytes,
         const BlockAims &aims, BlockCounts &block)
      : dims(dims), limits(limits), elementBytes(elementBytes), aims(aims), block(block),
        batch{DimCounts(dims.size(), 1), DimCounts(dims.size(), 1)} {}

  BatchCounts grow() {
    // A block of L that is transposed on its way must have room for rows of both sides.
    const bool isStreamed = dims.extentOf(DimClass::N) <= kFewColumns;
    const int64_t leftBytes = aims.areSumsInScratch ? limits.leftBytesOfSums
                              : aims.isLeftFar      ? kFarRoom * limits.leftBytes
                              : isStreamed          ? limits.streamedLeftBytes
                                                    : limits.leftBytes;
    int64_t leftElements = leftBytes / elementBytes;
    if (aims.areVectorsFuller)
      leftElements += leftElements / kMoreRoom;
    int64_t mostK = longestSums();
    if (aims.isLeftFar)
      mostK += mostK / kMoreRoom;
    if (aims.areColumnsMore)
      mostK = kEighthsOfSums * mostK / 8;
    if (aims.areSumsInScratch)
      mostK = std::min({mostK, kLeastK, leftElements / BlockLimits::kLongSideOfSums});
    growFarRuns(leftElements);
    leftElements /= block.sizeOf(DimClass::C);
    const int64_t rowsAtLeast = std::max(
        {rowsOfLeft(), rowsToFill(dims, limits, aims.fullness()), block.sizeOf(DimClass::M)});
    const int64_t sums = std::min(mostK, std::max<int64_t>(kLeastK, leftElements / rowsAtLeast));
    const Role first = aims.sumsAlong, second = first == Role::A ? Role::B : Role::A;
    growRows(DimClass::K, {first, second}, sums);
    block.growRuns(DimClass::K, {first, second}, kRunBytes / elementBytes, sums);
    block.fill(DimClass::K, first, sums, {kStepK});
    const int64_t k = block.sizeOf(DimClass::K);
    const int64_t usualRows = leftElements / (aims.isLeftFar ? kFarRoom : 1) / k;
    const int64_t rows = std::max({usualRows, aims.isLeftFar ? rowsAtLeast : 1, limits.panelRows});
    growRows(DimClass::M, {Role::C, Role::A}, std::min(rows, kMostM));
    block.growRuns(DimClass::M, {Role::C, Role::A}, kRunBytes / elementBytes, rows);
    block.fill(DimClass::M, Role::C, std::min(rows, kMostM), rowSteps(limits));
    // Sums in scratch stay in the third-level cache, too; longer ones leave enough columns there.
    const bool isLarger = aims.areSumsInScratch || aims.isLeftFar;
    const int64_t usual = limits.rightBytes / elementBytes;
    const int64_t room = isLarger              ? 2 * usual
                         : aims.areColumnsMore ? usual + usual / kMoreRoom
                                               : usual;
    const int64_t inColumn = aims.areSumsInScratch ? k + block.sizeOf(DimClass::M) : k;
    const int64_t columns =
        std::clamp(room / inColumn / block.sizeOf(DimClass::C), kLeastN, kMostN);
    growRows(DimClass::N, {Role::C, Role::B}, columns);
    block.growRuns(DimClass::N, {Role::C, Role::B}, kRunBytes / elementBytes, columns);
    block.fill(DimClass::N, Role::C, columns, {tiles::kStepN});
    return batch;
  }

private:
  /// Elements of a block along k. Where a large R comes from memory, which has to be fetched ahead,
  /// the second-level cache must have more room for its tiles beside L.
  int64_t longestSums() const {
    const int64_t most = limits.leftBytes / kEnoughBytesM;
    const bool isFar = limits.isRightFar && dims.extentOf(DimClass::M) >= kMostM &&
                       dims.extentOf(DimClass::N) >= kMostN;
    return isFar && dims.extentOf(DimClass::K) > most ? 2 * most / 3 : most;
  }

  /// The elements that a block should have of a dim along which a tensor is contiguous.
  int64_t rowOf(DimClass dimClass, std::size_t dim) const {
    if (dims.isUnit(Role::C, dim))
      return kWrittenRow;
    const int64_t uses = dims.extentOf(dimClass == DimClass::M ? DimClass::N : DimClass::M);
    return uses <= kFewColumns ? kReadRow : uses < kManyUses ? kReusedRow : kShortestRow;
  }

  /// Elements of a block of L along m with rows of all dims along which it or C is contiguous.
  int64_t rowsOfLeft() const {
    int64_t product = 1;
    for (const std::size_t dim : block.contiguousDims(DimClass::M, {Role::C, Role::A}))
      product *= std::min(dims.extent(dim), rowOf(DimClass::M, dim));
    return product;
  }

  /// Takes rows of the dims along which one of the roles' tensors is contiguous, up to a number of
  /// elements.
  void growRows(DimClass dimClass, std::initializer_list<Role> roles, int64_t most) {
    const DimIndices contiguous = block.contiguousDims(dimClass, roles);
    for (const std::size_t dim : contiguous)
      block.grow(dim, kShortestRow, most);
    for (const std::size_t dim : contiguous)
      block.grow(dim, rowOf(dimClass, dim), most);
    for (const std::size_t dim : contiguous)
      block.grow(dim, kLongRow, most);
  }

  /// Takes indices of dims of all classes that make runs of operands which are long enough for the
  /// processor to fetch them from memory by itself, if the operands are large and used too seldom
  /// for the time of that not to matter: by turns up to ever longer ones. Lines of C come first,
  /// as blocks of it are written in shorter runs otherwise.
  void growFarRuns(int64_t leftElements) {
    const auto isFar = [&](Role role, int64_t bytes) {
      const int64_t uses = dims.extentOf(role == Role::A ? DimClass::N : DimClass::M);
      const int64_t few = bytes <= kLineBytes ? kManyUses : bytes <= kRunBytes ? kManyUses / 2 : 0;
      const double share = uses < few ? kSmallShare : kLargeShare;
      return uses < kManyUses && dims.elements(role) >= share * dims.footprint();
    };
    if (!isFar(Role::A, kLineBytes) && !isFar(Role::B, kLineBytes))
      return;
    for (const int64_t bytes : {kLineBytes, kRunBytes, kFarRunBytes}) {
      if (bytes <= (isLarge(Role::C) ? kRunBytes : kLineBytes))
        growRun(Role::C, bytes / elementBytes, leftElements);
      for (const Role role : {Role::A, Role::B})
        if (isFar(role, bytes))
          growRun(role, bytes / elementBytes, leftElements);
    }
  }

  bool isLarge(Role role) const { return dims.elements(role) >= kLargeShare * dims.footprint(); }

  void growRun(Role role, int64_t wanted, int64_t leftElements) {
    int64_t run = 1;
    for (const std::size_t dim : dims.inOrder(role)) {
      if (dims.stride(role, dim) != run || run >= wanted)
        return;
      const DimClass dimClass = dims[dim].dimClass;
      // The products of a batch are written one by one here, so it does nothing for C, and harm if
      // C is larger than a small operand.
      if (dimClass == DimClass::C &&
          (role == Role::C || (!isLarge(role) && dims.elements(role) < dims.elements(Role::C))))
        return;
      block.grow(dim, ceilDiv(wanted, run), mostOf(dimClass, leftElements));
      if (dimClass == DimClass::C) {
        block.even(dim);
        batch.runs[dim] = std::max(batch.runs[dim], ceilDiv(kRunBytes / elementBytes, run));
        batch.lines[dim] = std::max(batch.lines[dim], ceilDiv(kLineBytes / elementBytes, run));
      }
      if (block.counts[dim] < dims.extent(dim))
        return;
      run *= dims.extent(dim);
    }
  }

  /// Elements along a class for which there is room beside those that a block has of the others.
  int64_t mostOf(DimClass dimClass, int64_t leftElements) const {
    const auto atLeast = [&](DimClass of, int64_t elements) {
      return std::max(block.sizeOf(of), std::min(dims.extentOf(of), elements));
    };
    // R stays in the second-level cache, too, as it is used as seldom; not for a batch's sake.
    const int64_t nearRight = limits.leftBytes / elementBytes;
    const int64_t right = limits.rightBytes / elementBytes;
    const int64_t c = block.sizeOf(DimClass::C);
    const int64_t k = atLeast(DimClass::K, c > 1 ? kLeastBatchK : kLeastK);
    const int64_t m = atLeast(DimClass::M, limits.panelRows);
    const int64_t n = atLeast(DimClass::N, kLeastN);
    switch (dimClass) {
    case DimClass::C: // With sums that are worth a kernel.
      return std::min(
          leftElements / (m * atLeast(DimClass::K, kLeastBatchK)),
          right / (atLeast(DimClass::N, kLeastBatchN) * atLeast(DimClass::K, kLeastBatchK)));
    case DimClass::K:
      return std::min(leftElements / (c * m), nearRight / (c * n));
    case DimClass::M:
      return std::min(kMostM, leftElements / (c * k));
    case DimClass::N:
      return std::min(kMostN, nearRight / (c * k));
    }
    return 1;
  }

  const WorkDims &dims;
  const BlockLimits &limits;
  int64_t elementBytes;
  BlockAims aims;
  BlockCounts &block;
  BatchCounts batch;
};

} // namespace

BatchCounts growBlock(const WorkDims &dims, const BlockLimits &limits, int64_t elementBytes,
                      const BlockAims &aims, BlockCounts &block) {
  return Grower(dims, limits, elementBytes, aims, block).grow();
}

} // namespace einsumc
