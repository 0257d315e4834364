//===- LoopPatterns.cpp - who sends to whom in the steps of a loop ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "LoopPatterns.h"

#include <algorithm>

namespace einsumc::sim {

LoopPatterns::LoopPatterns(const Stepping &stepping, const Network &network)
    : stepping(stepping), network(network) {
  const Grid &grid = stepping.work.grid;
  const std::size_t count = stepping.travellers.size();
  firstOwned.resize(count);
  if (stepping.travellers.front().movement == StepMovement::Stream || rotatesResult(stepping))
    return;
  const StepTable table(stepping, grid.firstRank);
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

PatternLoad &LoopPatterns::at(std::size_t traveller, std::size_t step) {
  constexpr std::size_t kMost = 64;
  const Kind kind = kindOf(traveller, step);
  const std::size_t stride = (chunkCount + kMost - 1) / kMost;
  std::size_t chunk = kind == Kind::Owners ? step % chunkCount : 0;
  if (chunk > 0) // Step 0, in which some fetch nothing, is no other's example.
    chunk = std::min((chunk + stride - 1) / stride * stride, chunkCount - 1);
  const auto [found, isNew] = known.try_emplace({traveller, kind, chunk});
  if (!isNew)
    return found->second;
  found->second = load(traveller, kind, chunk);
  const bool isRing = stepping.travellers[traveller].movement == StepMovement::Ring;
  if (isRing && kind == Kind::Neighbours && !rotatesResult(stepping) && chunkCount > 1) {
    // Who gets no foreign chunk to begin with owns it, who does owns one that would come later.
    const auto skewed = static_cast<double>(at(traveller, 0).messages);
    found->second.share = 1 - skewed / static_cast<double>(found->second.messages) /
                                  static_cast<double>(chunkCount - 1);
  }
  return found->second;
}

std::vector<double> LoopPatterns::together(std::size_t step, const std::vector<double> &bytes) {
  std::vector<const PatternLoad *> loads;
  loads.reserve(bytes.size());
  for (std::size_t t = 0; t < bytes.size(); ++t)
    loads.push_back(&at(t, step));
  const auto [found, isNew] = knownTogether.try_emplace(loads, 0);
  double most = -1;
  const auto links = static_cast<std::size_t>(network.links());
  for (auto link = 2 * static_cast<std::size_t>(network.nodes()); isNew && link < links; ++link) {
    double sum = 0;
    for (std::size_t t = 0; t < bytes.size(); ++t)
      sum += bytes[t] * loads[t]->byLink[link];
    if (sum > most)
      found->second = link;
    most = std::max(most, sum);
  }
  std::vector<double> result;
  result.reserve(loads.size());
  for (const PatternLoad *const load : loads)
    result.push_back(load->byLink[found->second]);
  return result;
}

PatternLoad LoopPatterns::load(std::size_t traveller, Kind kind, std::size_t step) const {
  const Grid &grid = stepping.work.grid;
  const Traveller &of = stepping.travellers[traveller];
  const int64_t extent = grid.extents[of.axis];
  const bool leaves = of.role == 2;
  const GridAxis axis = axisOf(grid, of.axis);
  PatternLoad result;
  LinkLoads loads(network);
  std::vector<double> sent(static_cast<std::size_t>(grid.size()), 0), received = sent;
  for (int64_t rank = grid.firstRank; rank < grid.firstRank + grid.size(); ++rank) {
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
    if (leaves && kind != Kind::Neighbours)
      std::swap(from, to);
    ++result.messages;
    loads.add(from, to, 1);
    if (network.isWithinNode(from, to)) {
      result.rank = std::max({result.rank, ++sent[static_cast<std::size_t>(from - grid.firstRank)],
                              ++received[static_cast<std::size_t>(to - grid.firstRank)]});
    }
  }
  if (kind == Kind::Root)
    result.inTurn = extent - 1;
  result.byLink = loads.byLink();
  const auto in = result.byLink.begin() + network.nodes(), others = in + network.nodes();
  result.out = *std::max_element(result.byLink.begin(), in);
  result.in = *std::max_element(in, others);
  if (others != result.byLink.end())
    result.between = *std::max_element(others, result.byLink.end());
  return result;
}

void LoopPatterns::addTo(std::vector<double> &linkBytes) const {
  for (const auto &[key, pattern] : known)
    for (std::size_t link = 0; link < linkBytes.size(); ++link)
      linkBytes[link] += pattern.share * pattern.repeated * pattern.byLink[link];
}

} // namespace einsumc::sim
