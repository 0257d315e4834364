//===- TeamBindingTest.cpp - a core for each thread -------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/TeamBinding.h"

#include "../../runtime/CommunicationThread.h"
#include "../../runtime/CoreSet.h"

#include <omp.h>

#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

namespace {

using namespace einsumc;

using Numbers = std::vector<int>;

RankCores ranked(const Numbers &cores, int threads) {
  RankCores result{.threads = threads};
  for (const int core : cores)
    CPU_SET(static_cast<std::size_t>(core), &result.cores);
  return result;
}

/// Of each rank.
std::vector<Numbers> coresOf(const std::vector<RankCores> &ranks) {
  std::vector<Numbers> cores;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    cores.push_back(coresOfThreads({ranks, rank}));
  return cores;
}

TEST(CoresOfThreads, AreThoseOfARankWithAsManyThreads) {
  const Numbers cores = {1, 3, 8};
  EXPECT_EQ(coresOf({ranked(cores, 3)}), std::vector<Numbers>{cores});
  for (const int threads : {0, 1, 2, 4})
    EXPECT_EQ(coresOf({ranked(cores, threads)}), std::vector<Numbers>{{}}) << threads;
}

TEST(CoresOfThreads, AreSharedByRanksWithTheSameOnes) {
  const Numbers cores = {0, 1, 4, 5, 6};
  EXPECT_EQ(coresOf({ranked(cores, 2), ranked(cores, 1), ranked(cores, 2)}),
            (std::vector<Numbers>{{0, 1}, {4}, {5, 6}}));
  EXPECT_EQ(coresOf({ranked(cores, 2), ranked(cores, 2)}), (std::vector<Numbers>{{}, {}}));
  EXPECT_EQ(coresOf({ranked(cores, 3), ranked(cores, 3)}), (std::vector<Numbers>{{}, {}}));
  // Nobody knows where a team is that others place.
  EXPECT_EQ(coresOf({ranked(cores, 5), ranked(cores, 0)}), (std::vector<Numbers>{{}, {}}));
}

TEST(CoresOfThreads, AreNoneOfThoseThatOtherRanksShareInPart) {
  for (const int threads : {1, 2})
    EXPECT_EQ(coresOf({ranked({0, 1}, threads), ranked({1, 2}, 1)}),
              (std::vector<Numbers>{{}, {}}));
  EXPECT_EQ(coresOf({ranked({0, 1}, 2), ranked({2, 3}, 1), ranked({4}, 1)}),
            (std::vector<Numbers>{{0, 1}, {}, {4}}));
}

TEST(CoresOfThreads, AreNoneWhereTheSystemDoesNotSay) {
  EXPECT_EQ(coresOf({ranked({}, 1), ranked({}, 1)}), (std::vector<Numbers>{{}, {}}));
}

cpu_set_t coresOfThisThread() {
  cpu_set_t cores;
  EXPECT_EQ(sched_getaffinity(0, sizeof(cores), &cores), 0);
  return cores;
}

TEST(TeamBinding, GivesEachThreadItsCoreAndOthersAll) {
  const Numbers cores = coreNumbers(coresOfThisThread());
  const Numbers reversed(cores.rbegin(), cores.rend());
  std::vector<Numbers> found(cores.size());
  const auto find = [&] {
#pragma omp parallel num_threads(static_cast<int>(found.size()))
    found[static_cast<std::size_t>(omp_get_thread_num())] = coreNumbers(coresOfThisThread());
  };
  {
    const TeamBinding none(Numbers{});
    EXPECT_EQ(coreNumbers(coresOfThisThread()), cores);
  }
  {
    const TeamBinding binding(reversed);
    find();
    for (std::size_t thread = 0; thread < found.size(); ++thread)
      EXPECT_EQ(found[thread], Numbers{reversed[thread]});
    Numbers before, after;
    std::thread([&] {
      before = coreNumbers(coresOfThisThread());
      TeamBinding::leave();
      after = coreNumbers(coresOfThisThread());
    }).join();
    EXPECT_EQ(before, Numbers{reversed.front()});
    EXPECT_EQ(after, cores);
  }
  find();
  for (const Numbers &ofThread : found)
    EXPECT_EQ(ofThread, cores);
}

/// Says where it works.
class PlaceJob final : public CommunicationJob {
public:
  State advance() noexcept override {
    found.set_value(coreNumbers(coresOfThisThread()));
    return State::Done;
  }
  std::promise<Numbers> found;
};

TEST(TeamBinding, LeavesTheCommunicationThreadAllCores) {
  const Numbers cores = coreNumbers(coresOfThisThread());
  const TeamBinding binding(cores);
  PlaceJob job;
  CommunicationThread thread;
  thread.start(job);
  EXPECT_EQ(job.found.get_future().get(), cores);
}

} // namespace
