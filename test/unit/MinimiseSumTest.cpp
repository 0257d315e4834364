//===- MinimiseSumTest.cpp - choices that are cheapest together -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/MinimiseSum.h"

#include <gmock/gmock.h>

#include <limits>
#include <random>

namespace einsumc {
namespace {

using testing::ElementsAre;
using Choices = std::vector<std::size_t>;

double sum(const Choices &extents, const std::vector<CostTable> &tables, const Choices &chosen) {
  double result = 0;
  for (const CostTable &table : tables) {
    std::size_t place = 0;
    for (std::size_t v : table.variables)
      place = place * extents[v] + chosen[v];
    result += table.values[place];
  }
  return result;
}

double leastSum(const Choices &extents, const std::vector<CostTable> &tables) {
  Choices chosen(extents.size());
  double least = std::numeric_limits<double>::infinity();
  while (true) {
    least = std::min(least, sum(extents, tables, chosen));
    std::size_t v = 0;
    while (v < chosen.size() && ++chosen[v] == extents[v])
      chosen[v++] = 0;
    if (v == chosen.size())
      return least;
  }
}

struct Problem {
  Choices extents;
  std::vector<CostTable> tables;
};

/// Small whole numbers as costs, so that ties are common.
Problem randomProblem(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](std::size_t n) { return random() % n; };
  Problem problem;
  for (std::size_t v = 0, count = 1 + below(6); v < count; ++v)
    problem.extents.push_back(1 + below(4));
  for (std::size_t t = 0, count = 1 + below(8); t < count; ++t) {
    CostTable table;
    std::size_t size = 1;
    for (std::size_t v = 0; v < problem.extents.size() && table.variables.size() < 3; ++v)
      if (below(2) == 0) {
        table.variables.push_back(v);
        size *= problem.extents[v];
      }
    std::shuffle(table.variables.begin(), table.variables.end(), random);
    while (table.values.size() < size)
      table.values.push_back(static_cast<double>(below(6)));
    problem.tables.push_back(std::move(table));
  }
  return problem;
}

TEST(MinimiseSum, IsTheLeastOfAllCombinations) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const Problem problem = randomProblem(seed);
    const Choices chosen = minimiseSum(problem.extents, problem.tables);
    EXPECT_EQ(sum(problem.extents, problem.tables, chosen),
              leastSum(problem.extents, problem.tables))
        << "seed " << seed;
  }
}

TEST(MinimiseSum, IsNeverMoreThanOfChoicesZeroWithSmallTables) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const Problem problem = randomProblem(seed);
    for (const std::size_t largest : {1, 4, 8}) {
      const Choices chosen =
          minimiseSum(problem.extents, problem.tables, {.largestTable = largest, .mostWork = 0});
      EXPECT_LE(sum(problem.extents, problem.tables, chosen),
                sum(problem.extents, problem.tables, Choices(problem.extents.size())))
          << "seed " << seed << ", tables up to " << largest;
    }
  }
}

TEST(MinimiseSum, HeldVariablesAreImproved) {
  // No table may have more than one entry, so all variables are held at 0 at first.
  EXPECT_THAT(minimiseSum({2, 2}, {{{0}, {5, 1}}, {{1}, {1, 5}}, {{0, 1}, {0, 9, 2, 0}}},
                          {.largestTable = 1, .mostWork = 0}),
              ElementsAre(1, 0));
}

TEST(MinimiseSum, AllChoicesOfHeldVariablesAreTried) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const Problem problem = randomProblem(seed);
    for (const std::size_t largest : {1, 4, 8}) {
      const Choices chosen =
          minimiseSum(problem.extents, problem.tables, {.largestTable = largest});
      EXPECT_EQ(sum(problem.extents, problem.tables, chosen),
                leastSum(problem.extents, problem.tables))
          << "seed " << seed << ", tables up to " << largest;
    }
  }
}

TEST(MinimiseSum, TiesGoToZero) {
  EXPECT_THAT(minimiseSum({3, 3}, {{{0, 1}, std::vector<double>(9, 1.0)}}), ElementsAre(0, 0));
  EXPECT_THAT(minimiseSum({2, 2}, {{{0, 1}, {1, 2, 2, 1}}}), ElementsAre(0, 0));
}

TEST(MinimiseSum, VariablesWithoutTablesStayZero) {
  EXPECT_THAT(minimiseSum({3, 2}, {{{1}, {2, 1}}}), ElementsAre(0, 1));
  EXPECT_THAT(minimiseSum({}, {}), ElementsAre());
}

} // namespace
} // namespace einsumc
