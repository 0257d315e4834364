//===- PlannerTest.cpp - the planner against the enumeration of everything --------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Planner.h"

#include "TreeText.h"

#include "compiler/ir/AssignStorage.h"
#include "compiler/plan/Plan.h"
#include "compiler/support/Parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

using namespace einsumc;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Trees of one or two contractions with dims of every class and extents from 1 on.
class RandomTrees {
public:
  explicit RandomTrees(unsigned seed) : random(seed) {}

  Tree next(bool two) {
    std::string text = randomDims(random, 5, {1, 2, 3, 7, 40, 300, 1000});
    const std::string x = subset("abcde", 3), y = subset("abcde", 3), z = subset("abcde", 2);
    text += "input X[" + list(x) + "]; input Y[" + list(y) + "];";
    const std::string t = subset(united(x, y), 3);
    const std::string product = " = X[" + list(x) + "] * Y[" + list(y) + "];";
    if (!two)
      return treeOf(text + "output T[" + list(t) + "]" + product);
    return treeOf(text + "input Z[" + list(z) + "]; T[" + list(t) + "]" + product + "output U[" +
                  list(subset(united(t, z), 3)) + "] = T[" + list(t) + "] * Z[" + list(z) + "];");
  }

  /// A tensor is used twice, and the result of one of its users with it.
  Tree nextDag() {
    std::string text = randomDims(random, 5, {1, 2, 3, 7, 40, 300, 1000});
    const std::string x = subset("abcde", 3), y = subset("abcde", 3), z = subset("abcde", 2);
    const std::string t = subset(united(x, y), 3), u = subset(united(t, z), 3);
    return treeOf(text + "input X[" + list(x) + "]; input Y[" + list(y) + "]; input Z[" + list(z) +
                  "]; T[" + list(t) + "] = X[" + list(x) + "] * Y[" + list(y) + "]; output U[" +
                  list(u) + "] = T[" + list(t) + "] * Z[" + list(z) + "]; output V[" +
                  list(subset(united(t, u), 3)) + "] = T[" + list(t) + "] * U[" + list(u) + "];");
  }

  template <class T> T pick(const std::vector<T> &from) { return einsumc::pick(random, from); }

private:
  std::string subset(const std::string &of, std::size_t most) {
    std::string result;
    for (const char dim : of)
      if (result.size() < most && pick<int>({0, 1, 1}) == 1)
        result += dim;
    return result.empty() ? of.substr(0, 1) : result;
  }

  static std::string united(const std::string &a, const std::string &b) {
    std::string result = a;
    for (const char dim : b)
      if (result.find(dim) == std::string::npos)
        result += dim;
    std::sort(result.begin(), result.end());
    return result;
  }

  static std::string list(const std::string &dims) {
    std::string result;
    for (const char dim : dims)
      result += std::string(result.empty() ? "" : ", ") + dim;
    return result;
  }

  std::mt19937 random;
};

/// What the planner minimises.
class Objective {
public:
  Objective(const Tree &tree, const Machine &machine, int64_t ranks)
      : tree(tree), machine(machine), transfers(machine, ranks) {}

  Candidate candidate(NodeId node, const NodeSchedule &on) const {
    return candidateOf(tree, node, on, machine, transfers);
  }

  double of(const Schedule &schedule) const {
    double sum = 0;
    for (NodeId id = 0; id < tree.size(); ++id) {
      const Placement home = homePlacement(tree, schedule, id);
      if (tree.node(id).kind == NodeKind::Input) {
        sum += transfers.readSeconds(tree, id, home);
        continue;
      }
      const Candidate chosen = candidate(id, schedule.nodes[static_cast<std::size_t>(id)]);
      sum += chosen.score;
      for (std::size_t o = 0; o < chosen.needs.size(); ++o) {
        const NodeId operand = tree.node(id).operands[o].node;
        sum += transfers.supplySeconds(tree, operand, homePlacement(tree, schedule, operand),
                                       chosen.needs[o], chosen.areChunks[o]);
      }
      if (const auto &final = schedule.finals[static_cast<std::size_t>(id)])
        sum += transfers.moveSeconds(tree, id, home, *final);
    }
    return sum;
  }

