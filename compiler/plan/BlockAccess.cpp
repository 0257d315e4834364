//===- BlockAccess.cpp - which operands of blocks are packed, and in which order --------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/BlockAccess.h"

#include <numeric>

namespace einsumc {

namespace {

/// An operand of so few elements is read in place if it can be, and so is one that meets so few
/// elements of the other operand that packing would not pay, or one that may not be packed.
constexpr int64_t kSmallOperand = 32 << 10, kFewUses = 32;
/// A way of the first-level cache, which it has so many of: of lines so far apart it keeps no more.
constexpr int64_t kWayBytes = 4096, kWays = 8;
/// How many times as many elements of L as of C have to come and go for the order of C not to
/// matter.
constexpr double kMuchMore = 8;

/// Whether a block has more indices of a dim than the first-level cache has places for: with a
/// stride that is a multiple of a large power of two they start at few of its sets.
/// \param stride bytes
bool compete(int64_t count, int64_t stride) {
  return count > kWays * (kWayBytes / std::gcd(stride, kWayBytes));
}

/// Whether all sums of a block are neighbours in R.
bool areSumsRunOfRight(const WorkDims &dims, const BlockCounts &block) {
  DimCounts counts = block.counts;
  for (std::size_t dim = 0; dim < dims.size(); ++dim)
    if (dims[dim].dimClass != DimClass::K)
      counts[dim] = 1;
  return dims.run(Role::B, counts) == toDouble(block.sizeOf(DimClass::K));
}

} // namespace

void chooseAccess(const WorkDims &dims, const BlockCounts &counts, int64_t elementBytes,
                  bool mayPackRight, BlockChoice &blocks) {
  const int64_t m = dims.extentOf(DimClass::M);
  const int64_t n = dims.extentOf(DimClass::N);
  const int64_t k = dims.extentOf(DimClass::K);
  const auto onlyM = counts.onlyDim(DimClass::M), onlyN = counts.onlyDim(DimClass::N),
             onlyK = counts.onlyDim(DimClass::K);
  const bool isBatch = counts.sizeOf(DimClass::C) > 1;
  const bool mInPlace =
      !isBatch && onlyK && onlyM && *onlyM < dims.size() && dims.isUnit(Role::A, *onlyM);
  // L must be packed in R's order of several sums then, which may take longer: only where the
  // estimate compares.
  const bool areColumns = onlyK ? *onlyK == dims.size() || dims.isUnit(Role::B, *onlyK)
                                : !mayPackRight && areSumsRunOfRight(dims, counts);
  const bool nInPlace = !isBatch && onlyN && *onlyN < dims.size() && areColumns;
  auto packs = [](bool inPlace, int64_t uses, bool isSlow) {
    return !inPlace || (uses > kFewUses && isSlow);
  };
  const bool leftCompetes =
      mInPlace && *onlyK < dims.size() &&
      compete(counts.counts[*onlyK], dims.stride(Role::A, *onlyK) * elementBytes);
  blocks.packsLeft = packs(mInPlace, n, m * k > kSmallOperand || leftCompetes);
  blocks.packsRight = packs(nInPlace, m, mayPackRight && k * n > kSmallOperand);
  const bool isLeftSlower = dims.elements(Role::A) > dims.elements(Role::B) &&
                            dims.runAlong(DimClass::K, Role::A) >= BlockCounts::kShortestRow;
  blocks.sumsAsIn = blocks.packsLeft && blocks.packsRight && isLeftSlower ? Role::A : Role::B;
  const bool isMostlyPacked =
      dims.elements(Role::A) >= kMuchMore * toDouble(blocks.kBlocks) * dims.elements(Role::C);
  blocks.rowsAsIn = blocks.packsLeft && isMostlyPacked ? Role::A : Role::C;
}

} // namespace einsumc
