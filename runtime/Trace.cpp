//===- Trace.cpp - what every thread does when ------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Trace.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <numeric>

namespace einsumc {

Trace::Trace(std::size_t nodes, int threads, std::size_t eventsPerThread)
    : nodeCount(nodes), eventsPerThread(eventsPerThread), lanes(static_cast<std::size_t>(threads)) {
  nodeEvents.reserve(nodes);
  for (Lane<TraceEvent> &lane : lanes)
    lane.events.reserve(eventsPerThread);
  transferLane.events.resize(eventsPerThread); // Touches the memory: no page is missing later.
  transferLane.events.clear();
  // Every thread touches its memory here, so that it is near to it and no page is missing later.
#pragma omp parallel num_threads(threads)
  {
    Lane<TraceEvent> &lane = lanes[static_cast<std::size_t>(omp_get_thread_num())];
    lane.events.resize(lane.events.capacity());
    lane.events.clear();
  }
}

int64_t Trace::now() noexcept {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

void Trace::beginNode(int index) noexcept {
  node.store(index, std::memory_order_relaxed);
  nodeBegin = now();
}

void Trace::endNode() noexcept {
  if (nodeEvents.size() < nodeCount)
    nodeEvents.push_back({nodeBegin, now(), node.load(std::memory_order_relaxed), Activity::Node});
  node.store(-1, std::memory_order_relaxed);
}

/// What is left of \p room is shared by the nodes that are left.
template <class Event>
void Trace::shareRoom(Lane<Event> &lane, int32_t current, std::size_t room) const noexcept {
  const std::size_t used = lane.events.size();
  const std::size_t left = used < room ? room - used : 0;
  const std::size_t nodesLeft = current < 0 ? 1 : nodeCount - static_cast<std::size_t>(current);
  lane.limit = used + left / std::max<std::size_t>(nodesLeft, 1);
  lane.node = current;
}

void Trace::add(Activity activity, int64_t begin) noexcept {
  const int64_t end = now();
  const int32_t current = node.load(std::memory_order_relaxed);
  Lane<TraceEvent> &lane = lanes[static_cast<std::size_t>(omp_get_thread_num())];
  if (lane.node != current)
    shareRoom(lane, current, eventsPerThread - eventsPerThread / 4);
  const bool isBlock = activity == Activity::Pack || activity == Activity::Kernel;
  if (lane.events.size() >= (isBlock ? lane.limit : eventsPerThread)) {
    ++lane.dropped;
    return;
  }
  lane.events.push_back({begin, end, current, activity});
}

void Trace::addTransfer(Activity activity, int64_t begin, int32_t peer, int64_t bytes) noexcept {
  const int64_t end = now();
  const int32_t current = node.load(std::memory_order_relaxed);
  if (transferLane.node != current)
    shareRoom(transferLane, current, eventsPerThread);
  if (transferLane.events.size() >= transferLane.limit) {
    ++transferLane.dropped;
    return;
  }
  transferLane.events.push_back({begin, end, bytes, current, peer, activity});
}

int64_t Trace::dropped() const {
  return std::accumulate(
      lanes.begin(), lanes.end(), transferLane.dropped,
      [](int64_t sum, const Lane<TraceEvent> &lane) { return sum + lane.dropped; });
}

} // namespace einsumc
