//===- MemoryNeedTest.cpp - the memory that a program takes on a rank -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "TreeText.h"

#include "compiler/lower/Lower.h"
#include "compiler/lower/MemoryCount.h"
#include "compiler/plan/Algorithms.h"
#include "compiler/plan/Plan.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace {

using namespace einsumc;

Tree chain() {
  return treeOf("dim i = 130, j = 70, k = 97, l = 111, m = 64;"
                "input A[i, j]; input B[j, k]; input D[k, l]; input E[l, m];"
                "T[i, k] = A[i, j] * B[j, k]; U[i, l] = T[i, k] * D[k, l];"
                "output V[m, i] = U[i, l] * E[l, m];");
}

/// Nodes of which some differ in names alone, others in the order of a tensor's dims.
Tree alikeNodes() {
  return treeOf("dim i = 96, j = 96, k = 96, l = 96, m = 96, n = 10;"
                "input A[i, j]; input B[j, k]; input D[k, l]; input E[l, m]; input F[i, n];"
                "T[i, k] = A[i, j] * B[j, k]; U[i, l] = T[i, k] * D[k, l];"
                "V[m, i] = U[i, l] * E[l, m]; output W[n, m] = V[m, i] * F[i, n];");
}

/// A schedule in which every node has some algorithm.
Schedule randomSchedule(const Tree &tree, std::mt19937 &random) {
  const std::vector<std::string> names = algorithmNames();
  PartialSchedule fixed;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.node(id).kind == NodeKind::Input)
      continue;
    auto candidate = scheduleByName(tree, id, names[random() % names.size()], 4);
    if (auto *node = std::get_if<NodeSchedule>(&candidate))
      fixed.nodes[id] = *node;
  }
  return plan(tree, Machine{}, {4, fixed});
}

void expectCountsAreThoseOfLowering(const Tree &tree) {
  Machine machine;
  machine.threads = 3;
  MemoryCount count(machine);
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    const Schedule schedule = randomSchedule(tree, random);
    const MemoryNeed counted = count.of(tree, schedule);
    const MemoryNeed lowered = lower(tree, machine, schedule).memory;
    EXPECT_EQ(counted.bytes(), lowered.bytes());
    EXPECT_EQ(counted.rank, lowered.rank);
    EXPECT_EQ(counted.scratchPerThread, lowered.scratchPerThread);
    for (std::size_t node = 0; node < lowered.nodes.size(); ++node) {
      EXPECT_EQ(counted.nodes[node].scratch, lowered.nodes[node].scratch);
      EXPECT_EQ(counted.nodes[node].messages, lowered.nodes[node].messages);
    }
    EXPECT_EQ(counted.messages, lowered.messages);
  }
}

TEST(MemoryNeed, CountsWhatIsLoweredForManySchedulesInTurn) {
  expectCountsAreThoseOfLowering(chain());
}

TEST(MemoryNeed, CountsNodesThatAreAlikeAsEachIsLowered) {
  expectCountsAreThoseOfLowering(alikeNodes());
}

TEST(MemoryNeed, MessagesOfEachRankAreItsOwn) {
  const Tree tree = chain();
  std::mt19937 random(7);
  MessageBytes all;
  bool differ = false;
  for (int round = 0; round < 20; ++round) {
    const TensorBuffers buffers = buffersOf(tree, randomSchedule(tree, random));
    for (const NodeBuffers &node : buffers.nodes)
      for (const Move &move : node.before)
        for (int64_t rank = 0; rank < 4; ++rank) {
          EXPECT_EQ(all.of(tree, buffers, move, rank),
                    MessageBytes().of(tree, buffers, move, rank));
          differ = differ || all.of(tree, buffers, move, rank) != all.of(tree, buffers, move, 0);
        }
  }
  EXPECT_TRUE(differ);
}

TEST(MemoryNeed, NodesNeedNoMoreThanIsSetAside) {
  const Tree tree = chain();
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const MemoryNeed need = lower(tree, Machine{}, randomSchedule(tree, random)).memory;
    std::size_t messages = 0, scratch = 0;
    for (const MemoryNeed::Node &node : need.nodes) {
      EXPECT_LE(node.results + node.chunks, need.tensors.shared);
      EXPECT_GT(node.results, 0U);
      messages = std::max(messages, node.messages);
      scratch = std::max(scratch, node.scratch);
    }
    EXPECT_EQ(messages, need.messages);
    EXPECT_EQ(scratch, need.scratch());
  }
}

TEST(MemoryNeed, PlannerTakesNoMoreThanWhatIsCounted) {
  const Tree tree = chain();
  PlanOptions options{4, {}};
  MemoryCount count{Machine{}};
  options.countBytes = [&](const Tree &of, const Schedule &schedule) {
    return static_cast<double>(count.of(of, schedule).bytes());
  };
  const std::size_t fastest = count.of(tree, plan(tree, Machine{}, options)).bytes();
  for (const std::size_t share : {95, 90, 80}) {
    options.memory = static_cast<int64_t>(fastest * share / 100);
    EXPECT_LE(count.of(tree, plan(tree, Machine{}, options)).bytes(), fastest * share / 100);
  }
}

} // namespace
