//===- TransferCostTest.cpp - what redistributions are predicted to take ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "RandomLayout.h"
#include "TreeText.h"

#include "compiler/plan/TransferCost.h"

#include <gtest/gtest.h>

namespace einsumc {
namespace {

constexpr double kBeta = 1e-9;

/// Only bytes on the way take time.
Machine machineOfBytes() {
  Machine machine;
  machine.ranksPerNode = 64;
  machine.withinNode = {0, kBeta};
  machine.betweenNodes = {0, kBeta};
  machine.memoryBandwidth = 1e30;
  return machine;
}

/// Seconds to move the first tensor of a tree over bytes on the way.
double bytesOfBusiest(const Tree &tree, int64_t ranks, const Placement &from, const Placement &to) {
  const Machine machine = machineOfBytes();
  return TransferCost(machine, ranks).moveSeconds(tree, 0, from, to) / kBeta;
}

Placement on(std::vector<int64_t> grid, std::vector<AxisPlacement> axes) {
  return {{std::move(grid), 0}, std::move(axes)};
}

TEST(TransferCost, EveryRankSendsItsPartToTheOthers) {
  const Tree tree = treeOf("dim i = 64, j = 8; input A[i, j]; output B[i, j] = A[i, j];");
  EXPECT_NEAR(bytesOfBusiest(tree, 8, on({8}, {split(0)}), on({8}, {copied()})),
              7.0 / 8 * 64 * 8 * 4, 1);
}

/// Of 64 ranks 4 hold a row, and send it to the 63 others.
TEST(TransferCost, RanksWithNothingDoNotShareTheSending) {
  const Tree tree = treeOf("dim i = 4, j = 1000; input A[i, j]; output B[i, j] = A[i, j];");
  EXPECT_NEAR(bytesOfBusiest(tree, 64, on({64}, {split(0)}), on({64}, {copied()})), 63.0 * 1000 * 4,
              1);
}

/// Rows are 2, 1, 1 and 1; the rank with two sends two fifths of what crosses.
TEST(TransferCost, TheLargestBlockCounts) {
  const Tree tree = treeOf("dim i = 5, j = 1000; input A[i, j]; output B[i, j] = A[i, j];");
  EXPECT_NEAR(bytesOfBusiest(tree, 4, on({4}, {split(0)}), on({4}, {copied()})), 3.0 * 2 * 1000 * 4,
              1);
}

TEST(TransferCost, BoundsAreNoMore) {
  const Tree tree = treeOf("dim i = 30, j = 200, k = 7; input A[i, j, k];"
                           "output B[i, j, k] = A[i, j, k];");
  Machine machine;
  machine.ranksPerNode = 4;
  const TransferCost transfers(machine, 24);
  test::RandomLayouts random(3);
  const std::vector<int64_t> extents = tree.extents(0);
  int positive = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const Layout source = random.layout(extents, 24, false),
                 target = random.layout(extents, 24, false);
    const Placement from = normalised({source.grid, source.axes});
    const Placement to = normalised({target.grid, target.axes});
    const double bound = transfers.moveBound(tree, 0, from, to);
    ASSERT_LE(bound, transfers.moveSeconds(tree, 0, from, to));
    for (const bool isTraveller : {false, true})
      ASSERT_LE(transfers.supplyBound(tree, 0, from, to, isTraveller),
                transfers.supplySeconds(tree, 0, from, to, isTraveller));
    positive += bound > 0 ? 1 : 0;
    // Sums that are added up.
    Placement sums = to;
    for (AxisPlacement &axis : sums.axes)
      if (axis.kind == AxisKind::Split && random.number(0, 1) == 0)
        axis = partial();
    sums = normalised(sums);
    ASSERT_LE(transfers.moveBound(tree, 0, sums, to),
              transfers.moveSeconds(tree, 0, sums, to) * (1 + 1e-12));
  }
  EXPECT_GT(positive, 2000);
}

} // namespace
} // namespace einsumc