  double supply(NodeId operand, const Placement &home, const Placement &need,
                bool areChunks) const {
    return transfers.supplySeconds(tree, operand, home, need, areChunks);
  }

  double read(NodeId input, const Placement &placement) const {
    return transfers.readSeconds(tree, input, placement);
  }

private:
  const Tree &tree;
  const Machine &machine;
  const TransferCost transfers;
};

/// Every schedule of a node that the model allows on grids of up to three axes from rank 0 on.
class AllSchedules {
public:
  AllSchedules(const Tree &tree, NodeId node, int64_t ranks)
      : tree(tree), node(node), ranks(ranks), dims(tree.iterationDims(node)) {}

  std::vector<NodeSchedule> run() {
    for (const int64_t size : {ranks, int64_t{1}}) {
      NodeSchedule same{{{size}, 0}, {}};
      same.axes.push_back({std::nullopt, copied(), Movement::None, 1});
      found.push_back(std::move(same));
    }
    add({{{}, 0}, {}});
    return std::move(found);
  }

private:
  void add(NodeSchedule schedule) {
    if (!schedule.axes.empty() && checkNodeSchedule(tree, node, schedule, ranks).empty())
      found.push_back(schedule);
    if (schedule.axes.size() == 3)
      return;
    for (int64_t extent = 2; extent * schedule.grid.size() <= ranks; ++extent)
      for (const AxisSchedule &axis : axes()) {
        NodeSchedule longer = schedule;
        longer.grid.extents.push_back(extent);
        longer.axes.push_back(axis);
        add(std::move(longer));
      }
  }

  const std::vector<AxisSchedule> &axes() {
    if (!allAxes.empty())
      return allAxes;
    for (const DimId dim : dims) {
      if (tree.dim(dim).extent == 1)
        continue; // One rank would do it all.
      const std::optional<Role> role = travellerOf(classOf(tree, node, dim));
      if (!role) {
        allAxes.push_back({dim, copied(), Movement::None, 1});
        continue;
      }
      const bool isResult = role == Role::C;
      allAxes.push_back({dim, isResult ? partial() : copied(), Movement::None, 1});
      if (isResult)
        allAxes.push_back({dim, copied(), Movement::Gather, 1});
      for (int t = 0; t < static_cast<int>(dimsOf(tree, node, *role).size()); ++t)
        for (const Movement movement :
             {Movement::Gather, Movement::Ring, Movement::Bcast, Movement::Get})
          allAxes.push_back(
              {dim, split(t, 1), movement, isResult && movement == Movement::Ring ? 2 : 1});
    }
    return allAxes;
  }

  const Tree &tree;
  const NodeId node;
  const int64_t ranks;
  const std::vector<DimId> dims;
  std::vector<AxisSchedule> allAxes;
  std::vector<NodeSchedule> found;
};

/// Machines that compute, send messages and send bytes at different speeds.
Machine randomMachine(RandomTrees &random) {
  Machine machine;
  machine.flopsF32 = random.pick<double>({1e9, 1e11, 1e13});
  machine.betweenNodes = {random.pick<double>({1e-7, 1e-5}), random.pick<double>({1e-11, 1e-9})};
  machine.withinNode = machine.betweenNodes;
  machine.ranksPerNode = random.pick<int64_t>({1, 2, 8});
  machine.topology = random.pick<std::string>({"full", "ring", "torus:2x2x2"});
  return machine;
}

