//===- StepCostTest.cpp - what a stepping loop is predicted to take ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/StepCost.h"

#include "SteppingSchedules.h"

#include "compiler/frontend/ReadEin.h"
#include "compiler/order/GreedyOrder.h"
#include "compiler/order/Normalise.h"
#include "compiler/plan/Algorithms.h"
#include "compiler/plan/LocalCost.h"

#include "compiler/support/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

using namespace einsumc;
using test::batchedProduct;
using test::forEachLoop;

namespace {

constexpr NodeId kProduct = 2;
constexpr int64_t kRanks = 4, kExtent = 512;
/// Elements that a rank computes with in all steps: a share of two matrices, and one.
constexpr double kFootprint = kExtent * kExtent * 1.5;
/// A chunk of a matrix over four ranks.
constexpr double kChunkBytes = kExtent * kExtent / kRanks * 4;

Tree product() {
  Diagnostics diagnostics(llvm::errs());
  const std::optional<Tree> tree = readEin(
      diagnostics.addText("c.ein", "dim m = 512, n = 512, k = 512; input A[m, k]; input B[k, n];"
                                   "output C[m, n] = A[m, k] * B[k, n];"),
      diagnostics);
  return *orderGreedily(normalise(*tree), diagnostics);
}

class StepCosts : public testing::Test {
protected:
  /// \param share a link whose transfer of a chunk takes so many times as long as a step
  StepCost cost(const std::string &algorithm, double share, double alpha = 0,
                std::optional<StepMovement> movement = std::nullopt) {
    const auto schedule = scheduleByName(tree, kProduct, algorithm, kRanks);
    if (const auto *const problem = std::get_if<std::string>(&schedule))
      throw std::runtime_error(*problem);
    std::optional<Stepping> stepping = steppingOf(tree, kProduct, std::get<NodeSchedule>(schedule));
    if (movement)
      stepping->travellers[0].movement = *movement;
    Box step(3, Interval{0, kExtent});
    for (std::size_t d = 0; d < 3; ++d) // The loop dim is cut, and the other that chunks have.
      step[d] = stepping->work.box(0)[d];
    Interval &cut = step[stepping->dim];
    cut.end = cut.begin + cut.size() / kRanks;
    LocalWork part = localWork(tree, kProduct, step);
    part.footprint = kFootprint;
    stepSeconds = localCost(part, machine, TeamShares::Equal).seconds();
    const std::vector<Link> links(stepping->travellers.size(),
                                  Link{alpha, share * stepSeconds / kChunkBytes});
    PartSeconds parts(tree, kProduct, machine);
    return stepCost(parts, *stepping, links);
  }

