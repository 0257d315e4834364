//===- EventEngine.cpp - activities that wait for each other and share links ------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "EventEngine.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

namespace einsumc::sim {

namespace {

/// Times and bytes that differ by less are taken for equal.
constexpr double kRounding = 1e-9;

} // namespace

EventEngine::Id EventEngine::addDelay(double seconds) {
  activities.emplace_back().seconds = seconds;
  return static_cast<Id>(activities.size() - 1);
}

EventEngine::Id EventEngine::addFlow(double latency, double bytes, std::vector<LinkShare> shares) {
  Activity &flow = activities.emplace_back();
  flow.seconds = latency;
  flow.bytes = bytes;
  flow.shares = std::move(shares);
  return static_cast<Id>(activities.size() - 1);
}

void EventEngine::after(Id later, Id earlier) {
  activities[earlier].later.push_back(later);
  ++activities[later].missing;
}

void EventEngine::start(Id id, double now) {
  activities[id].begin = now;
  timers.push_back({now + activities[id].seconds, id});
  std::ranges::push_heap(timers, std::ranges::greater());
}

void EventEngine::finish(Id id, double now) {
  activities[id].end = now;
  ++over;
  for (const Id later : activities[id].later)
    if (--activities[later].missing == 0)
      start(later, now);
}

double EventEngine::nextFlowEnd(double now) const {
  double next = std::numeric_limits<double>::infinity();
  for (const Id id : flows)
    next = std::min(next, now + activities[id].bytes / activities[id].rate);
  return next;
}

void EventEngine::moveFlows(double seconds) {
  for (const Id id : flows)
    activities[id].bytes -= activities[id].rate * seconds;
}

void EventEngine::finishFlows(double now) {
  std::vector<Id> ended;
  std::erase_if(flows, [&](Id id) {
    const Activity &flow = activities[id];
    // What is left would move the clock no more.
    const bool isOver = flow.bytes <= flow.rate * kRounding * std::max(now, kRounding);
    if (isOver)
      ended.push_back(id);
    return isOver;
  });
  areRatesOld = areRatesOld || !ended.empty();
  for (const Id id : ended)
    finish(id, now);
}

/// Fixes the rates of flows on links without time left. Whether there were any.
bool EventEngine::freezeFlowsOf(double rate) {
  bool any = false;
  for (const Id id : flows) {
    Activity &flow = activities[id];
    if (flow.rate > 0)
      continue;
    const bool isLimited = std::ranges::any_of(flow.shares, [&](const LinkShare &share) {
      return timeLeft[share.link] <= rate * demand[share.link] * (1 + kRounding);
    });
    if (!isLimited)
      continue;
    flow.rate = rate;
    any = true;
  }
  return any;
}

void EventEngine::shareLinks() {
  areRatesOld = false;
  timeLeft.resize(linkCount, 1);
  demand.resize(linkCount, 0);
  for (const Id id : flows)
    activities[id].rate = 0;
  for (std::size_t left = flows.size(); left > 0;) {
    // What flows with a rate take, and the others for each byte a second.
    usedLinks.clear();
    for (const Id id : flows)
      for (const LinkShare &share : activities[id].shares) {
        timeLeft[share.link] = 1;
        demand[share.link] = 0;
        usedLinks.push_back(share.link);
      }
    for (const Id id : flows)
      for (const LinkShare &share : activities[id].shares)
        if (activities[id].rate > 0)
          timeLeft[share.link] -= activities[id].rate * share.secondsPerByte;
        else
          demand[share.link] += share.secondsPerByte;
    double rate = std::numeric_limits<double>::infinity();
    for (const std::size_t link : usedLinks)
      if (demand[link] > 0)
        rate = std::min(rate, std::max(timeLeft[link], kRounding) / demand[link]);
    if (!freezeFlowsOf(rate))
      throw std::logic_error("a flow that no link limits");
    left = static_cast<std::size_t>(
        std::ranges::count_if(flows, [&](Id id) { return !(activities[id].rate > 0); }));
  }
}

void EventEngine::run() {
  for (Id id = 0; id < activities.size(); ++id)
    if (activities[id].missing == 0)
      start(id, 0);
  double now = 0;
  while (!timers.empty() || !flows.empty()) {
    if (areRatesOld)
      shareLinks();
    const double timer =
        timers.empty() ? std::numeric_limits<double>::infinity() : timers.front().when;
    const double next = std::min(timer, nextFlowEnd(now));
    moveFlows(next - now);
    now = next;
    finishFlows(now);
    while (!timers.empty() && timers.front().when <= now) {
      const Id id = timers.front().id;
      std::ranges::pop_heap(timers, std::ranges::greater());
      timers.pop_back();
      if (activities[id].bytes > 0) {
        flows.push_back(id);
        areRatesOld = true;
      } else {
        finish(id, now);
      }
    }
  }
  if (over != activities.size())
    throw std::logic_error("activities wait for each other");
}

double EventEngine::coverage(std::vector<Id> ids) const {
  std::ranges::sort(ids, {}, [&](Id id) { return begin(id); });
  double seconds = 0, covered = 0;
  for (const Id id : ids) {
    seconds += std::max(0.0, end(id) - std::max(covered, begin(id)));
    covered = std::max(covered, end(id));
  }
  return seconds;
}

} // namespace einsumc::sim
