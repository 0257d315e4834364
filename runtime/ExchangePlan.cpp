//===- ExchangePlan.cpp - how a rank carries out a redistribution -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/ExchangePlan.h"

#include <algorithm>
#include <utility>

namespace einsumc {

namespace {

/// The indices of the transfers, those of one box next to each other and by sender.
std::vector<std::size_t> groupedByBox(const std::vector<Transfer> &transfers) {
  // Incoming boxes are the same or disjoint: where they begin tells them apart.
  std::vector<std::pair<std::vector<int64_t>, std::size_t>> begins(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    begins[i].second = i;
    for (const Interval &interval : transfers[i].box)
      begins[i].first.push_back(interval.begin);
  }
  std::ranges::sort(begins);

  std::vector<std::size_t> order(transfers.size());
  std::ranges::transform(begins, order.begin(), [](const auto &begin) { return begin.second; });
  return order;
}

void planReceives(const Box &block, int64_t rank, ExchangePlan &plan) {
  plan.receives.resize(plan.incoming.size());
  const std::vector<std::size_t> order = groupedByBox(plan.incoming);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (plan.incoming[order[i]].box != plan.incoming[order[i - 1]].box)
      continue;
    plan.receives[order[i]].isFirst = false;
    plan.receives[order[i - 1]].next = static_cast<int>(order[i]);
  }

  for (std::size_t i = 0; i < plan.incoming.size(); ++i) {
    ExchangePlan::Step &step = plan.receives[i];
    if (plan.incoming[i].from == rank)
      continue;
    step.inPlace = step.isFirst && isContiguous(plan.incoming[i].box, block);
    step.offset = plan.stagedElements;
    if (!step.inPlace)
      plan.stagedElements += static_cast<std::size_t>(volume(plan.incoming[i].box));
  }
}

void planSends(const Box &block, ExchangePlan &plan) {
  for (const Transfer &transfer : plan.outgoing) {
    const bool inPlace = isContiguous(transfer.box, block);
    plan.sends.push_back({.inPlace = inPlace, .offset = plan.stagedElements});
    if (!inPlace)
      plan.stagedElements += static_cast<std::size_t>(volume(transfer.box));
  }
}

} // namespace

ExchangePlan planExchange(const Layout &source, const Layout &target, int64_t rank) {
  ExchangePlan plan;
  plan.incoming = incomingTransfers(source, target, rank);
  plan.outgoing = outgoingTransfers(source, target, rank);
  std::erase_if(plan.outgoing, [&](const Transfer &t) { return t.to == rank; });
  // Every rank starts with another receiver, so that they do not all fall upon the first one.
  std::ranges::rotate(plan.outgoing,
                      std::ranges::upper_bound(plan.outgoing, rank, {}, &Transfer::to));
  planReceives(target.box(rank), rank, plan);
  planSends(source.box(rank), plan);
  return plan;
}

} // namespace einsumc