  const Tree tree = product();
  Machine machine;
  double stepSeconds = 0; ///< of the last cost()
};

TEST_F(StepCosts, messagesTakeTimeOfTheThreads) {
  const double without = cost("ring_m(t=n)", 0).computeSeconds;
  machine.betweenNodes.load = 1e-9;
  const double load = 1e-9 * (kRanks - 1) * kChunkBytes;
  EXPECT_NEAR(cost("ring_m(t=n)", 0).computeSeconds - without, load, 1e-3 * load);
  machine.ranksPerNode = kRanks; // Within the node they take nothing.
  EXPECT_DOUBLE_EQ(cost("ring_m(t=n)", 0).computeSeconds, without);
}

/// Within a node chunks stay where they are, but for sums that several ranks add to at a time.
TEST_F(StepCosts, chunksInPlaceTakeNoTimeOfTheThreads) {
  machine.ranksPerNode = kRanks;
  const auto loadOf = [&](const char *algorithm, StepMovement movement) {
    machine.withinNode.load = 0;
    const double without = cost(algorithm, 0, 0, movement).computeSeconds;
    machine.withinNode.load = 1e-9;
    return cost(algorithm, 0, 0, movement).computeSeconds - without;
  };
  for (const StepMovement movement : {StepMovement::Ring, StepMovement::Bcast, StepMovement::Get})
    EXPECT_EQ(loadOf("ring_m(t=n)", movement), 0);
  EXPECT_EQ(loadOf("ring_k", StepMovement::Ring), 0);
  EXPECT_GT(loadOf("ring_k", StepMovement::Bcast), 0);
  EXPECT_GT(loadOf("ring_k", StepMovement::Get), 0);
}

TEST_F(StepCosts, messagesThatAreWaitedForTakeNoTimeOfTheThreads) {
  // Of three transfers that take five steps each, three steps hide a fifth.
  const double without = cost("ring_m(t=n)", 5).seconds;
  machine.betweenNodes.load = 1e-9;
  const double load = 1e-9 * (kRanks - 1) * kChunkBytes;
  EXPECT_NEAR(cost("ring_m(t=n)", 5).seconds - without, load / 5, 1e-2 * load);
}

TEST_F(StepCosts, freeTransfersTakeNoTime) {
  for (const char *const algorithm : {"ring_m(t=n)", "ring_n(t=m)"}) {
    const StepCost costs = cost(algorithm, 0);
    EXPECT_NEAR(costs.seconds, 4 * stepSeconds, 1e-3 * stepSeconds) << algorithm;
    EXPECT_DOUBLE_EQ(costs.seconds, costs.computeSeconds) << algorithm;
  }
}

TEST_F(StepCosts, shortTransfersHideBehindSteps) {
  for (const char *const algorithm : {"ring_m(t=n)", "ring_n(t=m)"}) {
    const StepCost costs = cost(algorithm, 0.9);
    EXPECT_NEAR(costs.seconds, 4 * stepSeconds, 1e-3 * stepSeconds) << algorithm;
  }
}

TEST_F(StepCosts, longTransfersHideTheSteps) {
  for (const char *const algorithm :
       {"ring_m(t=n)", "ring_n(t=m)"}) { // A step, then three transfers in a row.
    const StepCost costs = cost(algorithm, 5);
    EXPECT_NEAR(costs.seconds, (3 * 5 + 1) * stepSeconds, 1e-2 * stepSeconds) << algorithm;
  }
}

TEST_F(StepCosts, sumsThatRotateHideBehindTheOtherParts) {
  const StepCost fast = cost("ring_k", 0);
  EXPECT_DOUBLE_EQ(fast.seconds, fast.computeSeconds);
  const StepCost equal = cost("ring_k", 0.9), slow = cost("ring_k", 5);
  EXPECT_LT(equal.seconds, 1.2 * equal.computeSeconds);
  EXPECT_GT(slow.seconds, 3 * 5 * stepSeconds);
}

TEST_F(StepCosts, stepsThatAddReadTheResult) {
  const double reading = kExtent * kExtent / kRanks * 4 / machine.memoryBandwidth;
  const StepCost costs = cost("ring_m(t=k)", 0);
  EXPECT_NEAR(costs.seconds, 4 * stepSeconds + 3 * reading, 1e-3 * stepSeconds);
}

TEST_F(StepCosts, longLoopsAreEstimated) {
  // 4 chunks in 8 parts are not played, in 4 they are; the rows of both fill vectors.
  for (const double share : {0.0, 0.5, 5.0}) {
    const StepCost played = cost("ring_m(t=n,pace=4)", share, 0);
    const StepCost estimated = cost("ring_m(t=n,pace=8)", share, 0);
    EXPECT_NEAR(estimated.seconds, played.seconds, 0.15 * played.seconds) << share;
  }
}

TEST_F(StepCosts, partsCostMessages) {
  cost("ring_m", 0);
  const double alpha = stepSeconds;
  const double whole = cost("ring_m(pace=1)", 0, alpha).seconds;
  EXPECT_GT(cost("ring_m(pace=8)", 0, alpha).seconds, 2 * whole);
}

TEST_F(StepCosts, aRootThatStreamsServesAll) {
  const StepCost costs = cost("master_worker", 10);
  // Three ranks get a quarter each of A, and return one of C.
  EXPECT_GT(costs.seconds, 2 * 3 * 10 * stepSeconds);
}

TEST(StepBound, isNoMoreThanTheCost) {
  const Tree tree = batchedProduct();
  const Machine machine;
  PartSeconds parts(tree, kProduct, machine);
  int loops = 0, sharp = 0;
  for (const std::vector<int64_t> &extents :
       std::vector<std::vector<int64_t>>{{2}, {5}, {30}, {40}, {2, 2}, {2, 3}, {5, 2}, {40, 2}})
    forEachLoop(tree, kProduct, {extents, 0},
                [&](const Stepping &stepping, const NodeSchedule &on) {
                  for (const Link &link : {Link{0, 1e-9}, Link{1e-6, 0}, Link{1e-7, 1e-11}}) {
                    const std::vector<Link> links(stepping.travellers.size(), link);
                    const StepCost cost = stepCost(parts, stepping, links);
                    PartSeconds own(tree, kProduct, machine);
                    ASSERT_EQ(stepCost(own, stepping, links).seconds, cost.seconds);
                    const StepCost bound = stepBound(tree, stepping, machine, links);
                    constexpr double kRounded = 1 + 1e-12;
                    const std::string text = nodeScheduleText(tree, kProduct, on);
                    ASSERT_LE(bound.computeSeconds, kRounded * cost.computeSeconds) << text;
                    ASSERT_LE(bound.transferSeconds, kRounded * cost.transferSeconds) << text;
                    ASSERT_LE(bound.seconds, kRounded * cost.seconds) << text;
                    ++loops;
                    sharp += bound.transferSeconds > 0.99 * cost.transferSeconds ? 1 : 0;
                  }
                });
  EXPECT_GT(loops, 1000);
  EXPECT_GT(2 * sharp, loops);
}

} // namespace
