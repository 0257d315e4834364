//===- ChoiceTables.cpp - what the choices for the tensors of a tree cost together ------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/ChoiceTables.h"

#include "compiler/ir/ShapeKey.h"
#include "compiler/support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <utility>

namespace einsumc {

namespace {

/// Seconds that nothing takes.
constexpr double kNever = 1e30;

/// The distinct values of a list, and which of them each entry is.
template <class T> struct Distinct {
  std::vector<T> values;
  std::vector<std::size_t> which;

  void add(const T &value) {
    const auto at = llvm::find(values, value);
    which.push_back(static_cast<std::size_t>(at - values.begin()));
    if (at == values.end())
      values.push_back(value);
  }
};

} // namespace

ChoiceTables::ChoiceTables(const Tree &tree, const TransferCost &transfers, int64_t ranks,
                           std::vector<TensorChoices> given, bool isDraft)
    : tree(tree), transfers(transfers), ranks(ranks), isDraft(isDraft), choices(std::move(given)) {
  for (NodeId id = 0; id < tree.size(); ++id) {
    const TensorChoices &of = choices[static_cast<std::size_t>(id)];
    counts.push_back(of.homes.size());
    const bool isKept = tree.node(id).isOutput || tree.node(id).kind == NodeKind::Input;
    lastUses.push_back(isKept ? tree.size() - 1 : id);
    // An input is there from the first node on.
    firstUses.push_back(tree.node(id).kind == NodeKind::Input ? 0 : id);
    for (std::size_t o = 0; o < tree.node(id).operands.size(); ++o) {
      NodeId &last = lastUses[static_cast<std::size_t>(tree.node(id).operands[o].node)];
      last = std::max(last, id);
    }
  }
  addEdges();
}

const ChoiceTables::Memory &ChoiceTables::memory() const {
  if (!stored.homes.empty())
    return stored;
  for (NodeId id = 0; id < tree.size(); ++id) {
    const TensorChoices &of = choices[static_cast<std::size_t>(id)];
    std::vector<double> homes, own(of.homes.size());
    for (const Placement &home : of.homes)
      homes.push_back(blockBytes(tree, id, home));
    for (std::size_t choice = 0; choice < of.candidates.size(); ++choice)
      own[choice] = bytesBeside(tree, id, of.candidates[choice].schedule);
    stored.homes.push_back(std::move(homes));
    stored.own.push_back(std::move(own));
  }
  return stored;
}

struct ChoiceTables::Demand {
  NodeId tensor, user;
  std::size_t operand;
  Distinct<Placement> homes;
  Distinct<std::pair<Placement, bool>> needs; ///< and whether they are chunks under way

