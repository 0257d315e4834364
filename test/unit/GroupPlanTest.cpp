//===- GroupPlanTest.cpp - groups of ranks against the enumeration of all ---------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/ReadEin.h"
#include "compiler/order/Normalise.h"
#include "compiler/plan/Cost.h"
#include "compiler/plan/Plan.h"
#include "compiler/plan/Planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

using namespace einsumc;

namespace {

template <class T> T pick(std::mt19937 &random, const std::vector<T> &from) {
  return from[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
}

/// Two products that do not depend on each other, and that of both.
Tree twoBranches(std::mt19937 &random) {
  std::string text = "dim ";
  for (char dim = 'a'; dim <= 'e'; ++dim)
    text += std::string(dim == 'a' ? "" : ", ") + dim + " = " +
            std::to_string(pick<int>(random, {3, 40, 150, 300, 1000}));
  text += "; input A[a, b]; input B[b, c]; input C[c, d]; input D[d, e];"
          "X[a, c] = A[a, b] * B[b, c]; Y[c, e] = C[c, d] * D[d, e];"
          "output U[a, e] = X[a, c] * Y[c, e];";
  Diagnostics diagnostics(llvm::errs());
  const std::optional<Tree> tree = readEin(diagnostics.addText("t.ein", text), diagnostics);
  if (!tree)
    throw std::runtime_error(text);
  return normalise(*tree);
}

Machine randomMachine(std::mt19937 &random) {
  Machine machine;
  machine.flopsF32 = pick<double>(random, {1e10, 1e11, 1e12});
  machine.betweenNodes = {pick<double>(random, {1e-7, 1e-5}), pick<double>(random, {1e-11, 1e-9})};
  machine.withinNode = machine.betweenNodes;
  return machine;
}

/// What the planner minimises where nodes run at the same time.
double secondsOf(const Tree &tree, const Machine &machine, const Schedule &schedule) {
  const TransferCost transfers(machine, schedule.ranks);
  double seconds = costOf(tree, machine, schedule).seconds;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.node(id).kind == NodeKind::Input)
      seconds += transfers.readSeconds(tree, id, homePlacement(tree, schedule, id));
  return seconds;
}

/// The least that it takes with any consecutive ranks for each node.
double leastSeconds(const Tree &tree, const Machine &machine, const PlanOptions &options) {
  std::vector<RankRange> all;
  for (int64_t size = 1; size <= options.ranks; ++size)
    for (int64_t first = 0; first + size <= options.ranks; ++first)
      all.push_back({first, size});
  std::vector<NodeId> nodes;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.node(id).kind != NodeKind::Input)
      nodes.push_back(id);
  std::vector<RankRange> ranges(static_cast<std::size_t>(tree.size()), all.back());
  std::vector<std::size_t> at(nodes.size(), 0);
  double least = std::numeric_limits<double>::infinity();
  for (bool isMore = true; isMore;) {
    for (std::size_t n = 0; n < nodes.size(); ++n)
      ranges[static_cast<std::size_t>(nodes[n])] = all[at[n]];
    least = std::min(least,
                     secondsOf(tree, machine, Planner(tree, machine, options, ranges).schedule()));
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
  std::mt19937 random(1);
  for (int trial = 0; trial < 15; ++trial) {
    const Tree tree = twoBranches(random);
    const Machine machine = randomMachine(random);
    const PlanOptions options{pick<int64_t>(random, {2, 3, 4}), {}, {}};
    // Of two that are about as fast the simpler one is chosen.
    EXPECT_LE(secondsOf(tree, machine, plan(tree, machine, options)),
              1.02 * leastSeconds(tree, machine, options))
        << trial;
  }
}
