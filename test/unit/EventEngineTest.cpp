//===- EventEngineTest.cpp - activities that wait for each other and share links --------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "tools/sim/EventEngine.h"

#include <gtest/gtest.h>

#include <stdexcept>

using namespace einsumc::sim;

namespace {

TEST(EventEngine, delaysComeAfterAllBeforeThem) {
  EventEngine engine(0);
  const auto a = engine.addDelay(2), b = engine.addDelay(3), c = engine.addDelay(1),
             join = engine.addDelay(0);
  engine.after(c, a);
  engine.after(join, b);
  engine.after(join, c);
  engine.run();
  EXPECT_DOUBLE_EQ(engine.begin(c), 2);
  EXPECT_DOUBLE_EQ(engine.end(join), 3);
}

TEST(EventEngine, aFlowTakesItsLatencyAndItsBytes) {
  EventEngine engine(2);
  const auto flow = engine.addFlow(0.5, 10, {{0, 0.1}, {1, 0.2}});
  const auto empty = engine.addFlow(0.5, 0, {});
  engine.run();
  EXPECT_DOUBLE_EQ(engine.end(flow), 2.5);
  EXPECT_DOUBLE_EQ(engine.end(empty), 0.5);
}

TEST(EventEngine, flowsOnALinkShareIt) {
  EventEngine engine(1);
  const auto less = engine.addFlow(0, 10, {{0, 1}}), more = engine.addFlow(0, 20, {{0, 1}}),
             late = engine.addFlow(25, 10, {{0, 1}});
  engine.run();
  EXPECT_NEAR(engine.end(less), 20, 1e-6);
  EXPECT_NEAR(engine.end(more), 35, 1e-6); // 5 bytes are left when the third begins
  EXPECT_NEAR(engine.end(late), 40, 1e-6);
}

TEST(EventEngine, whatALinkLeavesGoesToTheOthers) {
  EventEngine engine(2); // one of a byte a second, one of two
  const auto onFirst = engine.addFlow(0, 1, {{0, 1}}),
             onBoth = engine.addFlow(0, 1, {{0, 1}, {1, 0.5}}),
             onSecond = engine.addFlow(0, 3, {{1, 0.5}});
  engine.run();
  EXPECT_NEAR(engine.end(onFirst), 2, 1e-6);
  EXPECT_NEAR(engine.end(onBoth), 2, 1e-6);
  EXPECT_NEAR(engine.end(onSecond), 2, 1e-6);
}

TEST(EventEngine, whatWaitsForItselfIsAMistake) {
  EventEngine engine(0);
  const auto a = engine.addDelay(1), b = engine.addDelay(1);
  engine.after(a, b);
  engine.after(b, a);
  EXPECT_THROW(engine.run(), std::logic_error);
}

} // namespace