TEST(Planner, findsTheBestScheduleOfANode) {
  RandomTrees random(1);
  int tried = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Tree tree = random.next(false);
    const NodeId node = tree.size() - 1;
    if (tree.size() > 3 || tree.iterationDims(node).size() > 4)
      continue; // With a node for a sum before it.
    ++tried;
    const Machine machine = randomMachine(random);
    const auto ranks = random.pick<int64_t>({2, 3, 4});
    const Objective objective(tree, machine, ranks);
    double best = kInfinity;
    NodeSchedule bestSchedule;
    for (const NodeSchedule &schedule : AllSchedules(tree, node, ranks).run()) {
      const Candidate candidate = objective.candidate(node, schedule);
      if (has(candidate.home, AxisKind::Partial))
        continue;
      double sum = candidate.score;
      for (std::size_t o = 0; o < candidate.needs.size(); ++o)
        sum += objective.read(tree.node(node).operands[o].node, candidate.needs[o]);
      if (sum < best) {
        best = sum;
        bestSchedule = schedule;
      }
    }
    const Schedule schedule = plan(tree, machine, {ranks, {}, {}});
    EXPECT_LE(objective.of(schedule), best * (1 + 1e-9))
        << equationText(tree, node) << " on " << ranks << ": "
        << nodeScheduleText(tree, node, schedule.nodes[static_cast<std::size_t>(node)]) << ", best "
        << nodeScheduleText(tree, node, bestSchedule);
  }
  EXPECT_GT(tried, 50);
}

/// By node, some schedules; of inputs none.
using Choices = std::vector<std::vector<Candidate>>;

double combinations(const Choices &choices) {
  double product = 1;
  for (const std::vector<Candidate> &of : choices)
    product *= of.empty() ? 1 : static_cast<double>(of.size());
  return product;
}

/// The least over all combinations; an input with one user lies where that needs it.
/// \param text says which it is
double leastOf(const Tree &tree, const Objective &objective, const Choices &choices,
               std::string &text) {
  double least = kInfinity;
  std::vector<std::size_t> choice(choices.size());
  while (true) {
    double sum = 0;
    for (NodeId id = 0; id < tree.size(); ++id) {
      const auto index = static_cast<std::size_t>(id);
      if (choices[index].empty())
        continue;
      const Candidate &candidate = choices[index][choice[index]];
      sum += candidate.score;
      for (std::size_t o = 0; o < candidate.needs.size(); ++o) {
        const NodeId operand = tree.node(id).operands[o].node;
        const auto at = static_cast<std::size_t>(operand);
        sum += choices[at].empty() ? objective.read(operand, candidate.needs[o])
                                   : objective.supply(operand, choices[at][choice[at]].home,
                                                      candidate.needs[o], candidate.areChunks[o]);
      }
    }
    if (sum < least) {
      least = sum;
      text.clear();
      for (NodeId id = 0; id < tree.size(); ++id)
        if (const auto &of = choices[static_cast<std::size_t>(id)]; !of.empty())
          text += equationText(tree, id) + ": " +
                  nodeScheduleText(tree, id, of[choice[static_cast<std::size_t>(id)]].schedule) +
                  "\n";
    }
    std::size_t node = 0;
    while (node < choice.size() &&
           (choices[node].empty() || ++choice[node] == choices[node].size()))
      choice[node++] = 0;
    if (node == choice.size())
      return least;
  }
}

/// The planner's schedule without groups must take hardly longer than the best of the choices.
/// Returns by how much it does, as a share.
double expectBest(const Tree &tree, const Machine &machine, int64_t ranks, const Choices &choices,
                  double tolerance) {
  const Objective objective(tree, machine, ranks);
  const Schedule schedule = plan(tree, machine, {ranks, {}, {}, false});
  std::string best, chosen;
  llvm::raw_string_ostream stream(chosen);
  print(tree, schedule, stream);
  const double least = leastOf(tree, objective, choices, best);
  EXPECT_LE(objective.of(schedule), least * (1 + tolerance)) << chosen << "best:\n" << best;
  return objective.of(schedule) / least - 1;
}

