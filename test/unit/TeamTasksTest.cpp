//===- TeamTasksTest.cpp - tasks that the threads of a team share -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/TeamTasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using namespace einsumc;

using Tasks = std::vector<int64_t>;

/// What a thread gets until nothing is left.
Tasks takeAll(TaskShares &shares, int thread) {
  Tasks taken;
  for (int64_t task = shares.take(thread); task >= 0; task = shares.take(thread))
    taken.push_back(task);
  return taken;
}

TEST(TaskShares, AThreadTakesItsOwnThenTheLastOfTheLongestRow) {
  TaskShares shares(3);
  shares.deal(10); // 0 to 2, 3 to 5, 6 to 9
  EXPECT_EQ(shares.take(1), 3);
  EXPECT_EQ(shares.take(2), 6);
  EXPECT_EQ(shares.take(2), 7);
  // Left: 0 1 2, 4 5, 8 9.
  EXPECT_EQ(takeAll(shares, 1), (Tasks{4, 5, 2, 1, 9, 0, 8}));
  for (const int thread : {0, 1, 2})
    EXPECT_EQ(shares.take(thread), -1);
}

TEST(TaskShares, AreDealtAnew) {
  TaskShares shares(2);
  EXPECT_EQ(shares.take(0), -1);
  for (const int64_t tasks : {5, 0, 1, 2}) {
    shares.deal(tasks);
    Tasks taken = takeAll(shares, 1);
    std::sort(taken.begin(), taken.end());
    Tasks all(static_cast<std::size_t>(tasks));
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(taken, all);
  }
}

TEST(TaskShares, FewAreSpreadOverTheTeam) {
  TaskShares shares(4);
  shares.deal(2);
  EXPECT_EQ(shares.take(1), 0);
  EXPECT_EQ(shares.take(3), 1);
}

TEST(TaskShares, HaveTasksForThreadsWithoutARow) {
  TaskShares shares(1);
  shares.deal(3);
  EXPECT_EQ(takeAll(shares, 7), (Tasks{2, 1, 0}));
}

TEST(TaskShares, HoldAsManyTasksAsTheySay) {
  constexpr int64_t kMost = (int64_t{1} << 32) - 1;
  TaskShares shares(2);
  shares.deal(kMost);
  EXPECT_EQ(shares.take(0), 0);
  EXPECT_EQ(shares.take(1), kMost / 2);
  EXPECT_EQ(shares.take(2), kMost - 1);
  EXPECT_THROW(shares.deal(kMost + 1), std::length_error);
}

TEST(TaskShares, GiveEachTaskToOneThread) {
  constexpr int kThreads = 5;
  constexpr std::size_t kTasks = 200'000;
  TaskShares shares(kThreads - 1); // One has no row.
  for (int round = 0; round < 5; ++round) {
    shares.deal(kTasks);
    std::array<Tasks, kThreads> taken;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&shares, &mine = taken[static_cast<std::size_t>(thread)], thread] {
        mine = takeAll(shares, thread);
      });
    for (std::thread &thread : threads)
      thread.join();
    std::vector<int> times(kTasks, 0);
    for (const Tasks &mine : taken)
      for (const int64_t task : mine)
        ++times.at(static_cast<std::size_t>(task));
    EXPECT_EQ(std::count(times.begin(), times.end(), 1), kTasks);
  }
}

TEST(TeamTasks, AreTheStepsOfAllLoops) {
  TaskShares shares(1);
  const TeamTasks<3> tasks(shares, {{{5, 2}, {3, 1}, {4, 4}}});
  std::vector<std::array<int64_t, 3>> expected;
  for (int64_t x = 0; x < 5; x += 2)
    for (int64_t y = 0; y < 3; ++y)
      for (int64_t z = 0; z < 4; z += 4)
        expected.push_back({x, y, z});
  std::vector<std::array<int64_t, 3>> found;
  while (const auto task = tasks.take(0))
    found.push_back(*task);
  EXPECT_EQ(found, expected);
}

TEST(TeamTasks, AreNoneWhereALoopHasNoSteps) {
  TaskShares shares(2);
  const TeamTasks<2> tasks(shares, {{{5, 2}, {0, 3}}});
  EXPECT_EQ(tasks.take(0), std::nullopt);
}

} // namespace