  /// What the ways follow from beside the tensor's extents.
  void addTo(ShapeKey &key) const {
    key.push_back(static_cast<int64_t>(homes.values.size()));
    for (const Placement &home : homes.values)
      addPlacement(home, key);
    for (const auto &[need, areChunks] : needs.values) {
      addPlacement(need, key);
      key.push_back(areChunks ? 1 : 0);
    }
  }
};

ChoiceTables::Demand ChoiceTables::demandOf(NodeId user, std::size_t operand) const {
  Demand demand{tree.node(user).operands[operand].node, user, operand, {}, {}};
  for (const Placement &home : of(demand.tensor).homes)
    demand.homes.add(home);
  for (const Candidate &candidate : of(user).candidates)
    demand.needs.add({candidate.needs[operand], candidate.areChunks[operand]});
  return demand;
}

std::vector<ChoiceTables::Supply> ChoiceTables::suppliesOf(const Demand &demand) const {
  const NodeId tensor = demand.tensor;
  std::vector<Supply> supplies;
  for (const Placement &home : demand.homes.values)
    for (const auto &[need, areChunks] : demand.needs.values)
      if (of(tensor).isReadInPlace) {
        supplies.push_back({home == need ? 0 : kNever, 0});
      } else {
        const double seconds = transfers.supplySeconds(tree, tensor, home, need, areChunks);
        supplies.push_back({seconds, seconds > 0 ? blockBytes(tree, tensor, need) : 0});
      }
  return supplies;
}

void ChoiceTables::addEdges() {
  std::vector<Demand> demands;
  for (NodeId id = 0; id < tree.size(); ++id)
    for (std::size_t o = 0; o < tree.node(id).operands.size(); ++o)
      demands.push_back(demandOf(id, o));
  // Nodes that are alike have the same candidates: of equal demands one is looked at.
  std::map<ShapeKey, std::size_t> places;
  std::vector<std::size_t> placeOf;
  std::vector<const Demand *> distinct;
  for (const Demand &demand : demands) {
    ShapeKey key = {of(demand.tensor).isReadInPlace ? 1 : 0};
    addExtents(tree, demand.tensor, key);
    demand.addTo(key);
    const auto [place, isNew] = places.try_emplace(std::move(key), distinct.size());
    if (isNew)
      distinct.push_back(&demand);
    placeOf.push_back(place->second);
  }
  std::vector<std::vector<Supply>> supplies(distinct.size());
  forAll(distinct.size(), [&](std::size_t d) { supplies[d] = suppliesOf(*distinct[d]); });
  for (std::size_t d = 0; d < demands.size(); ++d) {
    const auto &[tensor, user, operand, homes, needs] = demands[d];
    const std::vector<std::size_t> variables = {static_cast<std::size_t>(tensor),
                                                static_cast<std::size_t>(user)};
    Edge edge{tensor, user, operand, {variables, {}}, {variables, {}}};
    for (const std::size_t home : homes.which)
      for (const std::size_t need : needs.which) {
        const Supply &supply = supplies[placeOf[d]][home * needs.values.size() + need];
        edge.seconds.values.push_back(supply.seconds);
        edge.bytes.values.push_back(supply.bytes);
      }
    edges.push_back(std::move(edge));
  }
}

std::vector<CostTable> ChoiceTables::tablesAt(const BytePrices &prices) const {
  std::vector<CostTable> tables;
  for (std::size_t tensor = 0; tensor < choices.size(); ++tensor) {
    CostTable table{{tensor}, choices[tensor].seconds};
    for (std::size_t choice = 0; choice < choices[tensor].finalSeconds.size(); ++choice)
      table.values[choice] += choices[tensor].finalSeconds[choice];
    if (!prices.empty()) {
      double whileStored = 0;
      for (NodeId node = firstUses[tensor]; node <= lastUses[tensor]; ++node)
        whileStored += prices[static_cast<std::size_t>(node)];
      for (std::size_t choice = 0; choice < table.values.size(); ++choice)
        table.values[choice] += whileStored * memory().homes[tensor][choice] +
                                prices[tensor] * memory().own[tensor][choice];
    }
    tables.push_back(std::move(table));
  }
  for (const Edge &edge : edges) {
    tables.push_back(edge.seconds);
    if (!prices.empty())
      for (std::size_t i = 0; i < edge.bytes.values.size(); ++i)
        tables.back().values[i] +=
            prices[static_cast<std::size_t>(edge.user)] * edge.bytes.values[i];
  }
  return tables;
}

SearchLimits ChoiceTables::limitsAt(const BytePrices &prices) const {
  // Joint choices of three tensors with 64 choices each are exact, and those of some more.
  SearchLimits limits{.largestTable = std::size_t{1} << 18};
  if (isDraft || !prices.empty()) // Prices are many, and none of them the last word.
    limits.mostWork = 0;
  return limits;
}

std::vector<std::size_t> ChoiceTables::cheapest(const BytePrices &prices) const {
  return minimiseSum(counts, tablesAt(prices), limitsAt(prices));
}

std::vector<std::size_t> ChoiceTables::cheapestWith(NodeId tensor, std::size_t choice,
                                                    const BytePrices &prices) const {
  std::vector<CostTable> tables = tablesAt(prices);
  const auto index = static_cast<std::size_t>(tensor);
  for (std::size_t other = 0; other < counts[index]; ++other)
    if (other != choice)
      tables[index].values[other] += kNever; // The table of the tensor alone is at its place.
  return minimiseSum(counts, tables, limitsAt(prices));
}

std::vector<std::size_t> ChoiceTables::withChoice(std::vector<std::size_t> chosen, NodeId tensor,
                                                  std::size_t choice) const {
  chosen[static_cast<std::size_t>(tensor)] = choice;
  const std::vector<Placement> &needs = of(tensor).candidates[choice].needs;
  for (const Edge &edge : edges)
    if (edge.user == tensor && of(edge.tensor).isReadInPlace) {
      const std::vector<Placement> &homes = of(edge.tensor).homes;
      chosen[static_cast<std::size_t>(edge.tensor)] =
          static_cast<std::size_t>(llvm::find(homes, needs[edge.operand]) - homes.begin());
    }
  return chosen;
}

double ChoiceTables::valueOf(const CostTable &edge, const std::vector<std::size_t> &chosen) const {
  const std::size_t tensor = edge.variables[0], user = edge.variables[1];
  return edge.values[chosen[tensor] * counts[user] + chosen[user]];
}

RankTimes ChoiceTables::afterReading(const std::vector<std::size_t> &chosen) const {
  RankTimes times(ranks);
  double even = 0;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (!of(id).candidates.empty())
      continue;
    const std::size_t choice = chosen[static_cast<std::size_t>(id)];
    const double share = transfers.evenReadSeconds(tree, id);
    times.add(rangeOf(of(id).homes[choice].grid), of(id).seconds[choice] + share);
    even += share;
  }
  times.lower(even);
  return times;
}