/// Of trees and of DAGs.
TEST(Planner, findsTheBestOfAllCandidates) {
  RandomTrees random(2);
  int tried = 0, triedDags = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const bool isDag = trial >= 30;
    const Tree tree = isDag ? random.nextDag() : random.next(true);
    const Machine machine = randomMachine(random);
    const auto ranks = random.pick<int64_t>({2, 3, 4, 6, 8});
    const TransferCost transfers(machine, ranks);
    Choices choices(static_cast<std::size_t>(tree.size()));
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).kind != NodeKind::Input)
        choices[static_cast<std::size_t>(id)] = candidatesOf(
            tree, id, machine, transfers, {0, ranks}, lifetimesFrom(tree, id), limitsFor(tree));
    if (combinations(choices) > 20000)
      continue;
    ++(isDag ? triedDags : tried);
    expectBest(tree, machine, ranks, choices, 1e-6);
  }
  EXPECT_GT(tried, 15);
  EXPECT_GT(triedDags, 20);
}

TEST(Planner, findsTheFastestCandidatesFirst) {
  RandomTrees random(3);
  for (int trial = 0; trial < 40; ++trial) {
    const Tree tree = random.next(false);
    const Machine machine = randomMachine(random);
    const auto ranks = random.pick<int64_t>({4, 6, 16, 60});
    const TransferCost transfers(machine, ranks);
    CandidateLimits limits = limitsFor(tree);
    for (NodeId id = 0; id < tree.size(); ++id) {
      if (tree.node(id).kind == NodeKind::Input)
        continue;
      const std::vector<int> lifetimes = lifetimesFrom(tree, id);
      limits.candidates = 100000;
      const auto all = candidatesOf(tree, id, machine, transfers, {0, ranks}, lifetimes, limits);
      limits.candidates = 3;
      const auto few = candidatesOf(tree, id, machine, transfers, {0, ranks}, lifetimes, limits);
      const std::size_t fastest = std::min<std::size_t>(3, all.size());
      ASSERT_GE(few.size(), fastest);
      for (std::size_t c = fastest; c < few.size(); ++c) {
        ASSERT_EQ(few[c].schedule.axes.size(), 1U);
        ASSERT_EQ(few[c].schedule.grid.size(), ranks);
      }
      double last = 0;
      for (std::size_t c = 0; c < all.size(); ++c) {
        double rank = all[c].score;
        for (std::size_t o = 0; o < all[c].needs.size(); ++o)
          rank += transfers.copySeconds(tree, tree.node(id).operands[o].node, all[c].needs[o]);
        ASSERT_GE(rank, last);
        last = rank;
        if (c < fastest) {
          ASSERT_EQ(all[c].schedule, few[c].schedule);
        }
        const Candidate again = candidateOf(tree, id, all[c].schedule, machine, transfers);
        ASSERT_EQ(again.score, all[c].score);
      }
    }
  }
}

TEST(Planner, boundsOfSchedulesAreNoMoreThanTheirSeconds) {
  RandomTrees random(8);
  for (int trial = 0; trial < 60; ++trial) {
    const Tree tree = random.next(false);
    const Machine machine = randomMachine(random);
    const auto ranks = random.pick<int64_t>({2, 4, 6, 8});
    const TransferCost transfers(machine, ranks);
    const NodeId node = tree.size() - 1;
    RunCosts costs(tree, node, machine, transfers);
    for (const NodeSchedule &on : AllSchedules(tree, node, ranks).run()) {
      const double bound = costs.bound(on, steppingOf(tree, node, on));
      ASSERT_LE(bound, costs.of(on).seconds) << nodeScheduleText(tree, node, on);
    }
  }
}

