//===- RankGroupsTest.cpp - which ranks compute what at the same time -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/RankGroups.h"

#include "TreeText.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace einsumc;

namespace {

TEST(RankTimes, ranksThatDoDifferentThingsDoSoAtTheSameTime) {
  RankTimes times(8);
  times.run({0, 4}, 2);
  times.run({4, 4}, 3);
  EXPECT_EQ(times.most(), 3);
  times.run({2, 1}, 0.5); // Rank 2 alone is free at 2.
  EXPECT_EQ(times.most(), 3);
  times.run({0, 8}, 1); // All wait for the last.
  EXPECT_EQ(times.most(), 4);
  times.add({0, 2}, 1);
  times.add({6, 2}, 5);
  EXPECT_EQ(times.most(), 9);
  times.run({1, 1}, {3, 2}, 1); // 5 and 4: both until 6.
  times.run({4, 2}, 3.5);       // 6 and 4: both until 9.5.
  EXPECT_EQ(times.most(), 9.5);
  times.lower(9.25); // Ranks 6 and 7 had less.
  EXPECT_EQ(times.most(), 0.25);
  times.add({6, 2}, 0.5);
  EXPECT_EQ(times.most(), 0.5);
}

TEST(RankTimes, aNodeWaitsForItsOperandsAndKeepsThoseWhoSend) {
  RankTimes times(4);
  times.run({2, 2}, 5);
  times.run({{0, 1}, {{{2, 2}, 1}}, 2, NodeSeconds::Move{{1, 1}, 4}});
  EXPECT_EQ(times.most(), 12);
  times.run({2, 2}, 6.5); // They sent until 6.
  EXPECT_EQ(times.most(), 12.5);
  times.run({{3, 1}, {{{0, 1}, 0}}, 1, std::nullopt}); // Nothing is sent: nobody waits.
  EXPECT_EQ(times.most(), 13.5);
}

/// Nodes whose time falls with the ranks down to some number of them, and grows a little with each
/// twice as many.
class MadeUp final : public GroupEstimate {
public:
  double node(NodeId node, int64_t ranks) override {
    const double useful = std::min<double>(static_cast<double>(ranks), most.at(node));
    return work.at(node) / useful + 0.05 * std::log2(static_cast<double>(ranks));
  }
  double move(NodeId /*tensor*/, int64_t /*from*/, int64_t /*to*/) override { return moving; }
  bool isFree(NodeId node) override { return fixed.count(node) == 0; }

  std::map<NodeId, double> work, most;
  double moving = 0;
  std::set<NodeId> fixed;
};

/// A tree of products of scalars, and what its nodes take.
struct Problem {
  Tree tree;
  MadeUp estimate;
  std::vector<NodeId> nodes;

  explicit Problem(const std::string &text) : tree(treeOf(text)) {
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).kind != NodeKind::Input)
        nodes.push_back(id);
  }

  std::vector<NodeId> neededBy(NodeId node) const {
    std::vector<NodeId> result;
    for (const Operand &operand : tree.node(node).operands)
      if (tree.node(operand.node).kind != NodeKind::Input)
        result.push_back(operand.node);
    return result;
  }

  double seconds(const std::vector<RankRange> &ranges, int64_t ranks) {
    RankTimes times(ranks);
    for (const NodeId node : nodes) {
      const RankRange &range = ranges[static_cast<std::size_t>(node)];
      times.run(range, estimate.node(node, range.size));
    }
    return times.most();
  }

  NodeId named(const std::string &name) const {
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).name == name)
        return id;
    throw std::runtime_error(name);
  }
};

/// Products of scalars: each of its operands is an input or an earlier product.
Problem randomProblem(std::mt19937 &random, int products, bool shares) {
  auto below = [&](int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random); };
  std::string text = "input x[]; ";
  std::vector<std::string> free;
  for (int p = 0; p < products; ++p) {
    std::string operands[2] = {"x", "x"};
    for (std::string &operand : operands)
      if (!free.empty() && below(3) != 0) {
        const auto at = free.begin() + below(static_cast<int>(free.size()));
        operand = *at;
        if (!shares)
          free.erase(at);
      }
    const std::string name = "T" + std::to_string(p);
    text += "output " + name + "[] = " + operands[0] + "[] * " + operands[1] + "[]; ";
    free.push_back(name);
  }
  Problem problem(text);
  for (const NodeId node : problem.nodes) {
    problem.estimate.work[node] = 1 + below(20);
    problem.estimate.most[node] = 1 << below(4);
  }
  return problem;
}

/// The least time of all ways to give disjoint ranks to parts that are not connected, the last node
/// of a connected part coming after all others.
class Exhaustive {
public:
  explicit Exhaustive(Problem &problem) : problem(problem) {}

  double of(const std::vector<NodeId> &nodes, int64_t ranks) {
    if (nodes.empty())
      return 0;
    const auto [known, isNew] = solved.try_emplace({nodes, ranks}, 0);
    if (isNew) {
      const double seconds = solve(nodes, ranks);
      solved[{nodes, ranks}] = seconds;
      return seconds;
    }
    return known->second;
  }

private:
  double solve(const std::vector<NodeId> &nodes, int64_t ranks) {
    const std::vector<std::vector<NodeId>> parts = components(nodes);
    if (parts.size() == 1)
      return of({nodes.begin(), nodes.end() - 1}, ranks) +
             problem.estimate.node(nodes.back(), ranks);
    double best = 0;
    for (const std::vector<NodeId> &part : parts)
      best += of(part, ranks);
    for (std::size_t set = 1; set + 1 < std::size_t{1} << parts.size(); ++set) {
      std::vector<NodeId> halves[2];
      for (std::size_t p = 0; p < parts.size(); ++p) {
        std::vector<NodeId> &half = halves[set >> p & 1];
        half.insert(half.end(), parts[p].begin(), parts[p].end());
      }
      for (std::vector<NodeId> &half : halves)
        std::sort(half.begin(), half.end());
      for (int64_t first = 1; first < ranks; ++first)
        best = std::min(best, std::max(of(halves[0], first), of(halves[1], ranks - first)));
    }
    return best;
  }

