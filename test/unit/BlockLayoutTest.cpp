//===- BlockLayoutTest.cpp - how packed blocks, batches and scratch lie -----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/BlockKernel.h"
#include "einsumc/BlockTiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

namespace {

using namespace einsumc;

template <class T> class BlockLayoutTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(BlockLayoutTest, Types);

/// The same with m of three dims.
TYPED_TEST(BlockLayoutTest, PanelsAcrossThreeDims) {
  constexpr int64_t kM0 = 5, kM1 = 3, kM2 = 4, kN = 7, kK = 6, kRows = 16, kM = kM0 * kM1 * kM2;
  constexpr int64_t kInA1 = 50, kInA2 = 200;
  const BlockKernel<TypeParam> kernel(
      {{kM0, kM0, 1, 0, 1}, {kM1, kM1, kInA1, 0, kM0}, {kM2, kM2, kInA2, 0, kM0 * kM1}},
      {{kN, kN, 0, kK, kM}}, {{kK, kK, kM0, 1, 0}},
      {.aK = kRows, .bN = kK, .panelRows = kRows, .aPanel = kRows * kK});
  std::vector<TypeParam> a(kInA2 * kM2), b(kN * kK), c(kM * kN), packed(kRows * kK * 4);
  std::iota(a.begin(), a.end(), TypeParam(1));
  std::iota(b.begin(), b.end(), TypeParam(1));
  kernel.packA(packed.data(), a.data(), {kM0, kM1, kM2}, {kK});
  kernel(packed.data(), b.data(), c.data(), nullptr, {kM0, kM1, kM2}, {kN}, {kK}, false);
  for (int64_t m = 0; m < kM; ++m)
    for (int64_t n = 0; n < kN; ++n) {
      TypeParam sum = 0;
      for (int64_t k = 0; k < kK; ++k)
        sum += a[static_cast<std::size_t>(m % kM0 + m / kM0 % kM1 * kInA1 +
                                          m / (kM0 * kM1) * kInA2 + k * kM0)] *
               b[static_cast<std::size_t>(n * kK + k)];
      ASSERT_EQ(c[static_cast<std::size_t>(n * kM + m)], sum) << m << ", " << n;
    }
}

/// A batch along which A and B are contiguous before their sums, in two parts, with its dim and
/// those of a product in any order in C.
TYPED_TEST(BlockLayoutTest, BatchOfProducts) {
  constexpr int64_t kM = 19, kN = 5, kK = 4, kBatch = 7, kCount = 4, kRows = 24;
  std::array<int, 3> order = {0, 1, 2}; // m, n and the batch
  do {
    std::array<int64_t, 3> inC = {};
    int64_t step = 1;
    for (const int dim : order) {
      inC[static_cast<std::size_t>(dim)] = step;
      step *= std::array{kM, kN, kBatch}[static_cast<std::size_t>(dim)];
    }
    for (const int64_t panelRows : {int64_t{0}, kRows})
      for (const auto &[isInScratch, scratchColumn] :
           {std::pair{false, int64_t{0}}, {true, 0}, {false, kM + 2}})
        for (const bool pastCaches : {false, true}) {
          const BlockKernel<TypeParam> kernel({{kM, kM, kBatch * kK, 0, inC[0]}},
                                              {{kN, kN, 0, kBatch * kK, inC[1]}},
                                              {{kK, kK, kBatch, kBatch, 0}},
                                              {.aK = kRows,
                                               .bN = kK,
                                               .panelDims = panelRows > 0 ? 0U : 1U,
                                               .panelCount = kM,
                                               .panelRows = panelRows,
                                               .aPanel = kRows * kK,
                                               .accumulates = !pastCaches || scratchColumn > 0,
                                               .pastCaches = pastCaches,
                                               .resultInScratch = isInScratch,
                                               .scratchColumn = scratchColumn,
                                               .batch = {{kCount, kBatch, 1, 1, inC[2]}},
                                               .aBatch = kRows * kK + 3,
                                               .bBatch = kK * kN + 1});
          std::vector<TypeParam> a(kM * kK * kBatch), b(kN * kK * kBatch), c(kM * kN * kBatch, -1);
          std::iota(a.begin(), a.end(), TypeParam(1));
          std::iota(b.begin(), b.end(), TypeParam(1));
          for (int64_t first = 0; first < kBatch; first += kCount) {
            const int64_t count = std::min(kCount, kBatch - first);
            std::vector<TypeParam> packedA((kRows * kK + 3) * kCount, -7);
            std::vector<TypeParam> packedB((kK * kN + 1) * kCount, -7);
            constexpr int64_t kBeyond = 64;
            const int64_t column = isInScratch ? kM : scratchColumn;
            std::vector<TypeParam> scratch(column * kN * kCount + kBeyond, -7);
            kernel.packA(packedA.data(), a.data() + first, {kM}, {kK}, {count});
            kernel.packB(packedB.data(), b.data() + first, {kK}, {kN}, {count});
            const auto multiply = [&](bool accumulate) {
              kernel(packedA.data(), packedB.data(), c.data() + first * inC[2], scratch.data(),
                     {kM}, {kN}, {kK}, accumulate, {count});
            };
            multiply(false);
            if (!pastCaches)
              multiply(true);
            if (scratchColumn > 0)
              kernel.copySums(c.data() + first * inC[2], scratch.data(), {kM}, {kN}, false,
                              {count});
            EXPECT_EQ(std::count(scratch.end() - kBeyond, scratch.end(), TypeParam(-7)), kBeyond);
          }
          for (int64_t i = 0; i < kBatch; ++i)
            for (int64_t n = 0; n < kN; ++n)
              for (int64_t m = 0; m < kM; ++m) {
                TypeParam sum = 0;
                for (int64_t k = 0; k < kK; ++k)
                  sum += a[static_cast<std::size_t>((m * kK + k) * kBatch + i)] *
                         b[static_cast<std::size_t>((n * kK + k) * kBatch + i)];
                ASSERT_EQ(c[static_cast<std::size_t>(m * inC[0] + n * inC[1] + i * inC[2])],
                          pastCaches ? sum : 2 * sum)
                    << i << ", " << n << ", " << m << ", with steps " << inC[0] << ", " << inC[1]
                    << ", " << inC[2];
              }
        }
  } while (std::next_permutation(order.begin(), order.end()));
}

/// A batch of two dims, which lie in another order in B and C than in A, the first in two parts.
TYPED_TEST(BlockLayoutTest, BatchOfTwoDims) {
  constexpr int64_t kM = 9, kN = 5, kK = 4, kP = 5, kCountP = 3, kQ = 2, kRows = 16;
  constexpr int64_t kBatch = kP * kQ;
  for (const bool isInScratch : {false, true}) {
    const bool isInPanels = isInScratch; // Of B, the only one.
    const int64_t blockOfB = kK * (isInPanels ? tiles::kPanelColumns : kN);
    // A[m,k,q,p], B[n,k,p,q], C[q,n,p,m]
    const BlockKernel<TypeParam> kernel(
        {{kM, kM, kBatch * kK, 0, 1}}, {{kN, kN, 0, kBatch * kK, kM * kP}},
        {{kK, kK, kBatch, kBatch, 0}},
        {.aK = kRows,
         .bN = kK,
         .bInPanels = isInPanels,
         .panelDims = 1,
         .panelCount = kM,
         .aPanel = kRows * kK,
         .resultInScratch = isInScratch,
         .batch = {{kCountP, kP, 1, kQ, kM}, {kQ, kQ, kP, 1, kM * kP * kN}},
         .aBatch = kRows * kK,
         .bBatch = blockOfB});
    std::vector<TypeParam> a(kM * kK * kBatch), b(kN * kK * kBatch), c(kM * kN * kBatch, -1);
    std::iota(a.begin(), a.end(), TypeParam(1));
    std::iota(b.begin(), b.end(), TypeParam(1));
    for (int64_t first = 0; first < kP; first += kCountP) {
      const int64_t count = std::min(kCountP, kP - first);
      std::vector<TypeParam> packedA(kRows * kK * kCountP * kQ, -7);
      std::vector<TypeParam> packedB(static_cast<std::size_t>(blockOfB * kCountP * kQ), -7);
      std::vector<TypeParam> scratch(kM * kN * kCountP * kQ, -7);
      kernel.packA(packedA.data(), a.data() + first, {kM}, {kK}, {count, kQ});
      kernel.packB(packedB.data(), b.data() + first * kQ, {kK}, {kN}, {count, kQ});
      kernel(packedA.data(), packedB.data(), c.data() + first * kM, scratch.data(), {kM}, {kN},
             {kK}, false, {count, kQ});
    }
    for (int64_t p = 0; p < kP; ++p)
      for (int64_t q = 0; q < kQ; ++q)
        for (int64_t n = 0; n < kN; ++n)
          for (int64_t m = 0; m < kM; ++m) {
            TypeParam sum = 0;
            for (int64_t k = 0; k < kK; ++k)
              sum += a[static_cast<std::size_t>(((m * kK + k) * kQ + q) * kP + p)] *
                     b[static_cast<std::size_t>(((n * kK + k) * kP + p) * kQ + q)];
            ASSERT_EQ(c[static_cast<std::size_t>(((q * kN + n) * kP + p) * kM + m)], sum)
                << "in scratch " << isInScratch << ", at " << m << " " << n << " " << p << " " << q;
          }
  }
}

/// A block that has fewer of the first dim has more of the second in its panels.
TYPED_TEST(BlockLayoutTest, PanelsOfRestsAreFull) {
  constexpr int64_t kRows = 5, kOthers = 7, kPanel = 100;
  const BlockKernel<TypeParam> kernel(
      {{4, kRows, kOthers, 0, 1}, {kOthers, kOthers, 1, 0, kRows}}, {}, {},
      {.aK = 8, .bN = 1, .panelDims = 2, .panelCount = 2, .aPanel = kPanel});
  std::vector<TypeParam> a(kRows * kOthers), packed(4 * kPanel, -1);
  std::iota(a.begin(), a.end(), TypeParam(0));
  kernel.packA(packed.data(), &a[4 * kOthers], {1, kOthers}, {});
  std::vector<TypeParam> expected(4 * kPanel, -1);
  std::copy_n(&a[4 * kOthers], kOthers, expected.begin());
  EXPECT_EQ(packed, expected);
  kernel.packA(packed.data(), a.data(), {4, kOthers}, {});
  for (int64_t m0 = 0; m0 < 4; ++m0)
    for (int64_t m1 = 0; m1 < kOthers; ++m1)
      EXPECT_EQ(packed[static_cast<std::size_t>(m1 / 2 * kPanel + m1 % 2 * 4 + m0)],
                a[static_cast<std::size_t>(m0 * kOthers + m1)])
          << m0 << ", " << m1;
}

/// Sums in scratch are added to those that C has, of a whole block and of one with rests.
TYPED_TEST(BlockLayoutTest, SumsInScratchAreAdded) {
  constexpr int64_t kM = 3, kN = 5, kColumn = 8;
  const BlockKernel<TypeParam> kernel({{2, kM, 1, 0, kN}}, {{kN, kN, 0, 1, 1}}, {{1, 1, 2, 1, 0}},
                                      {.aK = 2,
                                       .bN = 1,
                                       .panelDims = 1,
                                       .panelCount = 2,
                                       .aPanel = 2,
                                       .accumulates = true,
                                       .scratchColumn = kColumn});
  std::vector<TypeParam> c(kM * kN, 100), scratch(kColumn * kN, -7);
  const std::vector<TypeParam> b = {1, 2, 3, 4, 5};
  for (int64_t first = 0; first < kM; first += 2) {
    const int64_t rows = std::min<int64_t>(2, kM - first);
    const std::vector<TypeParam> a = {static_cast<TypeParam>(first + 1),
                                      static_cast<TypeParam>(first + 2)};
    for (const bool accumulate : {false, true})
      kernel(a.data(), b.data(), nullptr, scratch.data(), {rows}, {kN}, {1}, accumulate);
    kernel.copySums(c.data() + first * kN, scratch.data(), {rows}, {kN}, true);
  }
  for (int64_t m = 0; m < kM; ++m)
    for (int64_t n = 0; n < kN; ++n)
      EXPECT_EQ(c[static_cast<std::size_t>(m * kN + n)],
                static_cast<TypeParam>(100 + 2 * (m + 1) * (n + 1)))
          << m << ", " << n;
}

/// Panels of columns of an n of three dims, of the last of which a block has a part, that follow
/// each other in C or not, and of sides without dims.
TYPED_TEST(BlockLayoutTest, PanelsOfColumns) {
  constexpr int64_t kM = 5, kN0 = 4, kN1 = 3, kN2 = 5, kCount2 = 3, kK = 20, kN = kN0 * kN1 * kN2;
  for (int variant = 0; variant < 8; ++variant) {
    const auto panelDims = static_cast<std::size_t>(variant / 2);
    const int64_t inC1 = kM * kN0 * (variant % 2 == 0 ? 1 : kN2);
    const int64_t inC2 = kM * kN0 * (variant % 2 == 0 ? kN1 : 1);
    // A[k,m], B[n1,n2,n0,k], C[n2,n1,n0,m] or C[n1,n2,n0,m]
    const BlockKernel<TypeParam> kernel({{kM, kM, 1, 0, 1}},
                                        {{kN0, kN0, 0, kK, kM},
                                         {kN1, kN1, 0, kK * kN0 * kN2, inC1},
                                         {kCount2, kN2, 0, kK * kN0, inC2}},
                                        {{kK, kK, kM, 1, 0}},
                                        {.aK = kM, .bInPanels = true, .bPanelDims = panelDims});
    std::vector<TypeParam> a(kM * kK), b(kN * kK), c(kM * kN, -1);
    std::iota(a.begin(), a.end(), TypeParam(1));
    std::iota(b.begin(), b.end(), TypeParam(1));
    for (int64_t first = 0; first < kN2; first += kCount2) {
      const int64_t count = std::min(kCount2, kN2 - first);
      const int64_t panels = panelDims == 1   ? kN1 * count
                             : panelDims == 2 ? (kN0 * kN1 + 5) / 6 * count
                                              : (kN0 * kN1 * count + 5) / 6;
      std::vector<TypeParam> packedB(static_cast<std::size_t>(panels * 6 * kK), -7);
      kernel.packB(packedB.data(), b.data() + first * kK * kN0, {kK}, {kN0, kN1, count});
      kernel(a.data(), packedB.data(), c.data() + first * inC2, nullptr, {kM}, {kN0, kN1, count},
             {kK}, false);
    }
    for (int64_t n2 = 0; n2 < kN2; ++n2)
      for (int64_t n1 = 0; n1 < kN1; ++n1)
        for (int64_t n0 = 0; n0 < kN0; ++n0)
          for (int64_t m = 0; m < kM; ++m) {
            TypeParam sum = 0;
            for (int64_t k = 0; k < kK; ++k)
              sum += a[static_cast<std::size_t>(k * kM + m)] *
                     b[static_cast<std::size_t>(((n1 * kN2 + n2) * kN0 + n0) * kK + k)];
            ASSERT_EQ(c[static_cast<std::size_t>(n2 * inC2 + n1 * inC1 + n0 * kM + m)], sum)
                << variant << " " << m << " " << n0 << " " << n1 << " " << n2;
          }
  }

  std::vector<TypeParam> a(5), b(5), c(2, -1);
  std::iota(a.begin(), a.end(), TypeParam(1));
  std::iota(b.begin(), b.end(), TypeParam(1));
  const BlockKernel<TypeParam> dot({}, {}, {{3, 3, 1, 2, 0}}, {.aK = 1, .bInPanels = true});
  std::vector<TypeParam> panel(3 * 6, -7);
  dot.packB(panel.data(), b.data(), {3}, {});
  dot(a.data(), panel.data(), c.data(), nullptr, {}, {}, {3}, false);
  EXPECT_EQ(c[0], 1 * 1 + 2 * 3 + 3 * 5);
  const BlockKernel<TypeParam> outer({}, {{2, 2, 0, 3, 1}}, {}, {.aK = 1, .bInPanels = true});
  outer.packB(panel.data(), b.data(), {}, {2});
  outer(a.data() + 1, panel.data(), c.data(), nullptr, {}, {2}, {}, false);
  EXPECT_EQ(c[0], 2 * 1);
  EXPECT_EQ(c[1], 2 * 4);
}

TYPED_TEST(BlockLayoutTest, NothingToCompute) {
  const BlockKernel<TypeParam> kernel({{4, 0, 1, 0, 1}}, {{4, 3, 0, 2, 4}}, {{2, 2, 4, 1, 0}},
                                      {.aK = 4, .bN = 2});
  kernel(nullptr, nullptr, nullptr, nullptr, {0}, {3}, {2}, false);
  const BlockKernel<TypeParam> noRows({{4, 0, 1, 0, 1}}, {{4, 3, 0, 2, 4}}, {{2, 2, 4, 1, 0}},
                                      {.aK = 4, .bInPanels = true});
  constexpr std::size_t kPanel = 2 * tiles::kPanelColumns;
  std::vector<TypeParam> b(6, 1), panels(3 * kPanel, -7);
  noRows.packB(panels.data(), b.data(), {2}, {3});
  EXPECT_EQ(panels[kPanel], -7); // All columns are in one.
  const BlockKernel<TypeParam> noWhole({{4, 0, 1, 0, 1}, {2, 3, 4, 0, 4}}, {{1, 1, 0, 1, 1}},
                                       {{2, 2, 8, 1, 0}},
                                       {.aK = 8, .bN = 2, .panelDims = 2, .panelCount = 2});
  noWhole.packA(nullptr, nullptr, {0, 2}, {2});
  const BlockKernel<TypeParam> noSums({{4, 4, 1, 0, 1}}, {{3, 3, 0, 2, 4}}, {{2, 0, 4, 1, 0}},
                                      {.aK = 4, .bN = 2, .accumulates = true, .scratchColumn = 4});
  noSums.copySums(nullptr, nullptr, {4}, {3}, false);
}

} // namespace