/// Expects that every node has the candidates of a list of its own.
void expectOwnCandidates(const Tree &tree, int64_t ranks, bool isSparing) {
  const Machine machine;
  CandidateLists lists(tree, machine, ranks);
  CandidateLimits limits = limitsFor(tree);
  limits.isSparing = isSparing;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.node(id).kind == NodeKind::Input)
      continue;
    const std::vector<Candidate> &found = lists.of(id, {0, ranks}, isSparing);
    const std::vector<Candidate> own = candidatesOf(tree, id, machine, lists.transfers, {0, ranks},
                                                    lifetimesFrom(tree, id), limits);
    ASSERT_EQ(found.size(), own.size());
    for (std::size_t c = 0; c < own.size(); ++c) {
      EXPECT_EQ(found[c].schedule, own[c].schedule);
      EXPECT_EQ(found[c].score, own[c].score);
      EXPECT_EQ(found[c].needs, own[c].needs);
      EXPECT_EQ(found[c].bytes, own[c].bytes);
      EXPECT_EQ(found[c].home, own[c].home);
    }
  }
}

/// Runs something on so many threads.
template <class Run> auto onThreads(std::size_t threads, Run &&run) {
  setThreads(threads);
  auto result = run();
  setThreads(std::nullopt);
  return result;
}

TEST(Planner, plansTheSameWithAnyNumberOfThreads) {
  std::mt19937 random(17);
  const Machine machine = *builtInMachine("cluster-100g");
  for (int trial = 0; trial < 3; ++trial) {
    constexpr int kProducts = 20;
    std::string text = randomDims(random, kProducts + 2, {97, 500, 1021, 2048, 3000, 4096});
    text += "input A[a, b];";
    std::string last = "A";
    for (int p = 1; p <= kProducts; ++p) { // Of other extents each.
      const std::string from(1, static_cast<char>('a' + p)), to(1, static_cast<char>('b' + p));
      const std::string name = std::to_string(p);
      text += "input B" + name + "[" + from + ", " + to + "];" +
              (p == kProducts ? "output T" : "T") + name + "[a, " + to + "] = " + last + "[a, " +
              from + "] * B" + name + "[" + from + ", " + to + "];";
      last = "T" + name;
    }
    const Tree tree = treeOf(text);
    PlanOptions options;
    options.ranks = 1024;
    const auto planned = [&] {
      std::string printed;
      llvm::raw_string_ostream stream(printed);
      print(tree, plan(tree, machine, options), stream);
      return printed;
    };
    EXPECT_EQ(onThreads(4, planned), onThreads(1, planned));
  }
}

TEST(Planner, findsTheSameForNodesThatDifferInNamesAlone) {
  const Tree tree = treeOf(
      "dim a = 64, b = 300, c = 40, d = 64, e = 300, f = 40, g = 300, h = 64;"
      "input X[a, b]; input Y[b, c]; input Z[d, e]; input W[e, f]; input V[g, h]; input U[f, g] at "
      "root; T[a, c] = X[a, b] * Y[b, c]; S[d, f] = Z[d, e] * W[e, f]; R[f, h] = U[f, g] * V[g, h];"
      "Q[d, h] = S[d, f] * R[f, h]; output P[a, c, d, h] = T[a, c] * Q[d, h];");
  expectOwnCandidates(tree, 12, false);
}

/// Rings over a tensor that is read for the last time need less memory than those over an input.
TEST(Planner, findsTheBytesOfNodesByWhoReadsTheirOperands) {
  const Tree tree = treeOf(
      "dim a = 64, b = 64, c = 64, d = 64, e = 64; input X[a, b]; input Y[b, c];"
      "input Z[c, d]; input W[d, e]; T[a, c] = X[a, b] * Y[b, c]; S[a, d] = T[a, c] * Z[c, d];"
      "R[a, e] = S[a, d] * W[d, e]; output P[a, d, e] = S[a, d] * R[a, e];");
  expectOwnCandidates(tree, 4, true);
}