double ChoiceTables::finish(const std::vector<std::size_t> &chosen, bool withDoubt) const {
  RankTimes times = afterReading(chosen);
  auto rangeOfHome = [&](NodeId tensor) {
    const auto index = static_cast<std::size_t>(tensor);
    return rangeOf(choices[index].homes[chosen[index]].grid);
  };
  std::size_t edge = 0; // They are in the order of their users.
  for (NodeId id = 0; id < tree.size(); ++id) {
    const std::size_t choice = chosen[static_cast<std::size_t>(id)];
    if (of(id).candidates.empty())
      continue;
    const Candidate &candidate = of(id).candidates[choice];
    NodeSeconds node{rangeOf(candidate.schedule.grid),
                     {},
                     withDoubt ? candidate.score : candidate.cost.seconds,
                     std::nullopt};
    for (; edge < edges.size() && edges[edge].user == id; ++edge)
      node.supplies.push_back(
          {rangeOfHome(edges[edge].tensor), valueOf(edges[edge].seconds, chosen)});
    if (!of(id).finalSeconds.empty())
      node.final = {{0, ranks}, of(id).finalSeconds[choice]};
    times.run(node);
  }
  return times.most();
}

double ChoiceTables::predictedSeconds(const std::vector<std::size_t> &chosen) const {
  return finish(chosen, false);
}

double ChoiceTables::seconds(const std::vector<std::size_t> &chosen) const {
  return finish(chosen, true);
}

double ChoiceTables::sum(const std::vector<std::size_t> &chosen) const {
  double seconds = 0;
  for (std::size_t tensor = 0; tensor < choices.size(); ++tensor) {
    seconds += choices[tensor].seconds[chosen[tensor]];
    if (!choices[tensor].finalSeconds.empty())
      seconds += choices[tensor].finalSeconds[chosen[tensor]];
  }
  for (const Edge &edge : edges)
    seconds += valueOf(edge.seconds, chosen);
  return seconds;
}

double ChoiceTables::readSeconds(const std::vector<std::size_t> &chosen) const {
  return afterReading(chosen).most();
}

Schedule ChoiceTables::scheduleOf(const std::vector<std::size_t> &chosen) const {
  Schedule schedule;
  schedule.ranks = ranks;
  schedule.inputs.resize(choices.size());
  schedule.nodes.resize(choices.size());
  schedule.finals.resize(choices.size());
  for (std::size_t tensor = 0; tensor < choices.size(); ++tensor)
    if (choices[tensor].candidates.empty())
      schedule.inputs[tensor] = choices[tensor].homes[chosen[tensor]];
    else
      schedule.nodes[tensor] = choices[tensor].candidates[chosen[tensor]].schedule;
  return schedule;
}

std::vector<double> ChoiceTables::bytesAt(const std::vector<std::size_t> &chosen) const {
  std::vector<double> bytes(choices.size());
  for (std::size_t tensor = 0; tensor < choices.size(); ++tensor) {
    for (NodeId node = firstUses[tensor]; node <= lastUses[tensor]; ++node)
      bytes[static_cast<std::size_t>(node)] += memory().homes[tensor][chosen[tensor]];
    bytes[tensor] += memory().own[tensor][chosen[tensor]];
  }
  for (const Edge &edge : edges)
    bytes[static_cast<std::size_t>(edge.user)] += valueOf(edge.bytes, chosen);
  return bytes;
}

} // namespace einsumc
