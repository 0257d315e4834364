//===- RankTimes.cpp - when the ranks are done with what they do one after the other ----------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/RankTimes.h"

#include <algorithm>
#include <iterator>

namespace einsumc {

RankRange rangeOf(const Grid &grid) { return {grid.firstRank, grid.size()}; }

RankRange hull(const RankRange &a, const RankRange &b) {
  const int64_t first = std::min(a.first, b.first);
  return {first, std::max(a.end(), b.end()) - first};
}

/// The entry that begins at a rank; it is made if there is none.
RankTimes::Entry RankTimes::begin(int64_t rank) {
  const Entry next = until.lower_bound(rank);
  return next->first == rank ? next : until.emplace_hint(next, rank, std::prev(next)->second);
}

double RankTimes::mostOf(const RankRange &ranks) {
  const Entry from = begin(ranks.first), end = begin(ranks.end());
  double most = 0;
  for (Entry entry = from; entry != end; ++entry)
    most = std::max(most, entry->second);
  return most;
}

void RankTimes::set(const RankRange &ranks, double seconds) {
  const Entry from = begin(ranks.first), end = begin(ranks.end());
  from->second = seconds;
  until.erase(std::next(from), end);
}

void RankTimes::add(const RankRange &ranks, double seconds) {
  if (seconds == 0)
    return;
  const Entry from = begin(ranks.first), end = begin(ranks.end());
  for (Entry entry = from; entry != end; ++entry)
    entry->second += seconds;
}

void RankTimes::lower(double by) {
  for (auto &[rank, seconds] : until)
    seconds = std::max(seconds - by, 0.0);
}

void RankTimes::run(const RankRange &ranks, double seconds) { set(ranks, mostOf(ranks) + seconds); }

void RankTimes::run(const RankRange &ranks, const RankRange &others, double seconds) {
  const double end = std::max(mostOf(ranks), mostOf(others)) + seconds;
  set(ranks, end);
  set(others, end);
}

void RankTimes::run(const NodeSeconds &node) {
  for (const NodeSeconds::Move &supply : node.supplies)
    if (supply.seconds > 0)
      run(node.ranks, supply.other, supply.seconds);
  run(node.ranks, node.seconds);
  if (node.final && node.final->seconds > 0)
    run(node.ranks, node.final->other, node.final->seconds);
}

double RankTimes::most() const {
  double most = 0;
  for (const auto &[rank, seconds] : until)
    most = std::max(most, seconds);
  return most;
}

} // namespace einsumc