TEST(Planner, losesHardlyAnythingByWhatItLeavesOut) {
  RandomTrees random(5);
  int tried = 0, worse = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const Tree tree = random.next(true);
    const Machine machine = randomMachine(random);
    const auto ranks = random.pick<int64_t>({2, 3});
    const Objective objective(tree, machine, ranks);
    Choices choices(static_cast<std::size_t>(tree.size()));
    for (NodeId id = 0; id < tree.size(); ++id) {
      if (tree.node(id).kind == NodeKind::Input)
        continue;
      for (const NodeSchedule &schedule : AllSchedules(tree, id, ranks).run()) {
        Candidate candidate = objective.candidate(id, schedule);
        if (!tree.node(id).isOutput || !has(candidate.home, AxisKind::Partial))
          choices[static_cast<std::size_t>(id)].push_back(std::move(candidate));
      }
    }
    if (combinations(choices) > 30000)
      continue;
    ++tried;
    // Uneven blocks: what ranks get is estimated by the mean.
    worse += expectBest(tree, machine, ranks, choices, 0.05) > 0.005;
  }
  EXPECT_GT(tried, 30);
  EXPECT_LE(worse, tried / 25);
}

TEST(Planner, keepsToTheMemory) {
  const Tree tree = treeOf("dim i = 2048, j = 2048, k = 2048; input A[i, j]; input B[j, k];"
                           "output C[i, k] = A[i, j] * B[j, k];");
  Machine machine;
  machine.betweenNodes = {1e-6, 1e-8}; // Bytes are dear: copies pay.
  constexpr int64_t kRanks = 8;
  const Objective objective(tree, machine, kRanks);
  const double once = 3.0 * 2048 * 2048 * 4 / kRanks; // Every tensor once.
  double before = 0;
  for (const double times : {8.0, 3.0, 2.0, 1.5}) {
    const auto memory = static_cast<int64_t>(times * once);
    const Schedule schedule = plan(tree, machine, {kRanks, {}, memory});
    EXPECT_LE(storedBytes(tree, schedule), static_cast<double>(memory)) << times;
    const double seconds = objective.of(schedule);
    EXPECT_GE(seconds, before * (1 - 1e-9)) << times;
    before = seconds;
  }
}

TEST(Planner, isTheSameEveryTime) {
  RandomTrees random(3);
  for (int trial = 0; trial < 10; ++trial) {
    const Tree tree = random.next(true);
    const Machine machine = randomMachine(random);
    const PlanOptions options{6, {}, {}};
    EXPECT_EQ(plan(tree, machine, options), plan(tree, machine, options));
  }
}

TEST(Planner, everyPlanIsValid) {
  RandomTrees random(4);
  for (int trial = 0; trial < 120; ++trial) {
    const Tree tree = trial % 4 == 3 ? random.nextDag() : random.next(trial % 2 == 0);
    const Machine machine = randomMachine(random);
    const auto ranks = random.pick<int64_t>({1, 2, 5, 7, 12, 30, 64});
    std::optional<int64_t> memory;
    if (trial % 3 == 0)
      memory = random.pick<int64_t>({1, 1000, 100000, 10000000});
    const Schedule schedule = plan(tree, machine, {ranks, {}, memory});
    for (NodeId id = 0; id < tree.size(); ++id) {
      const auto index = static_cast<std::size_t>(id);
      const std::string problem = tree.node(id).kind == NodeKind::Input
                                      ? checkPlacement(tree, id, schedule.inputs[index], ranks)
                                      : checkNodeSchedule(tree, id, schedule.nodes[index], ranks);
      EXPECT_EQ(problem, "") << tree.node(id).name;
      if (schedule.finals[index]) {
        EXPECT_EQ(checkPlacement(tree, id, *schedule.finals[index], ranks), "");
      }
      EXPECT_FALSE(tree.node(id).isOutput && !schedule.finals[index] &&
                   has(homePlacement(tree, schedule, id), AxisKind::Partial))
          << tree.node(id).name;
    }
  }
}

} // namespace
