//===- TraceTest.cpp - what every thread does when --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Trace.h"

#include <gtest/gtest.h>

#include <omp.h>

#include <algorithm>
#include <thread>

namespace {

using namespace einsumc;

void addSpans(Trace &trace, Activity activity, int count) {
  for (int i = 0; i < count; ++i)
    const TraceSpan span(&trace, activity);
}

/// How many events of a thread belong to a node.
int64_t eventsOf(const Trace &trace, int thread, int node) {
  int64_t count = 0;
  for (const TraceEvent &event : trace.events(thread))
    count += event.node == node;
  return count;
}

TEST(Trace, EveryThreadHasItsOwnEvents) {
  constexpr int kThreads = 3;
  Trace trace(1, kThreads);
  trace.beginNode(0);
#pragma omp parallel num_threads(kThreads)
  addSpans(trace, Activity::Kernel, 100 + omp_get_thread_num());
  trace.endNode();
  ASSERT_EQ(trace.threads(), kThreads);
  for (int thread = 0; thread < kThreads; ++thread)
    EXPECT_EQ(trace.events(thread).size(), 100U + static_cast<unsigned>(thread));
  EXPECT_EQ(trace.dropped(), 0);
}

TEST(Trace, SpansNestAndNodesSurroundThem) {
  Trace trace(2, 1);
  for (const int node : {0, 1}) {
    trace.beginNode(node);
    {
      const TraceSpan exchange(&trace, Activity::Exchange);
      const TraceSpan wait(&trace, Activity::Wait);
    }
    trace.endNode();
  }
  ASSERT_EQ(trace.nodes().size(), 2U);
  ASSERT_EQ(trace.events(0).size(), 4U);
  for (const std::size_t node : {0U, 1U}) {
    const TraceEvent &whole = trace.nodes()[node];
    const TraceEvent &wait = trace.events(0)[2 * node];
    const TraceEvent &exchange = trace.events(0)[2 * node + 1];
    EXPECT_EQ(wait.activity, Activity::Wait);
    EXPECT_EQ(exchange.activity, Activity::Exchange);
    EXPECT_EQ(whole.activity, Activity::Node);
    for (const TraceEvent *event : {&wait, &exchange, &whole})
      EXPECT_EQ(event->node, static_cast<int32_t>(node));
    EXPECT_LE(whole.begin, exchange.begin);
    EXPECT_LE(exchange.begin, wait.begin);
    EXPECT_LE(wait.begin, wait.end);
    EXPECT_LE(wait.end, exchange.end);
    EXPECT_LE(exchange.end, whole.end);
  }
}

TEST(Trace, OutsideOfNodesEventsHaveNone) {
  Trace trace(1, 1);
  addSpans(trace, Activity::Exchange, 1);
  trace.beginNode(0);
  trace.endNode();
  addSpans(trace, Activity::Exchange, 1);
  ASSERT_EQ(trace.events(0).size(), 2U);
  EXPECT_EQ(eventsOf(trace, 0, -1), 2);
}

TEST(Trace, EveryNodeHasItsShareOfTheRoom) {
  Trace trace(3, 1, 16); // 12 of blocks
  for (const int node : {0, 1, 2}) {
    trace.beginNode(node);
    addSpans(trace, node == 1 ? Activity::Pack : Activity::Kernel, 10);
    trace.endNode();
    EXPECT_EQ(eventsOf(trace, 0, node), 4);
  }
  EXPECT_EQ(trace.dropped(), 3 * 6);
  EXPECT_EQ(trace.nodes().size(), 3U);
}

TEST(Trace, WhatANodeLeavesTheOthersShare) {
  Trace trace(3, 1, 16);
  for (const int node : {0, 1, 2}) {
    trace.beginNode(node);
    addSpans(trace, Activity::Kernel, node == 0 ? 2 : 10);
    trace.endNode();
    EXPECT_EQ(eventsOf(trace, 0, node), node == 0 ? 2 : 5);
  }
  EXPECT_EQ(trace.dropped(), 5 + 5);
}

TEST(Trace, BlocksLeaveRoomForMessages) {
  Trace trace(1, 1, 16);
  trace.beginNode(0);
  addSpans(trace, Activity::Kernel, 100);
  addSpans(trace, Activity::Wait, 10);
  trace.endNode();
  EXPECT_EQ(trace.events(0).size(), 16U);
  EXPECT_EQ(trace.events(0).back().activity, Activity::Wait);
  EXPECT_EQ(trace.dropped(), 88 + 6);
}

TEST(Trace, AnotherThreadAddsTransfersMeanwhile) {
  Trace trace(2, 1);
  const int64_t begin = Trace::now();
  trace.beginNode(1);
  std::thread communication([&] {
    for (int32_t peer = 0; peer < 1000; ++peer)
      trace.addTransfer(peer % 2 == 0 ? Activity::Send : Activity::Receive, begin, peer,
                        int64_t{8} * peer);
  });
  addSpans(trace, Activity::Step, 1000);
  communication.join();
  trace.endNode();
  EXPECT_EQ(trace.events(0).size(), 1000U);
  ASSERT_EQ(trace.transfers().size(), 1000U);
  for (std::size_t i = 0; i < 1000; ++i) {
    const TransferEvent &transfer = trace.transfers()[i];
    EXPECT_EQ(transfer.peer, static_cast<int32_t>(i));
    EXPECT_EQ(transfer.bytes, static_cast<int64_t>(8 * i));
    EXPECT_EQ(transfer.node, 1);
    EXPECT_EQ(transfer.activity, i % 2 == 0 ? Activity::Send : Activity::Receive);
    EXPECT_EQ(transfer.begin, begin);
    EXPECT_LE(transfer.begin, transfer.end);
  }
}

TEST(Trace, EveryNodeHasItsShareOfTheTransfers) {
  Trace trace(3, 1, 12);
  for (const int node : {0, 1, 2}) {
    trace.beginNode(node);
    for (int i = 0; i < (node == 0 ? 2 : 10); ++i)
      trace.addTransfer(Activity::Send, Trace::now(), 0, 1);
    trace.endNode();
    EXPECT_EQ(std::ranges::count(trace.transfers(), node, &TransferEvent::node), node == 0 ? 2 : 5);
  }
  EXPECT_EQ(trace.dropped(), 5 + 5);
}

TEST(Trace, OutsideOfNodesTransfersHaveNone) {
  Trace trace(1, 1);
  trace.addTransfer(Activity::Receive, Trace::now(), 3, 1);
  ASSERT_EQ(trace.transfers().size(), 1U);
  EXPECT_EQ(trace.transfers()[0].node, -1);
}

TEST(Trace, WithoutOneSpansDoNothing) { const TraceSpan span(nullptr, Activity::Kernel); }

} // namespace
