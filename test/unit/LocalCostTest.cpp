//===- LocalCostTest.cpp - the estimate of what one rank computes -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/LocalCost.h"

#include "compiler/plan/Algorithms.h"
#include "compiler/plan/BlockCost.h"
#include "compiler/plan/BlockPanels.h"
#include "compiler/plan/TaskLoops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

using namespace einsumc;

namespace {

struct NamedExtent {
  char name;
  int64_t extent;
};
using Extents = std::vector<NamedExtent>;

/// The work of an einsum of one or two row-major operands, `ij,jk->ik` or `ij->ji`.
LocalWork workOf(const std::string &einsum, const Extents &extents,
                 ElementType type = ElementType::F32) {
  const std::size_t arrow = einsum.find("->"), comma = einsum.find(',');
  const std::string a = einsum.substr(0, std::min(comma, arrow)), c = einsum.substr(arrow + 2),
                    b = comma == std::string::npos ? std::string()
                                                   : einsum.substr(comma + 1, arrow - comma - 1);
  LocalWork work{{}, type, comma == std::string::npos};
  const auto extentOf = [&](char name) {
    return std::find_if(extents.begin(), extents.end(),
                        [&](const NamedExtent &dim) { return dim.name == name; })
        ->extent;
  };
  const auto strideOf = [&](const std::string &tensor, char name) {
    int64_t stride = 1;
    for (std::size_t p = tensor.size(); p-- > 0; stride *= extentOf(tensor[p]))
      if (tensor[p] == name)
        return stride;
    return int64_t{0};
  };
  for (const auto &[name, extent] : extents) {
    const std::array<int64_t, 3> strides = {strideOf(a, name), strideOf(b, name),
                                            strideOf(c, name)};
    if (strides == std::array<int64_t, 3>{})
      continue;
    const bool inA = strides[0] != 0, inB = strides[1] != 0 || work.isUnary, inC = strides[2] != 0;
    const DimClass dimClass = !inC         ? DimClass::K
                              : inA && inB ? DimClass::C
                              : inA        ? DimClass::M
                                           : DimClass::N;
    work.dims.push_back({dimClass, extent, strides});
  }
  return work;
}

double secondsOf(const std::string &einsum, const Extents &extents,
                 ElementType type = ElementType::F32) {
  return localCost(workOf(einsum, extents, type), Machine{}).seconds();
}

const std::vector<std::string> kProducts = {"mk,kn->mn",    "km,kn->mn",   "mk,nk->mn",
                                            "km,nk->mn",    "mk,kn->nm",   "bmk,bkn->bmn",
                                            "mkb,knb->mnb", "kbm,nkb->mbn"};

TEST(LocalCost, BlocksWithRepeatsThatAreCutArePackedForEveryCall) {
  // The vectors go along j, i and a part of n, along which a block of B is repeated: as many of
  // these as of the other tensors.
  const auto packSeconds = [](int64_t n) {
    const LocalWork work = workOf("mnij,im->mnij", {{'m', 50}, {'n', n}, {'i', 3}, {'j', 5}});
    const LocalCost cost = localCost(work, Machine{});
    EXPECT_EQ(cost.kernel, NestKernel::Reorder);
    return cost.packSeconds;
  };
  EXPECT_NEAR(packSeconds(16032) / packSeconds(8016), 2, 0.02);
}

TEST(LocalCost, MoreWorkIsNeverCheaper) {
  for (const std::string &einsum : kProducts)
    for (const int64_t size : {1, 3, 8, 60, 300}) {
      const Extents all = {{'m', size}, {'n', size}, {'k', size}, {'b', 10}};
      for (std::size_t longer = 0; longer < all.size(); ++longer) {
        Extents more = all;
        more[longer].extent *= 2;
        EXPECT_GE(secondsOf(einsum, more), 0.999 * secondsOf(einsum, all))
            << einsum << " of " << size << " with twice as many " << all[longer].name;
      }
    }
}

TEST(LocalCost, NeverBelowPeakOrBandwidth) {
  const Machine machine;
  for (const std::string &einsum : kProducts)
    for (const int64_t size : {4, 64, 500}) {
      const double flops = 2.0 * static_cast<double>(size * size * size);
      EXPECT_GE(secondsOf(einsum, {{'m', size}, {'n', size}, {'k', size}, {'b', 1}}),
                flops / machine.flopsF32)
          << einsum << " of " << size;
    }
}

TEST(LocalCost, TransposedOperandIsNeverCheaper) {
  for (const int64_t size : {16, 100, 1000}) {
    const Extents all = {{'m', size}, {'n', size}, {'k', size}, {'b', 20}};
    EXPECT_LE(secondsOf("mk,kn->mn", all), secondsOf("km,kn->mn", all)) << size;
    EXPECT_LE(secondsOf("mk,kn->mn", all), secondsOf("mk,nk->mn", all)) << size;
    EXPECT_LE(secondsOf("mk,kn->mn", all), secondsOf("km,nk->mn", all)) << size;
    EXPECT_LE(secondsOf("bmk,bkn->bmn", all), secondsOf("kmb,bkn->bmn", all)) << size;
    EXPECT_LT(secondsOf("mn,mn->mn", all), secondsOf("mn,nm->mn", all)) << size;
    EXPECT_LT(secondsOf("mn->mn", all), secondsOf("mn->nm", all)) << size;
  }
}

TEST(LocalCost, SameFastestDimIsCheaper) {
  const Extents all = {{'x', 100}, {'y', 200}, {'z', 1000}};
  EXPECT_LT(secondsOf("xyz->yxz", all), secondsOf("xyz->zyx", all));
  EXPECT_LT(secondsOf("xyz,xyz->yxz", all), secondsOf("xyz,xyz->zyx", all));
  EXPECT_LT(secondsOf("xyz,xyz->xyz", all), secondsOf("xyz,zxy->xyz", all));
}

TEST(LocalCost, ExchangedOperandsCostTheSame) {
  for (const std::string &einsum : kProducts)
    for (const auto &[m, n] : {std::pair(70, 90), std::pair(5, 400), std::pair(2, 1000)}) {
      const std::size_t comma = einsum.find(','), arrow = einsum.find("->");
      const std::string exchanged = einsum.substr(comma + 1, arrow - comma - 1) + "," +
                                    einsum.substr(0, comma) + einsum.substr(arrow);
      const Extents all = {{'m', m}, {'n', n}, {'k', 50}, {'b', 9}};
      const LocalCost one = localCost(workOf(einsum, all), Machine{});
      const LocalCost other = localCost(workOf(exchanged, all), Machine{});
      EXPECT_DOUBLE_EQ(one.seconds(), other.seconds()) << einsum;
      EXPECT_NE(one.swapped, other.swapped) << einsum;
    }
}

TEST(LocalCost, ExtentsOfOneChangeNothing) {
  const Extents all = {{'m', 70}, {'n', 90}, {'k', 50}, {'x', 1}, {'y', 1}, {'z', 1}};
  for (const std::string einsum : {"mk,kn->mn", "xmk,kn->mxn", "mkx,kxn->mn", "mkz,zknx->xmzn"})
    EXPECT_DOUBLE_EQ(secondsOf(einsum, all), secondsOf("mk,kn->mn", all)) << einsum;
}

TEST(LocalCost, DimsThatLieNextToEachOtherAreOne) {
  const Extents all = {{'m', 60}, {'p', 10}, {'q', 6}, {'n', 90}, {'k', 60}, {'r', 12}, {'s', 5}};
  EXPECT_DOUBLE_EQ(secondsOf("pqk,kn->pqn", all), secondsOf("mk,kn->mn", all));
  EXPECT_DOUBLE_EQ(secondsOf("mrs,rsn->mn", all), secondsOf("mk,kn->mn", all));
  EXPECT_NE(secondsOf("qpk,kn->pqn", all), secondsOf("mk,kn->mn", all));
}

TEST(LocalCost, StreamsTakeTheirBytesOverTheBandwidth) {
  const Machine machine;
  const Extents all = {{'i', 10000}, {'j', 10000}};
  const double elements = 1e8;
  EXPECT_DOUBLE_EQ(secondsOf("ij,ij->ij", all), 3 * 4 * elements / machine.memoryBandwidth);
  EXPECT_DOUBLE_EQ(secondsOf("ij,ij->ij", all, ElementType::F64),
                   3 * 8 * elements / machine.memoryBandwidth);
  EXPECT_DOUBLE_EQ(secondsOf("ij->i", all), 4 * (elements + 10000) / machine.memoryBandwidth);
}

TEST(LocalCost, PermutationsOfManyShortDimsGoThroughRunsOfSeveral) {
  const double square = secondsOf("ij->ji", {{'i', 4096}, {'j', 4096}});
  Extents eight;
  for (const char name : std::string("abcdefgh"))
    eight.push_back({name, 8});
  EXPECT_LT(secondsOf("abcdefgh->hgfedcba", eight), 2.5 * square);
  // There is nothing to go on to beside one long dim.
  EXPECT_GT(secondsOf("iaj->jai", {{'i', 2}, {'a', 1 << 22}, {'j', 2}}), 3 * square);
}

TEST(LocalCost, CachesAreFasterThanMemory) {
  Machine machine;
  const LocalWork small = workOf("i,i->i", {{'i', 50000}});
  const double cached = localCost(small, machine).memorySeconds;
  machine.caches.clear();
  EXPECT_LT(2 * cached, localCost(small, machine).memorySeconds);
}

/// The estimate of a product with long sums of so many rows and columns.
LocalCost costOfRows(int64_t m, int64_t n, const Machine &machine) {
  return localCost(workOf("km,kn->nm", {{'m', m}, {'n', n}, {'k', 1000}}), machine);
}

TEST(LocalCost, VectorsThatAreNotFullTakeAsLong) {
  const Machine machine; // With vectors of 16 elements.
  const double full = costOfRows(80, 17, machine).kernelSeconds;
  EXPECT_NEAR(costOfRows(65, 17, machine).kernelSeconds, full, 0.05 * full);
  EXPECT_LT(costOfRows(64, 17, machine).kernelSeconds, 0.85 * full);
}

TEST(BlockPanels, FillVectorsWithTheRowsThatLieInOneRun) {
  const WorkDims dims =
      WorkDims::fused(workOf("kmp,kn->npm", {{'m', 100}, {'p', 10}, {'n', 50}, {'k', 60}}));
  const DimIndices rows = dims.bySpeed(DimClass::M, Role::C);
  BlockChoice blocks;
  blocks.packsLeft = true;
  blocks.counts.assign(dims.size(), 1);
  const auto fullness = [&](int64_t m, int64_t p, int64_t run) {
    blocks.counts[rows[0]] = m;
    blocks.counts[rows[1]] = p;
    blocks.taskCounts = blocks.counts;
    blocks.m = m * p;
    return fullnessOf(dims, blocks, 16, run);
  };
  // Panels of 63, 63 and 21 rows; kernels that write them in place go along 21.
  EXPECT_DOUBLE_EQ(fullness(21, 7, 0), 147.0 / 160);
  EXPECT_DOUBLE_EQ(fullness(21, 7, 21), 147.0 / 224);
  EXPECT_DOUBLE_EQ(fullness(40, 3, 0), 120.0 / 144);  // Of 40 each.
  EXPECT_DOUBLE_EQ(fullness(100, 2, 0), 200.0 / 224); // Of 64 and 36.
  blocks.panelsAcross = true;
  EXPECT_DOUBLE_EQ(fullness(40, 3, 40), 120.0 / 128);
  blocks.panelsAcross = false;
  blocks.resultThroughScratch = true; // All rows are one panel.
  EXPECT_DOUBLE_EQ(fullness(40, 3, 0), 120.0 / 128);
  EXPECT_DOUBLE_EQ(fullness(40, 3, 40), 120.0 / 144);
  blocks.resultThroughScratch = blocks.packsLeft = false; // In place.
  EXPECT_DOUBLE_EQ(fullness(100, 1, 0), 100.0 / 112);
}

TEST(BlockPanels, OfFullVectorsWithoutShortRests) {
  constexpr int64_t kRows = 64, kLanes = 16;
  const auto count = [](int64_t extent, int64_t next) {
    return countOfFullPanels(extent, next, 16, kRows, kLanes);
  };
  EXPECT_EQ(count(64, 100), 16); // Four indices of the next dim in each panel.
  EXPECT_EQ(count(96, 100), 16);
  EXPECT_EQ(count(21, 100), 21); // 63 rows.
  EXPECT_EQ(count(42, 99), 21);
  EXPECT_EQ(count(35, 100), 16); // A rest of 3 takes less than panels of 54 rows.
  EXPECT_EQ(count(10, 100), 10); // There are no more.
}

/// The blocks of a product whose rows are two dims, of which L is contiguous along the second and C
/// along the first.
BlockChoice blocksOfCrossedRows(int64_t n, int64_t k, ElementType type = ElementType::F32) {
  const WorkDims dims =
      WorkDims::fused(workOf("kmp,kn->npm", {{'m', 84}, {'p', 84}, {'n', n}, {'k', k}}));
  return chooseBlocks(dims, type, Machine{}, {});
}

TEST(BlockChoice, SumsInScratchInsteadOfManyShortRuns) {
  for (const ElementType type : {ElementType::F32, ElementType::F64}) {
    const BlockChoice blocks = blocksOfCrossedRows(2000, 4000, type);
    EXPECT_TRUE(blocks.sumsInScratch);
    EXPECT_TRUE(blocks.sumsInside);
    EXPECT_GE(blocks.m, 256);
    EXPECT_EQ(blocks.k, 368); // Shorter for the sake of rows.
  }
  EXPECT_FALSE(blocksOfCrossedRows(2000, 700).sumsInScratch) << "added to C once";
  EXPECT_FALSE(blocksOfCrossedRows(100, 4000).sumsInScratch)
      << "rows of L would be packed too often";
}

TEST(BlockCost, EveryThreadPacksTheBlocksOfItsTasks) {
  const WorkDims usual = WorkDims::fused(workOf("mk,kn->mn", {{'m', 512}, {'k', 512}, {'n', 512}}));
  const WorkDims dims = usual.exchanged(); // L is contiguous along C.
  // For each part of R's columns four tasks lie next to each other, one for each of L.
  const auto blocksOf = [&](int64_t columns) {
    BlockChoice blocks;
    blocks.packsLeft = blocks.packsRight = true;
    blocks.counts.assign(dims.size(), 512);
    blocks.counts[dims.fastest(Role::C)] = blocks.m = 128;
    blocks.counts[dims.bySpeed(DimClass::N, Role::C).front()] = blocks.n = columns;
    blocks.taskCounts = blocks.counts;
    blocks.k = 512;
    blocks.mBlocks = 4;
    blocks.nBlocks = 512 / columns;
    return blocks;
  };
  const auto packSeconds = [&](const BlockChoice &blocks, int64_t threads) {
    Machine machine;
    machine.threads = threads;
    return blockCost(dims, ElementType::F32, machine, blocks, 1).packSeconds;
  };
  const BlockChoice halves = blocksOf(256), whole = blocksOf(512);
  // R is packed once, and all of L for each part of R's columns.
  const double leftAndRight = packSeconds(whole, 1), left = packSeconds(halves, 1) - leftAndRight,
               right = leftAndRight - left;
  const double error = 0.02 * right; // Threads begin copies at the same time.
  EXPECT_NEAR(packSeconds(halves, 2), 2 * left + right, error) << "each has a part of R";
  EXPECT_NEAR(packSeconds(halves, 3), 2 * left + 2 * right, error) << "two have parts of both";
  EXPECT_NEAR(packSeconds(whole, 2), left + 2 * right, error) << "both have all of R";
  EXPECT_NEAR(packSeconds(whole, 4), left + 4 * right, error);
  EXPECT_NEAR(packSeconds(whole, 64), left + 4 * right, error) << "there are four tasks";

  BlockChoice inParts = whole;
  inParts.counts[dims.fastest(Role::B)] = inParts.k = 256;
  inParts.kBlocks = 2;
  EXPECT_NEAR(packSeconds(inParts, 2), left + 2 * right, error) << "of each part of the sums";
  inParts.sumsInside = true;
  EXPECT_NEAR(packSeconds(inParts, 2), packSeconds(inParts, 1), error) << "every task packs both";
  inParts.sumsInside = false;
  inParts.sumsInParallel = true;
  EXPECT_NEAR(packSeconds(inParts, 2), packSeconds(inParts, 1), error) << "each has other sums";
}

TEST(TaskLoops, PartsBecomeEvenerWhereThatIsSurelyFaster) {
  const WorkDims dims = WorkDims::fused(workOf("mk,kn->mn", {{'m', 512}, {'k', 8}, {'n', 512}}));
  const std::size_t m = dims.bySpeed(DimClass::M, Role::C).front();
  DimCounts counts(dims.size(), 512);
  counts[m] = 132;
  // Parts of 128 are even, and 3 % faster.
  const auto partFor = [&](double imbalance, double shareOfKernels) {
    return evenParts(dims, 16, counts, [&](const DimCounts &parts) {
      const bool isEven = 512 % parts[m] == 0;
      const double seconds = isEven ? 0.97 : 1;
      return TeamTime{seconds, shareOfKernels * seconds, isEven ? 1 : imbalance};
    })[m];
  };
  EXPECT_EQ(partFor(1.03, 0.9), 128);
  EXPECT_EQ(partFor(1.03, 0.5), 132) << "little of it is kernels";
  EXPECT_EQ(partFor(1.06, 0.5), 132) << "nor is more unevenness worth so little";
  EXPECT_EQ(partFor(1.01, 0.9), 132) << "hardly uneven";
}

TEST(TaskLoops, EvenPartsKeepRowsOfVectorsAndMostOfShorterOnes) {
  const auto partOf = [](int64_t count, int64_t extent = 72) {
    const WorkDims dims =
        WorkDims::fused(workOf("mk,kn->mn", {{'m', extent}, {'k', 8}, {'n', extent}}));
    const std::size_t n = dims.fastest(Role::C);
    DimCounts counts(dims.size(), extent);
    counts[n] = count;
    return evenParts(dims, 16, counts, [&](const DimCounts &parts) {
      const bool isEven = extent % parts[n] == 0;
      return TeamTime{isEven ? 0.9 : 1, isEven ? 0.9 : 1, isEven ? 1 : 1.1};
    })[n];
  };
  EXPECT_EQ(partOf(20), 18);
  EXPECT_EQ(partOf(17), 17) << "12 fill no vector";
  EXPECT_EQ(partOf(15), 12) << "nor do 15";
  EXPECT_EQ(partOf(11), 9);
  EXPECT_EQ(partOf(10, 77), 10) << "7 are much fewer";
}

TEST(LocalCost, TheThreadWithTheMostWorkIsWaitedFor) {
  Machine machine;
  machine.threads = 64; // More than there are tasks.
  EXPECT_EQ(costOfRows(4, 4, machine).imbalance, 1) << "one thread computes it";
  const LocalCost few = costOfRows(64, 48, machine);
  EXPECT_GT(few.imbalance, 10);
  EXPECT_NEAR(few.seconds(), few.imbalance * (few.kernelSeconds + few.packSeconds),
              1e-3 * few.seconds());
  machine.threads = 2;
  for (const int64_t n : {96, 1000, 1021, 5000})
    EXPECT_LT(costOfRows(600, n, machine).imbalance, 1.1) << n;
}

TEST(LocalCost, FewRowsOfTheUsualLExchangeTheOperands) {
  const auto cost = [](int64_t m) {
    return localCost(workOf("km,kn->nm", {{'m', m}, {'n', 400}, {'k', 128}}), Machine{});
  };
  EXPECT_TRUE(cost(5).swapped);
  EXPECT_FALSE(cost(64).swapped);
}

Tree layer() {
  // T[m,n] = A[m,k] * B[k,n]
  return Tree::make(ElementType::F32, {{"m", 10}, {"n", 8}, {"k", 6}},
                    {{NodeKind::Input, "A", {0, 2}, {}, false, {}, {}},
                     {NodeKind::Input, "B", {2, 1}, {}, false, {}, {}},
                     {NodeKind::Product, "T", {0, 1}, {{0, {0, 2}}, {1, {2, 1}}}, true, {}, {}}});
}

TEST(LocalWork, OfWholeTensors) {
  const std::vector<WorkDim> expected = {
      {DimClass::M, 10, {6, 0, 8}}, {DimClass::N, 8, {0, 1, 1}}, {DimClass::K, 6, {1, 8, 0}}};
  EXPECT_EQ(localWork(layer(), 2).dims, expected);
}

TEST(LocalWork, OfTheBusiestRank) {
  const NodeSchedule cut = cutAlong(layer(), 2, 0, 3);
  const std::vector<WorkDim> rows = {
      {DimClass::M, 4, {6, 0, 8}}, {DimClass::N, 8, {0, 1, 1}}, {DimClass::K, 6, {1, 8, 0}}};
  EXPECT_EQ(localWork(layer(), 2, busiestPart(layer(), 2, cut)).dims, rows);
  const NodeSchedule sums = cutAlong(layer(), 2, 2, 3);
  const std::vector<WorkDim> part = {
      {DimClass::M, 10, {2, 0, 8}}, {DimClass::N, 8, {0, 1, 1}}, {DimClass::K, 2, {1, 8, 0}}};
  EXPECT_EQ(localWork(layer(), 2, busiestPart(layer(), 2, sums)).dims, part);
}

} // namespace
