//===- SimulationTest.cpp - what schedules would take on machines -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "tools/sim/Simulation.h"

#include "TreeText.h"

#include "compiler/ir/Moves.h"
#include "compiler/plan/Algorithms.h"
#include "compiler/plan/LocalCost.h"
#include "compiler/plan/Plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

using namespace einsumc;
using sim::simulateMessages;
using sim::simulatePhases;

namespace {

constexpr NodeId kProduct = 2;
constexpr int64_t kExtent = 512;
constexpr double kAlpha = 3e-6;

Tree product() {
  return treeOf("dim m = 512, n = 512, k = 512; input A[m, k]; input B[k, n];"
                "output C[m, n] = A[m, k] * B[k, n];");
}

/// Messages take longer than the steps that they could hide behind.
Machine slowNetwork(const std::string &topology = "full", int64_t ranksPerNode = 1) {
  Machine machine;
  machine.topology = topology;
  machine.ranksPerNode = ranksPerNode;
  machine.betweenNodes = {kAlpha, 1e-8};
  machine.withinNode = {1e-6, 1e-9};
  return machine;
}

NodeSchedule byName(const Tree &tree, NodeId node, const std::string &name, int64_t ranks) {
  const auto schedule = scheduleByName(tree, node, name, ranks);
  if (const auto *const problem = std::get_if<std::string>(&schedule))
    throw std::runtime_error(*problem);
  return std::get<NodeSchedule>(schedule);
}

Schedule scheduleWith(const Tree &tree, const Machine &machine, const NodeSchedule &on,
                      int64_t ranks) {
  PartialSchedule fixed;
  fixed.nodes[kProduct] = on;
  return plan(tree, machine, {ranks, fixed});
}

struct Both {
  sim::Simulation messages, phases;
};
Both simulate(const Tree &tree, const Machine &machine, const Schedule &schedule) {
  const Network network(machine, schedule.ranks);
  return {simulateMessages(tree, machine, schedule, network),
          simulatePhases(tree, machine, schedule, network)};
}

void expectSeconds(const Both &both, double seconds) {
  EXPECT_NEAR(both.messages.seconds, seconds, 1e-6 * seconds);
  EXPECT_NEAR(both.phases.seconds, seconds, 1e-6 * seconds);
}

double computeSeconds(const Tree &tree, const Machine &machine, int64_t m, int64_t n, int64_t k) {
  return localCost(localWork(tree, kProduct, {{0, m}, {0, n}, {0, k}}), machine, TeamShares::Equal)
      .seconds();
}

/// A step of the sum, of 512 in all: the tensors of all steps lie where they have room.
double stepSeconds(const Tree &tree, const Machine &machine, int64_t m, int64_t n, int64_t k) {
  LocalWork work = localWork(tree, kProduct, {{0, m}, {0, n}, {0, k}});
  work.footprint = static_cast<double>(512 * (m + n) + m * n);
  return localCost(work, machine, TeamShares::Equal).seconds();
}

/// The same after the first: it adds to the result, which it reads.
double addingSeconds(const Tree &tree, const Machine &machine, int64_t m, int64_t n, int64_t k) {
  return stepSeconds(tree, machine, m, n, k) +
         static_cast<double>(m * n * 4) / machine.memoryBandwidth;
}

TEST(Simulation, aRingOfTwoRanks) {
  const Tree tree = product();
  const Machine machine = slowNetwork();
  const Schedule schedule =
      scheduleWith(tree, machine, byName(tree, kProduct, "ring_m(t=k)", 2), 2);
  // B's other half comes during the first step, and is waited for.
  const double message = kAlpha + 1e-8 * 256 * 512 * 4;
  const double step = stepSeconds(tree, machine, 256, 512, 256);
  const double second = addingSeconds(tree, machine, 256, 512, 256);
  ASSERT_LT(step, message);
  const Both both = simulate(tree, machine, schedule);
  expectSeconds(both, message + second);
  for (const sim::Simulation *simulation : {&both.messages, &both.phases}) {
    EXPECT_EQ(simulation->nodes[0].bytes, 2 * 256 * 512 * 4);
    EXPECT_NEAR(simulation->nodes[0].computeSeconds, step + second, 1e-9);
    EXPECT_NEAR(simulation->nodes[0].transferSeconds, message, 1e-9);
    EXPECT_NEAR(simulation->nodes[0].waitSeconds, message - step, 1e-9);
    EXPECT_EQ(simulation->linkBytes, std::vector<double>(4, 256 * 512 * 4)); // two out, two in
  }
}

TEST(Simulation, messagesThatHideTakeThreads) {
  const Tree tree = product();
  Machine machine = slowNetwork();
  const double load = 5e-9;
  machine.betweenNodes.load = load;
  const Schedule schedule =
      scheduleWith(tree, machine, byName(tree, kProduct, "ring_m(t=k)", 2), 2);
  const double bytes = 256 * 512 * 4, message = kAlpha + 1e-8 * bytes;
  const double step = stepSeconds(tree, machine, 256, 512, 256);
  const double second = addingSeconds(tree, machine, 256, 512, 256);
  // Of the message so much hides behind the first step; each of the two gets half of what that
  // takes.
  expectSeconds(simulate(tree, machine, schedule),
                message + second + step / message * load * bytes / 2);
}

/// B in four parts around the outer of two axes, whose ranks lie two apart.
NodeSchedule ringOverTwo(const Tree &tree) {
  NodeSchedule on = byName(tree, kProduct, "rotating(dim=m+m,t=k,grid=2x4)", 8);
  std::swap(on.axes[0], on.axes[1]);
  on.grid.extents = {4, 2};
  return on;
}

TEST(Simulation, rotatingOverARingOfNodesSharesLinks) {
  const Tree tree = product();
  for (const auto &[topology, congestion] : {std::pair("full", 1), std::pair("ring", 2)}) {
    const Machine machine = slowNetwork(topology);
    const double message = kAlpha + congestion * 1e-8 * 128 * 512 * 4;
    expectSeconds(simulate(tree, machine, scheduleWith(tree, machine, ringOverTwo(tree), 8)),
                  3 * message + addingSeconds(tree, machine, 64, 512, 128));
  }
}

TEST(Simulation, broadcastsComeOneAfterTheOther) {
  const Tree tree = product();
  const Machine machine = slowNetwork();
  // A in four parts of the sum, each to four ranks.
  const double message = 2 * kAlpha + 2 * 0.75 * 1e-8 * 512 * 128 * 4;
  expectSeconds(
      simulate(tree, machine,
               scheduleWith(tree, machine, byName(tree, kProduct, "summa(grid=1x4)", 4), 4)),
      4 * message + addingSeconds(tree, machine, 512, 128, 128));
}

TEST(Simulation, ranksOfANodeShareItsLink) {
  const Tree tree = product();
  // Around 8 ranks of 4 nodes, one rank of a node sends to the next: it has the node's rate, half
  // of whose time a byte takes that all see.
  const Machine machine = slowNetwork("full", 2);
  const Schedule schedule =
      scheduleWith(tree, machine, byName(tree, kProduct, "ring_m(t=k)", 8), 8);
  const double message = kAlpha + 0.5e-8 * 64 * 512 * 4;
  expectSeconds(simulate(tree, machine, schedule),
                7 * message + addingSeconds(tree, machine, 64, 512, 64));
}

TEST(Simulation, anExchangeStartsOneMessageAfterTheOther) {
  const Tree tree = product();
  const Schedule schedule =
      scheduleWith(tree, slowNetwork(), byName(tree, kProduct, "reduce_k", 4), 4);
  Machine machine = slowNetwork();
  const double compute = computeSeconds(tree, machine, 512, 512, 128), bytes = 1e-8 * 512 * 128 * 4;
  machine.betweenNodes.alpha = 2 * bytes; // bytes move while the next messages start
  expectSeconds(simulate(tree, machine, schedule), compute + 3 * 2 * bytes + bytes);
  machine.betweenNodes.alpha = bytes / 100; // all move together
  const Both both = simulate(tree, machine, schedule);
  EXPECT_NEAR(both.messages.seconds, compute + 3 * bytes, 0.03 * bytes);
  EXPECT_NEAR(both.phases.seconds, compute + 3 * bytes, 0.03 * bytes);
}

TEST(Simulation, ranksBesideAGridGoOn) {
  const Tree tree = treeOf("dim i = 512, j = 512, k = 512; input A[i, j]; input B[j, k];"
                           "input D[i, j]; input E[j, k];"
                           "output C[i, k] = A[i, j] * B[j, k];"
                           "output F[i, k] = D[i, j] * E[j, k];");
  const Machine machine;
  Schedule schedule = plan(tree, machine, {2, {}});
  double first = 0;
  for (const NodeId node : {4, 5}) { // one rank each
    ASSERT_NE(tree.node(node).kind, NodeKind::Input);
    NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(node)];
    on = {{{1}, node - 4}, {{std::nullopt, copied(), Movement::None, 1}}};
    for (const Operand &operand : tree.node(node).operands)
      schedule.inputs[static_cast<std::size_t>(operand.node)] = {on.grid, {copied()}};
    first = localCost(localWork(tree, node), machine).seconds();
  }
  expectSeconds(simulate(tree, machine, schedule), first);
}

