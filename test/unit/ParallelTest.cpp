//===- ParallelTest.cpp - all things are done, by however many threads ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/support/Parallel.h"
#include "compiler/support/Memo.h"

#include <gtest/gtest.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

namespace {

using namespace einsumc;

/// How often forAll calls for each of so many.
std::vector<int> calls(std::size_t count) {
  std::vector<std::atomic<int>> times(count);
  forAll(count, [&](std::size_t i) { ++times[i]; });
  return {times.begin(), times.end()};
}

TEST(Parallel, CallsOnceForEach) {
  for (const std::size_t threads : {1, 2, 5, 40}) {
    setThreads(threads);
    for (const std::size_t count : {0, 1, 2, 3, 1000})
      EXPECT_EQ(calls(count), std::vector<int>(count, 1)) << threads;
  }
  setThreads(std::nullopt);
  EXPECT_EQ(calls(100), std::vector<int>(100, 1));
}

TEST(Parallel, ThreadsWorkAtATime) {
  setThreads(3);
  std::latch all(3); // Which one thread alone would wait for without end.
  forAll(3, [&](std::size_t) { all.arrive_and_wait(); });
  setThreads(std::nullopt);
}

TEST(Parallel, DoesWithoutThreadsThatCannotStart) {
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 47), 0); // No process has so much.
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  setThreads(4);
  EXPECT_EQ(calls(100), std::vector<int>(100, 1));
  setThreads(std::nullopt);
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
}

TEST(Memo, ThreadsGetWhatIsComputed) {
  Memo<int, int, std::hash<int>> squares;
  constexpr int kKeys = 100;
  std::vector<std::atomic<int>> computed(kKeys);
  std::vector<const int *> found(8 * kKeys);
  setThreads(4);
  forAll(found.size(), [&](std::size_t i) {
    const int key = static_cast<int>(i) % kKeys;
    found[i] = &squares.of(key, [&] {
      ++computed[static_cast<std::size_t>(key)];
      return key * key;
    });
  });
  setThreads(std::nullopt);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t key = i % kKeys;
    EXPECT_EQ(*found[i], static_cast<int>(key * key));
    EXPECT_EQ(found[i], found[key]) << "it stays where it is";
    EXPECT_GE(computed[key], 1);
    EXPECT_LE(computed[key], 4) << "at most once a thread";
  }
}

} // namespace
