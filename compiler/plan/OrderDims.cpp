//===- OrderDims.cpp - the order in which intermediates are stored ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/OrderDims.h"

#include "compiler/plan/LocalCost.h"
#include "compiler/plan/MinimiseSum.h"
#include "compiler/plan/OrderCandidates.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace einsumc {

namespace {

/// Combinations of orders that are estimated for a node, in trees of many nodes and of few.
constexpr std::size_t kCombinations = 64, kCombinationsOfTree = 4096;
/// Rounds at most, and what one must gain for another to follow.
constexpr int kRounds = 3;
constexpr double kWorthARound = 0.01;

/// The estimate of a node, in whole femtoseconds: sums of these are exact (up to some seconds in
/// all), so that equal sums are seen to be equal whatever they are added up from. Equal works are
/// estimated once.
class Estimates {
public:
  explicit Estimates(const Machine &machine) : machine(machine) {}

  double femtoseconds(const LocalWork &work) {
    std::vector<int64_t> key;
    key.reserve(1 + 5 * work.dims.size());
    key.push_back(static_cast<int64_t>(work.isUnary));
    for (const WorkDim &dim : work.dims) {
      key.push_back(static_cast<int64_t>(dim.dimClass));
      key.push_back(dim.extent);
      key.insert(key.end(), dim.strides.begin(), dim.strides.end());
    }
    const auto [at, isNew] = known.try_emplace(std::move(key), 0);
    if (isNew)
      at->second = std::round(localCost(work, machine).seconds() * 1e15);
    return at->second;
  }

private:
  const Machine &machine;
  struct Hash {
    std::size_t operator()(const std::vector<int64_t> &key) const {
      return llvm::hash_combine_range(key.begin(), key.end());
    }
  };

  std::unordered_map<std::vector<int64_t>, double, Hash> known;
};

/// An intermediate whose order is to be chosen.
struct Variable {
  NodeId tensor = 0;
  std::vector<TensorUse> uses;       ///< the definition first
  std::vector<PositionOrder> orders; ///< the present one first
};

/// One node with the strides of its tensors as they follow from the orders of its variables.
class NodeWork {
public:
  NodeWork(const Tree &tree, NodeId id) : work(localWork(tree, id)) {
    const std::vector<DimId> dims = tree.iterationDims(id);
    const Node &node = tree.node(id);
    auto addRole = [&](std::size_t role, const std::vector<DimId> &positions) {
      for (DimId dim : positions) {
        places[role].push_back(static_cast<std::size_t>(llvm::find(dims, dim) - dims.begin()));
        extents[role].push_back(tree.dim(dim).extent);
      }
    };
    for (std::size_t o = 0; o < node.operands.size(); ++o)
      addRole(o, node.operands[o].dims);
    addRole(2, node.dims);
  }

  /// Stores the tensor in a role in another order.
  void store(std::size_t role, const PositionOrder &order) {
    for (std::size_t place : places[role])
      work.dims[place].strides[role] = 0;
    int64_t stride = 1;
    for (std::size_t position : llvm::reverse(order)) {
      // A diagonal steps along several positions at once.
      work.dims[places[role][position]].strides[role] += stride;
      stride *= extents[role][position];
    }
  }

  const LocalWork &get() const { return work; }

private:
  LocalWork work;
  /// By role and position: the place in the work's dims, and the extent.
  std::array<std::vector<std::size_t>, 3> places;
  std::array<std::vector<int64_t>, 3> extents;
};

std::size_t roleOf(const TensorUse &use) {
  return use.operand < 0 ? 2 : static_cast<std::size_t>(use.operand);
}

/// Chooses among candidates for all intermediates that are not fixed.
class Round {
public:
  Round(const Tree &tree, const DimOrders &fixed, Estimates &estimates)
      : tree(tree), estimates(estimates), usesOf(static_cast<std::size_t>(tree.size())),
        variablesOf(static_cast<std::size_t>(tree.size())) {
    for (NodeId id = 0; id < tree.size(); ++id) {
      const Node &node = tree.node(id);
      if (node.kind == NodeKind::Input)
        continue;
      usesOf[static_cast<std::size_t>(id)].push_back({id, -1});
      for (std::size_t o = 0; o < node.operands.size(); ++o)
        usesOf[static_cast<std::size_t>(node.operands[o].node)].push_back(
            {id, static_cast<int>(o)});
    }
    for (NodeId id = 0; id < tree.size(); ++id)
      if (isIntermediate(tree, id) && fixed.count(id) == 0)
        addVariable(id);
  }

