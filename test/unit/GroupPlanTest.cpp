//===- GroupPlanTest.cpp - groups of ranks against the enumeration of all ---------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "TreeText.h"

#include "compiler/plan/Plan.h"
#include "compiler/plan/Planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace einsumc;

namespace {

/// Products that do not depend on each other: two, and the product of both; two; two chains of two
/// with inputs that both use.
const std::vector<std::string> kShapes = {
    "input A[a, b]; input B[b, c]; input C[c, d]; input D[d, e];"
    "X[a, c] = A[a, b] * B[b, c]; Y[c, e] = C[c, d] * D[d, e];"
    "output U[a, e] = X[a, c] * Y[c, e];",
    "input A[a, b]; input B[b, c]; input C[c, d]; input D[d, e];"
    "output X[a, c] = A[a, b] * B[b, c]; output Y[c, e] = C[c, d] * D[d, e];",
    "input A[a, b]; input B[a, b]; input C[b, c]; input D[c, d];"
    "X[a, c] = A[a, b] * C[b, c]; output U[a, d] = X[a, c] * D[c, d];"
    "Y[a, c] = B[a, b] * C[b, c]; output V[a, d] = Y[a, c] * D[c, d];"};

Machine randomMachine(std::mt19937 &random) {
  Machine machine;
  machine.flopsF32 = pick<double>(random, {1e10, 1e11, 1e12});
  machine.betweenNodes = {pick<double>(random, {5e-7, 1e-5, 1e-4}),
                          pick<double>(random, {1e-11, 1e-10, 1e-9})};
  machine.withinNode = machine.betweenNodes;
  return machine;
}

/// What the planner minimises of its own choice.
double chosenSeconds(CandidateLists &lists, const PlanOptions &options) {
  const Tree &tree = lists.tree;
  const Schedule schedule = plan(tree, lists.machine, options);
  PlanOptions fixed = options;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.node(id).kind == NodeKind::Input)
      fixed.fixed.inputs[id] = schedule.inputs[static_cast<std::size_t>(id)];
    else
      fixed.fixed.nodes[id] = schedule.nodes[static_cast<std::size_t>(id)];
  const std::vector<RankRange> all(static_cast<std::size_t>(tree.size()), {0, options.ranks});
  return Planner(lists, fixed, all).seconds();
}

/// The least that it takes with any consecutive ranks for each node.
double leastSeconds(CandidateLists &lists, const PlanOptions &options) {
  std::vector<RankRange> all;
  for (int64_t size = 1; size <= options.ranks; ++size)
    for (int64_t first = 0; first + size <= options.ranks; ++first)
      all.push_back({first, size});
  std::vector<NodeId> nodes;
  for (NodeId id = 0; id < lists.tree.size(); ++id)
    if (lists.tree.node(id).kind != NodeKind::Input)
      nodes.push_back(id);
  std::vector<RankRange> ranges(static_cast<std::size_t>(lists.tree.size()), all.back());
  std::vector<std::size_t> at(nodes.size(), 0);
  double least = std::numeric_limits<double>::infinity();
  for (bool isMore = true; isMore;) {
    for (std::size_t n = 0; n < nodes.size(); ++n)
      ranges[static_cast<std::size_t>(nodes[n])] = all[at[n]];
    least = std::min(least, Planner(lists, options, ranges).seconds());
    isMore = false;
    for (std::size_t n = 0; n < nodes.size() && !isMore; ++n) {
      isMore = ++at[n] < all.size();
      if (!isMore)
        at[n] = 0;
    }
  }
  return least;
}

} // namespace

TEST(GroupPlan, isBeatenByNoRanksOfTheNodes) {
  constexpr double kDoubt = 1.02; // Of two that are about as fast the simpler one is chosen.
  std::mt19937 random(29);
  int wins = 0;
  for (int trial = 0; trial < 45; ++trial) {
    const std::string &shape = kShapes[static_cast<std::size_t>(trial) % kShapes.size()];
    const Tree tree = treeOf(randomDims(random, 5, {3, 5, 40, 96, 150, 300, 1000}) + shape);
    const Machine machine = randomMachine(random);
    PlanOptions options{pick<int64_t>(random, {2, 3, &shape == &kShapes.back() ? 3 : 4}), {}, {}};
    CandidateLists lists(tree, machine, options.ranks);
    const double least = leastSeconds(lists, options);
    EXPECT_LE(chosenSeconds(lists, options), kDoubt * least) << trial;
    options.mayGroup = false;
    wins += chosenSeconds(lists, options) > kDoubt * least ? 1 : 0;
  }
  EXPECT_GT(wins, 10); // Without groups they would take longer.
}
