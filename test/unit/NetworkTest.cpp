//===- NetworkTest.cpp - the links of a machine and who shares them ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace einsumc;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

Machine machineWith(const std::string &topology, int64_t ranksPerNode = 1) {
  Machine machine;
  machine.topology = topology;
  machine.ranksPerNode = ranksPerNode;
  machine.withinNode = {1e-6, 1e-10};
  machine.betweenNodes = {3e-6, 8e-10};
  return machine;
}

GridAxis wholeAxis(int64_t ranks) { return {0, ranks, 1, ranks}; }

std::vector<std::string> namesOfRoute(const Network &network, int64_t from, int64_t to) {
  llvm::SmallVector<int64_t> links;
  network.route(from, to, links);
  std::vector<std::string> names;
  for (const int64_t link : links)
    names.push_back(network.linkName(link));
  return names;
}

TEST(NetworkRoutes, full) {
  const Network network(machineWith("full", 2), 8);
  EXPECT_THAT(namesOfRoute(network, 2, 3), IsEmpty());
  EXPECT_THAT(namesOfRoute(network, 2, 2), IsEmpty());
  EXPECT_THAT(namesOfRoute(network, 1, 7), ElementsAre("node 0 out", "node 3 in"));
}

TEST(NetworkRoutes, ringTakesTheShorterWay) {
  const Network network(machineWith("ring"), 6);
  EXPECT_THAT(namesOfRoute(network, 5, 1),
              ElementsAre("node 5 out", "node 5 -> node 0", "node 0 -> node 1", "node 1 in"));
  EXPECT_THAT(namesOfRoute(network, 1, 5),
              ElementsAre("node 1 out", "node 1 -> node 0", "node 0 -> node 5", "node 5 in"));
  EXPECT_EQ(namesOfRoute(network, 4, 1)[1], "node 4 -> node 5"); // as long either way
}

TEST(NetworkRoutes, torusGoesAlongOneDimAfterTheOther) {
  const Network network(machineWith("torus:4x3"), 12);
  EXPECT_THAT(namesOfRoute(network, 1, 11),
              ElementsAre("node 1 out", "node 1 -> node 10", "node 10 -> node 11", "node 11 in"));
}

TEST(NetworkRoutes, fewNodesFillATorusFromZeroOn) {
  const Network network(machineWith("torus:1000000x1000000x4"), 12);
  EXPECT_LT(network.links(), 200);
  EXPECT_THAT(namesOfRoute(network, 9, 0),
              ElementsAre("node 9 out", "node 9 -> node 5", "node 5 -> node 1", "node 1 -> node 0",
                          "node 0 in"));
}

TEST(NetworkRoutes, fatTree) {
  const Network network(machineWith("fattree:4"), 16);
  EXPECT_THAT(namesOfRoute(network, 2, 3), ElementsAre("node 2 out", "node 3 in"));
  EXPECT_THAT(namesOfRoute(network, 0, 3), ElementsAre("node 0 out", "edge 0 -> aggregation 1",
                                                       "aggregation 1 -> edge 1", "node 3 in"));
  EXPECT_THAT(namesOfRoute(network, 15, 6),
              ElementsAre("node 15 out", "edge 7 -> aggregation 6", "aggregation 6 -> core 1",
                          "core 1 -> aggregation 2", "aggregation 2 -> edge 3", "node 6 in"));
}

TEST(NetworkRoutes, everyLinkHasAName) {
  for (const char *const topology : {"full", "ring", "torus:3x4x5", "fattree:6"}) {
    const Network network(machineWith(topology), 54);
    std::vector<std::string> names;
    for (int64_t link = 0; link < network.links(); ++link)
      names.push_back(network.linkName(link));
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::unique(names).size(), 0U) << topology;
  }
}

TEST(NetworkSize, roomForNodes) {
  EXPECT_EQ(Network::nodeLimit(machineWith("full")), std::nullopt);
  EXPECT_EQ(Network::nodeLimit(machineWith("ring")), std::nullopt);
  EXPECT_EQ(Network::nodeLimit(machineWith("torus:4x3x2")), 24);
  EXPECT_EQ(Network::nodeLimit(machineWith("fattree:4")), 16);
  EXPECT_EQ(Network::nodeLimit(machineWith("torus:4000000000x4000000000x2")),
            std::numeric_limits<int64_t>::max());
  // More of them: a longer torus, more pods.
  EXPECT_EQ(Network(machineWith("torus:2x3"), 12).shiftCongestion(wholeAxis(12), 3), 1);
  EXPECT_EQ(Network(machineWith("fattree:4"), 64).shiftCongestion(wholeAxis(64), 4), 1);
}

TEST(NetworkLoads, areThoseOfTheRoutes) {
  std::mt19937 random(7);
  for (const char *const topology : {"full", "ring", "torus:5x3x2", "torus:2x9x2", "fattree:6"}) {
    const Network network(machineWith(topology, 2), 60);
    LinkLoads loads(network);
    std::vector<double> expected(static_cast<std::size_t>(network.links()), 0);
    for (int message = 0; message < 500; ++message) {
      const auto from = static_cast<int64_t>(random() % 60),
                 to = static_cast<int64_t>(random() % 60);
      const auto bytes = static_cast<double>(random() % 1000);
      loads.add(from, to, bytes);
      llvm::SmallVector<int64_t> links;
      network.route(from, to, links);
      for (const int64_t link : links)
        expected[static_cast<std::size_t>(link)] += bytes;
    }
    EXPECT_EQ(loads.byLink(), expected) << topology;
    EXPECT_EQ(loads.largest(), *std::ranges::max_element(expected)) << topology;
  }
}

