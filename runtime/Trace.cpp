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
  for (Lane &lane : lanes)
    lane.events.reserve(eventsPerThread);
  // Every thread touches its memory here, so that it is near to it and no page is missing later.
#pragma omp parallel num_threads(threads)
  {
    Lane &lane = lanes[static_cast<std::size_t>(omp_get_thread_num())];
    lane.events.resize(lane.events.capacity());
    lane.events.clear();
  }
}

int64_t Trace::now() noexcept {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

void Trace::beginNode(int index) noexcept {
  node = index;
  nodeBegin = now();
}

void Trace::endNode() noexcept {
  if (nodeEvents.size() < nodeCount)
    nodeEvents.push_back({nodeBegin, now(), node, Activity::Node});
  node = -1;
}

/// What is left for blocks is shared by the nodes that are left.
void Trace::shareRoom(Lane &lane) const noexcept {
  const std::size_t forBlocks = eventsPerThread - eventsPerThread / 4;
  const std::size_t used = lane.events.size();
  const std::size_t room = used < forBlocks ? forBlocks - used : 0;
  const std::size_t nodesLeft = node < 0 ? 1 : nodeCount - static_cast<std::size_t>(node);
  lane.blockLimit = used + room / std::max<std::size_t>(nodesLeft, 1);
  lane.node = node;
}

void Trace::add(Activity activity, int64_t begin) noexcept {
  const int64_t end = now();
  Lane &lane = lanes[static_cast<std::size_t>(omp_get_thread_num())];
  if (lane.node != node)
    shareRoom(lane);
  const bool isBlock = activity == Activity::Pack || activity == Activity::Kernel;
  if (lane.events.size() >= (isBlock ? lane.blockLimit : eventsPerThread)) {
    ++lane.dropped;
    return;
  }
  lane.events.push_back({begin, end, node, activity});
}

int64_t Trace::dropped() const {
  return std::accumulate(lanes.begin(), lanes.end(), int64_t{0},
                         [](int64_t sum, const Lane &lane) { return sum + lane.dropped; });
}

} // namespace einsumc