  std::vector<std::vector<NodeId>> components(const std::vector<NodeId> &nodes) const {
    std::map<NodeId, int> label;
    for (const NodeId node : nodes)
      label[node] = static_cast<int>(node);
    for (bool changed = true; changed;) {
      changed = false;
      for (const NodeId node : nodes)
        for (const NodeId operand : problem.neededBy(node))
          if (label.count(operand) != 0 && label[operand] != label[node]) {
            label[operand] = label[node] = std::max(label[operand], label[node]);
            changed = true;
          }
    }
    std::map<int, std::vector<NodeId>> parts;
    for (const auto &[node, of] : label)
      parts[of].push_back(node);
    std::vector<std::vector<NodeId>> result;
    for (auto &[of, part] : parts)
      result.push_back(std::move(part));
    return result;
  }

  Problem &problem;
  std::map<std::pair<std::vector<NodeId>, int64_t>, double> solved;
};

TEST(RankGroups, takeHardlyLongerThanTheBestOfAll) {
  std::mt19937 random(1);
  double sum = 0;
  constexpr int kTrials = 150;
  int grouped = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Problem problem = randomProblem(random, 2 + trial % 6, false);
    const int64_t ranks = 1 + trial % 8;
    const std::vector<RankRange> ranges = rankGroups(problem.tree, ranks, problem.estimate);
    const double seconds = problem.seconds(ranges, ranks);
    const double best = Exhaustive(problem).of(problem.nodes, ranks);
    EXPECT_GE(seconds, best * (1 - 1e-9));
    EXPECT_LE(seconds, best * 1.3) << trial;
    sum += seconds / best;
    const std::vector<RankRange> all(ranges.size(), RankRange{0, ranks});
    EXPECT_LE(seconds, problem.seconds(all, ranks) * (1 + 1e-9));
    grouped += ranges != all;
  }
  EXPECT_LE(sum / kTrials, 1.02);
  EXPECT_GT(grouped, kTrials / 5);
}

TEST(RankGroups, holdThoseOfWhatANodeDependsOn) {
  std::mt19937 random(2);
  int grouped = 0;
  for (int trial = 0; trial < 100; ++trial) {
    Problem problem = randomProblem(random, 3 + trial % 12, trial % 2 == 0);
    const int64_t ranks = 2 + trial % 30;
    const std::vector<RankRange> ranges = rankGroups(problem.tree, ranks, problem.estimate);
    for (const NodeId node : problem.nodes) {
      const RankRange &own = ranges[static_cast<std::size_t>(node)];
      EXPECT_GE(own.first, 0);
      EXPECT_GE(own.size, 1);
      EXPECT_LE(own.end(), ranks);
      grouped += own.first > 0;
      if (trial % 2 == 0)
        continue; // Of a shared tensor other users may have other ranks than what it is made of.
      for (const NodeId operand : problem.neededBy(node)) {
        const RankRange &from = ranges[static_cast<std::size_t>(operand)];
        EXPECT_EQ(hull(own, from), own);
      }
    }
  }
  EXPECT_GT(grouped, 100);
}

TEST(RankGroups, sharedTensorsComeBeforeTheirUsers) {
  Problem problem("input x[]; S[] = x[] * x[]; output A[] = S[] * x[]; output B[] = S[] * x[];");
  for (const NodeId node : problem.nodes) {
    problem.estimate.work[node] = 8;
    problem.estimate.most[node] = node == problem.named("S") ? 4 : 1;
  }
  const std::vector<RankRange> ranges = rankGroups(problem.tree, 4, problem.estimate);
  auto of = [&](const char *name) { return ranges[static_cast<std::size_t>(problem.named(name))]; };
  EXPECT_EQ(of("S"), (RankRange{0, 4}));
  EXPECT_EQ(of("A").size, 2);
  EXPECT_EQ(of("B").size, 2);
  EXPECT_NE(of("A").first, of("B").first);
}

TEST(RankGroups, areLeftAloneWhereTheyGainNothing) {
  const char *text = "input x[]; output A[] = x[] * x[]; output B[] = x[] * x[];";
  const std::vector<RankRange> all(3, RankRange{0, 8});
  Problem efficient(text);
  for (const NodeId node : efficient.nodes)
    efficient.estimate.work[node] = 100, efficient.estimate.most[node] = 8;
  EXPECT_EQ(rankGroups(efficient.tree, 8, efficient.estimate), all);
  Problem fixed(text);
  for (const NodeId node : fixed.nodes)
    fixed.estimate.work[node] = 8, fixed.estimate.most[node] = 1;
  EXPECT_NE(rankGroups(fixed.tree, 8, fixed.estimate), all);
  fixed.estimate.fixed = {fixed.named("A")};
  EXPECT_EQ(rankGroups(fixed.tree, 8, fixed.estimate), all);
  Problem dear("input x[]; A[] = x[] * x[]; B[] = x[] * x[]; output C[] = A[] * B[];");
  for (const NodeId node : dear.nodes)
    dear.estimate.work[node] = 8, dear.estimate.most[node] = 1;
  const std::vector<RankRange> of4(4, RankRange{0, 8});
  EXPECT_NE(rankGroups(dear.tree, 8, dear.estimate), of4);
  dear.estimate.moving = 10; // Longer than what is gained.
  EXPECT_EQ(rankGroups(dear.tree, 8, dear.estimate), of4);
}

} // namespace