TEST(NetworkShift, neighboursCollideNowhere) {
  for (const char *const topology : {"full", "ring", "torus:4x4x4", "fattree:8"})
    EXPECT_EQ(Network(machineWith(topology), 64).shiftCongestion(wholeAxis(64), 1), 1) << topology;
}

TEST(NetworkShift, linksOfARingPassAllFromBehind) {
  const Network network(machineWith("ring"), 64);
  for (const int64_t distance : {1, 2, 7, 31})
    EXPECT_EQ(network.shiftCongestion(wholeAxis(64), distance), distance);
  EXPECT_EQ(network.shiftCongestion(wholeAxis(64), 60), 4);
  EXPECT_EQ(network.shiftCongestion(wholeAxis(64), 64), 0);
}

TEST(NetworkShift, columnsOfAGridOnARingShareLinks) {
  const Network network(machineWith("ring"), 64);
  EXPECT_EQ(network.shiftCongestion({0, 64, 8, 8}, 1), 8);
  EXPECT_EQ(network.shiftCongestion({0, 64, 1, 8}, 1), 1);
}

TEST(NetworkShift, aFullFatTreeBlocksNoShift) {
  const Network network(machineWith("fattree:8"), 128);
  for (const int64_t distance : {1, 3, 4, 16, 63, 64})
    EXPECT_EQ(network.shiftCongestion(wholeAxis(128), distance), 1) << distance;
}

TEST(NetworkShift, ranksOfANodeShareItsLink) {
  const Network network(machineWith("full", 4), 32);
  EXPECT_EQ(network.shiftCongestion(wholeAxis(32), 4), 4);
  EXPECT_EQ(network.shiftCongestion(wholeAxis(32), 1), 1); // one of them leaves its node
  EXPECT_EQ(network.shiftCongestion({0, 32, 1, 4}, 1), 0); // none does
}

TEST(NetworkShift, linksOfMessages) {
  const Network network(machineWith("full", 4), 32);
  EXPECT_DOUBLE_EQ(network.secondsPerByte(), 2e-10);
  EXPECT_EQ(network.shiftLink({0, 32, 1, 4}, 1), (Link{1e-6, 1e-10}));
  EXPECT_EQ(network.shiftLink({0, 32, 4, 8}, 1), (Link{3e-6, 8e-10})); // as the machine has it
  EXPECT_EQ(network.shiftLink(wholeAxis(32), 1), (Link{3e-6, 2e-10}));
  EXPECT_EQ(network.shiftLink(wholeAxis(32), 32), (Link{0, 0}));
}

TEST(NetworkExchange, aRingPassesAnEighthOfItsNodes) {
  for (const int64_t nodes : {4, 64, 512}) {
    // A link passes 1 + 2 + ... + N/2 messages, of N-1 that a rank sends.
    const auto n = static_cast<double>(nodes);
    EXPECT_DOUBLE_EQ(Network(machineWith("ring"), nodes).exchangeCongestion(wholeAxis(nodes)),
                     n / 2 * (n / 2 + 1) / 2 / (n - 1));
  }
}

TEST(NetworkExchange, longRingsAreEstimated) {
  const int64_t nodes = 16384;
  EXPECT_NEAR(Network(machineWith("ring"), nodes).exchangeCongestion(wholeAxis(nodes)), 2048, 100);
  EXPECT_NEAR(Network(machineWith("torus:16x32x32"), nodes).exchangeCongestion(wholeAxis(nodes)),
              4.25, 0.2); // of the 32 nodes of a line: 1 + 2 + ... + 16, over 32
  EXPECT_NEAR(Network(machineWith("fattree:64"), 65536).exchangeCongestion(wholeAxis(65536)), 1,
              0.05);
}

TEST(NetworkExchange, ranksOfANodeShareItsLink) {
  const Network network(machineWith("full", 4), 32);
  EXPECT_DOUBLE_EQ(network.exchangeCongestion(wholeAxis(32)), 4 * 28.0 / 31);
  EXPECT_DOUBLE_EQ(network.exchangeCongestion({0, 32, 4, 8}), 4);
  EXPECT_EQ(network.exchangeCongestion({0, 32, 1, 4}), 0);
  EXPECT_EQ(network.exchangeCongestion({0, 32, 1, 1}), 0);
  const Link link = network.exchangeLink(wholeAxis(32));
  EXPECT_EQ(link.alpha, 3e-6);
  EXPECT_DOUBLE_EQ(link.beta, 4 * 28.0 / 31 * 2e-10);
  EXPECT_EQ(network.exchangeLink({0, 32, 1, 4}), (Link{1e-6, 1e-10}));
}

TEST(NetworkAxis, ofAGrid) {
  const Grid grid{{2, 3, 4}, 5};
  EXPECT_EQ(axisOf(grid, 0), (GridAxis{5, 24, 12, 2}));
  EXPECT_EQ(axisOf(grid, 1), (GridAxis{5, 24, 4, 3}));
  EXPECT_EQ(axisOf(grid, 2), (GridAxis{5, 24, 1, 4}));
  EXPECT_EQ(axisOf(grid, 1).coordinate(grid.rankAt({1, 2, 3})), 2);
}

} // namespace