constexpr const char *kAlgorithms[] = {"ring_m",         "ring_n",    "ring_k",    "cannon",
                                       "summa",          "summa_a",   "summa_b",   "summa_3d",
                                       "cube_3d",        "reduce_k",  "tp1d",      "tp2d",
                                       "cannon_25d",     "summa_25d", "one_sided", "ring_m(pace=3)",
                                       "ring_k(pace=4)", "rotating",  "tesseract", "master_worker"};

class Algorithms : public testing::TestWithParam<const char *> {};

/// The phases are a simplification: how far from all messages they may be.
TEST_P(Algorithms, phasesAreCloseToMessages) {
  const Tree tree = treeOf("dim m = 4096, n = 4096, k = 4096; input A[m, k]; input B[k, n];"
                           "output C[m, n] = A[m, k] * B[k, n];");
  for (const char *const topology : {"full", "ring", "torus:4x4x2", "fattree:8"}) {
    Machine machine = *builtInMachine("cluster-100g");
    machine.topology = topology;
    const Schedule schedule =
        scheduleWith(tree, machine, byName(tree, kProduct, GetParam(), 64), 64);
    const Both both = simulate(tree, machine, schedule);
    const double error = both.phases.seconds / both.messages.seconds;
    EXPECT_GT(error, 0.9) << topology;
    EXPECT_LT(error, 1.15) << topology;
    const auto total = [](const std::vector<double> &bytes) {
      return std::accumulate(bytes.begin(), bytes.end(), 0.0);
    };
    EXPECT_NEAR(total(both.phases.linkBytes), total(both.messages.linkBytes),
                1e-2 * total(both.messages.linkBytes))
        << topology;
    EXPECT_EQ(both.phases.nodes[0].bytes, trafficBytes(tree, schedule, kProduct));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms, testing::ValuesIn(kAlgorithms));

TEST(Simulation, unevenBlocksAndSeveralNodes) {
  const Tree tree = treeOf("dim b = 130, i = 784, o = 300, r = 50, s = 50; input X[b, i];"
                           "input U[r, i, s]; input V[s, o, r];"
                           "T[b, r, s] = X[b, i] * U[r, i, s];"
                           "output Y[b, o] = T[b, r, s] * V[s, o, r];");
  for (const int64_t ranks : {6, 35}) {
    const Machine machine = *builtInMachine("cluster-100g");
    PartialSchedule fixed;
    fixed.nodes[3] = byName(tree, 3, "summa", ranks);
    fixed.nodes[4] = byName(tree, 4, "reduce_k", ranks);
    const Both both = simulate(tree, machine, plan(tree, machine, {ranks, fixed}));
    EXPECT_NEAR(both.phases.seconds, both.messages.seconds, 0.1 * both.messages.seconds) << ranks;
    EXPECT_EQ(both.phases.nodes.size(), 2U);
  }
}

TEST(Simulation, manyRanksTakeSeconds) {
  const Tree tree = treeOf("dim m = 262144, n = 262144, k = 262144; input A[m, k]; input B[k, n];"
                           "output C[m, n] = A[m, k] * B[k, n];");
  Machine machine = *builtInMachine("cluster-100g");
  machine.topology = "torus:32x32x32";
  const int64_t ranks = 65536;
  const Network network(machine, ranks);
  for (const char *const algorithm : {"cannon", "summa_3d", "ring_m"}) {
    const Schedule schedule =
        scheduleWith(tree, machine, byName(tree, kProduct, algorithm, ranks), ranks);
    const sim::Simulation simulation = simulatePhases(tree, machine, schedule, network);
    // No less than the arithmetic at the peak.
    EXPECT_GT(simulation.seconds, tree.flops(kProduct) / machine.flopsF32 / ranks) << algorithm;
  }
}

} // namespace
