//===- LoopPatterns.cpp - who sends to whom in the steps of a loop ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "LoopPatterns.h"

#include "LoopGraph.h"

#include <algorithm>

namespace einsumc::sim {

LoopPatterns::LoopPatterns(const Stepping &stepping, const Network &network, double elementBytes)
    : stepping(stepping), network(network) {
  divideIntoRuns();
  orderChunks();
  countBytes(elementBytes);
}

void LoopPatterns::divideIntoRuns() {
  constexpr int64_t kMostRuns = 16;
  const Grid &grid = stepping.work.grid;
  const Traveller &first = stepping.travellers.front();
  const int64_t extent = grid.extents[first.axis];
  const int64_t runs =
      first.movement == StepMovement::Stream ? std::min(extent, kMostRuns) : int64_t{1};
  const int64_t stride = axisOf(grid, first.axis).stride;
  for (int64_t run = 0; run < runs; ++run)
    tables.emplace_back(stepping, grid.firstRank + run * extent / runs * stride);
}

std::vector<int64_t> LoopPatterns::standIns() const {
  std::vector<int64_t> result;
  for (const StepTable &table : tables)
    result.push_back(table.rank());
  return result;
}

void LoopPatterns::orderChunks() {
  const Grid &grid = stepping.work.grid;
  const std::size_t count = stepping.travellers.size();
  firstOwned.resize(count);
  if (stepping.travellers.front().movement == StepMovement::Stream || rotatesResult(stepping))
    return;
  const StepTable &table = tables.front();
  chunkCount = std::max<std::size_t>(1, table.steps() / static_cast<std::size_t>(stepping.pace));
  for (std::size_t chunk = 0; chunk < std::min(chunkCount, table.steps()); ++chunk) {
    owners.emplace_back();
    for (std::size_t t = 0; t < count; ++t)
      owners.back().push_back(grid.coordinates(table.owner(t, chunk))[stepping.travellers[t].axis]);
  }
  for (std::size_t t = 0; t < count; ++t)
    for (std::size_t chunk = 0; chunk < owners.size(); ++chunk)
      firstOwned[t].resize(
          std::max(firstOwned[t].size(), static_cast<std::size_t>(owners[chunk][t]) + 1), chunk);
}

void LoopPatterns::countBytes(double elementBytes) {
  for (std::size_t run = 0; run < tables.size(); ++run) {
    const StepTable &table = tables[run];
    for (std::size_t t = 0; t < stepping.travellers.size(); ++t) {
      const Traveller &traveller = stepping.travellers[t];
      const int64_t extent = stepping.work.grid.extents[traveller.axis];
      const double each = traveller.movement == StepMovement::Bcast
                              ? collectiveBytes(extent, elementBytes)
                              : elementBytes;
      for (std::size_t s = 0; s < table.steps(); ++s) {
        const Key key = keyOf(run, t, s);
        make(key);
        if (hasMessages(table.rank(), t, s))
          known.at(key).repeated += static_cast<double>(volume(table.chunk(t, s))) * each;
      }
    }
  }
}

std::size_t LoopPatterns::firstChunk(const std::vector<int64_t> &place) const {
  std::size_t first = 0;
  for (std::size_t t = 0; t < stepping.travellers.size(); ++t) {
    const Traveller &traveller = stepping.travellers[t];
    if (traveller.movement == StepMovement::Ring || traveller.movement == StepMovement::Get)
      first += firstOwned[t][std::min(static_cast<std::size_t>(place[traveller.axis]),
                                      firstOwned[t].size() - 1)];
  }
  return first;
}

LoopPatterns::Kind LoopPatterns::kindOf(std::size_t traveller, std::size_t step) const {
  switch (stepping.travellers[traveller].movement) {
  case StepMovement::Stream:
    return Kind::Root;
  case StepMovement::Get:
    return Kind::Owners;
  case StepMovement::Bcast:
    return Kind::Neighbours;
  case StepMovement::Ring:
    break;
  }
  return !rotatesResult(stepping) && step % chunkCount == 0 ? Kind::Owners : Kind::Neighbours;
}

LoopPatterns::Key LoopPatterns::keyOf(std::size_t run, std::size_t traveller,
                                      std::size_t step) const {
  constexpr std::size_t kMost = 64;
  const Kind kind = kindOf(traveller, step);
  const std::size_t stride = (chunkCount + kMost - 1) / kMost;
  std::size_t chunk = kind == Kind::Owners ? step % chunkCount : 0;
  if (chunk > 0) // Step 0, in which some fetch nothing, is no other's example.
    chunk = std::min((chunk + stride - 1) / stride * stride, chunkCount - 1);
  return {run, traveller, kind, chunk};
}

const PatternLoad &LoopPatterns::make(const Key &key) {
  const auto [found, isNew] = known.try_emplace(key);
  if (!isNew)
    return found->second;
  const auto [run, traveller, kind, chunk] = key;
  found->second = load(run, traveller, kind, chunk);
  const bool isRing = stepping.travellers[traveller].movement == StepMovement::Ring;
  if (isRing && kind == Kind::Neighbours && !rotatesResult(stepping) &&
      found->second.messages > 0 && chunkCount > 1) {
    // Who gets no foreign chunk to begin with owns it, who does owns one that would come later.
    const auto skewed = static_cast<double>(make(keyOf(run, traveller, 0)).messages);
    found->second.share = 1 - skewed / static_cast<double>(found->second.messages) /
                                  static_cast<double>(chunkCount - 1);
  }
  return found->second;
}

const PatternLoad &LoopPatterns::at(int64_t standIn, std::size_t traveller,
                                    std::size_t step) const {
  return known.at(keyOf(runOf(standIn), traveller, step));
}

bool LoopPatterns::hasMessages(int64_t standIn, std::size_t traveller, std::size_t step) const {
  const Traveller &of = stepping.travellers[traveller];
  const bool rotates = of.role == 2 && of.movement == StepMovement::Ring;
  const bool isFirst = rotates && step < static_cast<std::size_t>(stepping.pace);
  return !isFirst && at(standIn, traveller, step).messages > 0;
}

std::size_t LoopPatterns::runOf(int64_t rank) const {
  const GridAxis axis = axisOf(stepping.work.grid, stepping.travellers.front().axis);
  const int64_t own = axis.coordinate(rank);
  std::size_t run = tables.size() - 1;
  while (axis.coordinate(tables[run].rank()) > own)
    --run;
  return run;
}

PatternLoad LoopPatterns::load(std::size_t run, std::size_t traveller, Kind kind,
                               std::size_t step) const {
  const Grid &grid = stepping.work.grid;
  const Traveller &of = stepping.travellers[traveller];
  const int64_t extent = grid.extents[of.axis];
  const bool leaves = of.role == 2;
  const GridAxis axis = axisOf(grid, of.axis);
  PatternLoad result;
  LinkLoads loads(network);
  std::vector<double> sent(static_cast<std::size_t>(grid.size()), 0), received = sent;
  std::vector<int64_t> served(sent.size(), 0);
  for (int64_t rank = grid.firstRank; rank < grid.firstRank + grid.size(); ++rank) {
    if (runOf(rank) != run)
      continue;
    const std::vector<int64_t> place = grid.coordinates(rank);
    const int64_t own = place[of.axis];
    int64_t source = 0; // its coordinate, or, of a result that is added there, the owner's
    if (kind == Kind::Neighbours)
      source = (own + 1) % extent;
    else if (kind == Kind::Owners)
      source = owners[(firstChunk(place) + step) % owners.size()][traveller];
    int64_t from = rank + (source - own) * axis.stride, to = rank;
    if (from == to)
      continue;
    if (kind == Kind::Root)
      result.inTurn =
          std::max(result.inTurn, ++served[static_cast<std::size_t>(from - grid.firstRank)]);
    if (leaves && kind != Kind::Neighbours)
      std::swap(from, to);
    ++result.messages;
    loads.add(from, to, 1);
    if (network.isWithinNode(from, to)) {
      result.rank = std::max({result.rank, ++sent[static_cast<std::size_t>(from - grid.firstRank)],
                              ++received[static_cast<std::size_t>(to - grid.firstRank)]});
    }
  }
  result.byLink = loads.byLink();
  result.busiest = *std::ranges::max_element(result.byLink);
  return result;
}

std::array<double, 3> LoopPatterns::onBusiestLinks(int64_t standIn, std::size_t traveller,
                                                   std::size_t step) {
  std::vector<const PatternLoad *> loads;
  std::vector<double> elements;
  for (std::size_t t = 0; t < stepping.travellers.size(); ++t) {
    loads.push_back(&at(standIn, t, step));
    elements.push_back(static_cast<double>(volume(tables[runOf(standIn)].chunk(t, step))));
  }
  const auto [found, isNew] = knownLinks.try_emplace(loads);
  if (isNew)
    found->second = busiestLinks(loads, elements);
  const std::vector<double> &byLink = loads[traveller]->byLink;
  std::array<double, 3> result{};
  for (std::size_t i = 0; i < result.size(); ++i)
    if (found->second[i] < byLink.size())
      result[i] = byLink[found->second[i]];
  return result;
}

std::array<std::size_t, 3> LoopPatterns::busiestLinks(const std::vector<const PatternLoad *> &loads,
                                                      const std::vector<double> &elements) const {
  const auto nodes = static_cast<std::size_t>(network.nodes());
  const std::array<std::size_t, 4> begins = {0, nodes, 2 * nodes,
                                             static_cast<std::size_t>(network.links())};
  std::array<std::size_t, 3> result{};
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = begins[i];
    double most = 0;
    for (std::size_t link = begins[i]; link < begins[i + 1]; ++link) {
      double sum = 0;
      for (std::size_t t = 0; t < loads.size(); ++t)
        sum += elements[t] * loads[t]->byLink[link];
      if (sum > most)
        result[i] = link;
      most = std::max(most, sum);
    }
  }
  return result;
}

void LoopPatterns::addTo(std::vector<double> &linkBytes) const {
  for (const auto &[key, pattern] : known)
    for (std::size_t link = 0; link < linkBytes.size(); ++link)
      linkBytes[link] += pattern.share * pattern.repeated * pattern.byLink[link];
}

} // namespace einsumc::sim
