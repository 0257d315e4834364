//===- ClockOffsetTest.cpp - how far the ranks' clocks are apart ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/ClockOffset.h"

#include "einsumc/Trace.h"

#include <gtest/gtest.h>

namespace {

using namespace einsumc;

/// More than a message takes, however busy the machine.
constexpr int64_t kSecond = 1'000'000'000;

TEST(ClockOffset, OfOneClockIsZero) {
  const Communicator world(MPI_COMM_WORLD);
  EXPECT_EQ(clockOffset(world, Trace::now), 0);
}

TEST(ClockOffset, IsFoundUpToTheTimeOfAMessage) {
  const Communicator world(MPI_COMM_WORLD);
  for (const int64_t apart : {100 * kSecond, -1000 * kSecond}) {
    const int64_t ahead = apart * world.rank();
    const int64_t offset = clockOffset(world, [&] { return Trace::now() + ahead; });
    EXPECT_NEAR(static_cast<double>(offset - ahead), 0, static_cast<double>(kSecond));
    EXPECT_TRUE(offset == 0 || world.rank() > 0);
  }
}

} // namespace