  DimOrders run() {
    trim();
    std::vector<std::size_t> choices;
    choices.reserve(variables.size());
    for (const Variable &variable : variables)
      choices.push_back(variable.orders.size());
    std::vector<CostTable> tables;
    for (NodeId id = 0; id < tree.size(); ++id)
      if (!variablesOf[static_cast<std::size_t>(id)].empty())
        tables.push_back(tableOf(id));
    const std::vector<std::size_t> chosen = minimiseSum(choices, tables);
    DimOrders orders;
    for (std::size_t v = 0; v < variables.size(); ++v)
      if (chosen[v] != 0)
        for (std::size_t position : variables[v].orders[chosen[v]])
          orders[variables[v].tensor].push_back(tree.node(variables[v].tensor).dims[position]);
    return orders;
  }

private:
  void addVariable(NodeId id) {
    Variable variable{id, usesOf[static_cast<std::size_t>(id)], {}};
    variable.orders = orderCandidates(tree, id, variable.uses);
    if (variable.orders.size() == 1)
      return;
    for (const TensorUse &use : variable.uses) {
      std::vector<std::size_t> &used = variablesOf[static_cast<std::size_t>(use.node)];
      if (!llvm::is_contained(used, variables.size()))
        used.push_back(variables.size());
    }
    variables.push_back(std::move(variable));
  }

  std::size_t combinations(NodeId id) const {
    std::size_t product = 1;
    for (std::size_t v : variablesOf[static_cast<std::size_t>(id)])
      product *= limits[v];
    return product;
  }

  /// Leaves so few orders of each variable that no node has too many combinations.
  void trim() {
    const std::size_t most =
        std::max(kCombinations, kCombinationsOfTree / static_cast<std::size_t>(tree.size()));
    for (const Variable &variable : variables)
      limits.push_back(variable.orders.size());
    for (NodeId id = 0; id < tree.size(); ++id)
      while (combinations(id) > most) {
        const std::vector<std::size_t> &used = variablesOf[static_cast<std::size_t>(id)];
        --limits[*std::max_element(used.begin(), used.end(), [&](std::size_t a, std::size_t b) {
          return limits[a] < limits[b];
        })];
      }
    for (std::size_t v = 0; v < variables.size(); ++v)
      if (limits[v] < variables[v].orders.size())
        keepBest(variables[v], limits[v]);
  }

  /// Keeps the present order and those that are best, with all other tensors as they are, for all
  /// uses together and for each use on its own in turn.
  void keepBest(Variable &variable, std::size_t count) {
    std::vector<std::vector<double>> costs(1, std::vector<double>(variable.orders.size()));
    for (const TensorUse &use : variable.uses) {
      NodeWork work(tree, use.node);
      std::vector<double> ofUse;
      for (std::size_t o = 0; o < variable.orders.size(); ++o) {
        work.store(roleOf(use), variable.orders[o]);
        ofUse.push_back(estimates.femtoseconds(work.get()));
        costs.front()[o] += ofUse.back();
      }
      costs.push_back(std::move(ofUse));
    }
    std::vector<bool> isTaken(variable.orders.size());
    std::vector<PositionOrder> kept;
    auto take = [&](std::size_t o) {
      isTaken[o] = true;
      kept.push_back(variable.orders[o]);
    };
    take(0);
    for (std::size_t turn = 0; kept.size() < count; ++turn) {
      const std::vector<double> &cost = costs[turn % costs.size()];
      std::size_t best = variable.orders.size();
      for (std::size_t o = 0; o < variable.orders.size(); ++o)
        if (!isTaken[o] && (best == variable.orders.size() || cost[o] < cost[best]))
          best = o;
      take(best);
    }
    variable.orders = std::move(kept);
  }

  /// The estimates of a node by the orders of its variables.
  CostTable tableOf(NodeId id) {
    CostTable table{variablesOf[static_cast<std::size_t>(id)], {}};
    NodeWork work(tree, id);
    fill(id, 0, work, table);
    return table;
  }

  void fill(NodeId id, std::size_t depth, NodeWork &work, CostTable &table) {
    if (depth == table.variables.size()) {
      table.values.push_back(estimates.femtoseconds(work.get()));
      return;
    }
    const Variable &variable = variables[table.variables[depth]];
    for (const PositionOrder &order : variable.orders) {
      for (const TensorUse &use : variable.uses)
        if (use.node == id)
          work.store(roleOf(use), order);
      fill(id, depth + 1, work, table);
    }
  }

  const Tree &tree;
  Estimates &estimates;
  std::vector<std::vector<TensorUse>> usesOf;        ///< by tensor
  std::vector<std::vector<std::size_t>> variablesOf; ///< by node
  std::vector<Variable> variables;
  std::vector<std::size_t> limits; ///< orders that a variable may keep
};

} // namespace

double estimatedSeconds(const Tree &tree, const Machine &machine) {
  double seconds = 0;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.node(id).kind != NodeKind::Input)
      seconds += localCost(localWork(tree, id), machine).seconds();
  return seconds;
}

Tree orderDims(const Tree &tree, const Machine &machine, const DimOrders &fixed) {
  Estimates estimates(machine);
  Tree best = reordered(tree, fixed);
  double seconds = estimatedSeconds(best, machine);
  for (int round = 0; round < kRounds; ++round) {
    const DimOrders better = Round(best, fixed, estimates).run();
    if (better.empty())
      break;
    best = reordered(best, better);
    const double before = std::exchange(seconds, estimatedSeconds(best, machine));
    if (seconds > (1 - kWorthARound) * before)
      break;
  }
  return best;
}

} // namespace einsumc
