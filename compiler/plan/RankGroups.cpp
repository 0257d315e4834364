//===- RankGroups.cpp - which ranks compute independent parts of a tree at the same time ------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/RankGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace einsumc {

namespace {

using Nodes = std::vector<NodeId>; // In ascending order.
using PartId = std::size_t;

/// Some nodes, as parts that are computed one after the other or at the same time.
struct Part {
  Nodes nodes;
  /// What makes the part when it is computed one after the other; empty for a single node.
  std::vector<PartId> steps;
  /// If the steps do not depend on each other: the same in two parts of about the same work.
  std::vector<PartId> halves;
  bool isDivisible = false; ///< there are halves in it, or in one of its steps
  double work = 0;          ///< seconds on one rank
  bool isFree = true;
};

/// A tree's nodes as parts of parts.
class PartTree {
public:
  PartTree(const Tree &tree, GroupEstimate &estimate)
      : estimate(estimate), users(static_cast<std::size_t>(tree.size())) {
    Nodes nodes;
    for (NodeId id = 0; id < tree.size(); ++id) {
      if (tree.node(id).kind == NodeKind::Input)
        continue;
      nodes.push_back(id);
      for (const Operand &operand : tree.node(id).operands) {
        std::vector<NodeId> &of = users[static_cast<std::size_t>(operand.node)];
        if (!llvm::is_contained(of, id))
          of.push_back(id);
      }
    }
    whole = partOf(nodes);
  }

  const Part &operator[](PartId part) const { return parts[part]; }
  PartId root() const { return whole; }
  /// The nodes that use a result.
  const std::vector<NodeId> &usersOf(NodeId node) const {
    return users[static_cast<std::size_t>(node)];
  }

private:
  PartId partOf(const Nodes &nodes) {
    std::vector<PartId> components;
    for (const Nodes &component : componentsOf(nodes))
      components.push_back(connected(component));
    return together(components);
  }

  /// The nodes that are connected by results.
  std::vector<Nodes> componentsOf(const Nodes &nodes) const {
    std::map<NodeId, NodeId> leader; // The last node of a component, over others.
    auto find = [&](NodeId node) {
      while (leader.at(node) != node)
        node = leader[node] = leader.at(leader.at(node));
      return node;
    };
    for (const NodeId node : nodes)
      leader[node] = node;
    for (const NodeId node : nodes)
      for (const NodeId user : usersOf(node))
        if (leader.count(user) != 0)
          leader[find(node)] = find(user);
    std::map<NodeId, Nodes> components;
    for (const NodeId node : nodes)
      components[find(node)].push_back(node);
    const auto parts = llvm::make_second_range(components);
    return {parts.begin(), parts.end()};
  }

  PartId connected(const Nodes &nodes) {
    if (nodes.size() == 1)
      return add(
          {nodes, {}, {}, false, estimate.node(nodes.front(), 1), estimate.isFree(nodes.front())});
    // First what has several users with all that it depends on, or else all but the last node.
    const std::set<NodeId> all(nodes.begin(), nodes.end());
    std::set<NodeId> first;
    for (const NodeId node : llvm::reverse(nodes)) {
      int64_t count = 0;
      bool isNeeded = false;
      for (const NodeId user : usersOf(node)) {
        count += static_cast<int64_t>(all.count(user));
        isNeeded = isNeeded || first.count(user) != 0;
      }
      if (count > 1 || isNeeded)
        first.insert(node);
    }
    if (first.empty())
      first.insert(nodes.begin(), nodes.end() - 1);
    Nodes last;
    llvm::copy_if(nodes, std::back_inserter(last),
                  [&](NodeId node) { return first.count(node) == 0; });
    return add(sumOf({partOf({first.begin(), first.end()}), partOf(last)}));
  }

  PartId together(const std::vector<PartId> &components) {
    if (components.size() == 1)
      return components.front();
    // The longest first, each to the half that has less (R. L. Graham, "Bounds on multiprocessing
    // timing anomalies", SIAM J. Appl. Math. 17, 1969).
    std::vector<PartId> byWork = components;
    llvm::stable_sort(byWork, [&](PartId a, PartId b) { return parts[a].work > parts[b].work; });
    struct Half {
      double work = 0;
      std::vector<PartId> parts;
    } a, b;
    for (const PartId part : byWork) {
      const bool isBLess = std::tuple(b.work, b.parts.size()) < std::tuple(a.work, a.parts.size());
      Half &half = isBLess ? b : a;
      half.work += parts[part].work;
      half.parts.push_back(part);
    }
    Part part = sumOf(components);
    part.halves = {together(a.parts), together(b.parts)};
    part.isDivisible = true;
    return add(std::move(part));
  }

  Part sumOf(const std::vector<PartId> &steps) const {
    Part sum;
    for (const PartId step : steps) {
      llvm::append_range(sum.nodes, parts[step].nodes);
      sum.work += parts[step].work;
      sum.isFree = sum.isFree && parts[step].isFree;
      sum.isDivisible = sum.isDivisible || parts[step].isDivisible;
    }
    llvm::sort(sum.nodes);
    sum.steps = steps;
    return sum;
  }

  PartId add(Part part) {
    parts.push_back(std::move(part));
    return parts.size() - 1;
  }

  GroupEstimate &estimate;
  std::vector<std::vector<NodeId>> users; ///< by node, without repetition
  std::vector<Part> parts;
  PartId whole = 0;
};

/// What to do with a part on so many ranks.
struct Decision {
  double seconds = 0;
  int64_t firstHalf = 0; ///< ranks of the first half; 0: one step after the other
};

class Groups {
public:
  Groups(const Tree &tree, GroupEstimate &estimate)
      : tree(tree), estimate(estimate), parts(tree, estimate) {}

  std::vector<RankRange> run(int64_t ranks) {
    ranges.assign(static_cast<std::size_t>(tree.size()), RankRange{0, ranks});
    assign(parts.root(), {0, ranks});
    return std::move(ranges);
  }

private:
  /// \param depth halves around the part
  Decision decide(PartId id, int64_t ranks, int depth) {
    const Part &part = parts[id];
    if (part.steps.empty())
      return {estimate.node(part.nodes.front(), ranks), 0};
    const auto [known, isNew] = decisions.try_emplace({id, ranks});
    if (!isNew)
      return known->second;
    Decision best;
    for (const PartId step : part.steps)
      best.seconds += decide(step, ranks, depth).seconds;
    // Parts that take hardly longer than their share of the ranks' time leave nothing to gain.
    constexpr double kGain = 1.05;
    const bool mayGain = best.seconds > kGain * part.work / static_cast<double>(ranks);
    if (!part.halves.empty() && part.isFree && ranks > 1 && mayGain)
      for (const int64_t first : divisions(part, ranks, depth)) {
        const double seconds = std::max(timeOfHalf(part.halves[0], first, ranks, depth),
                                        timeOfHalf(part.halves[1], ranks - first, ranks, depth));
        if (seconds < best.seconds)
          best = {seconds, first};
      }
    return known->second = best;
  }

  /// With what it takes to spread its results for those who use them.
  double timeOfHalf(PartId id, int64_t ranks, int64_t of, int depth) {
    double seconds = decide(id, ranks, depth + 1).seconds;
    const Nodes &nodes = parts[id].nodes;
    for (const NodeId node : nodes)
      if (llvm::any_of(parts.usersOf(node), [&](NodeId user) {
            return !std::binary_search(nodes.begin(), nodes.end(), user);
          }))
        seconds += estimate.move(node, ranks, of);
    return seconds;
  }

  /// Numbers of ranks for the first half: by its share of the work, and, of large parts of the
  /// tree, the powers of two around it, for which many cuts of the work are even.
  std::vector<int64_t> divisions(const Part &part, int64_t ranks, int depth) const {
    const double share = part.work > 0 ? parts[part.halves[0]].work / part.work : 0.5;
    const auto even = static_cast<int64_t>(std::llround(share * static_cast<double>(ranks)));
    std::set<int64_t> result = {even};
    constexpr int kDepth = 3;
    for (int64_t two = 1; two < ranks && depth < kDepth; two *= 2)
      for (const int64_t first : {two, ranks - two})
        if (first < 2 * even && 2 * first > even)
          result.insert(first);
    for (const int64_t outside : {int64_t{0}, ranks})
      if (result.erase(outside) != 0)
        result.insert(outside == 0 ? 1 : ranks - 1);
    return {result.begin(), result.end()};
  }

  void assign(PartId id, const RankRange &range, int depth = 0) {
    for (const NodeId node : parts[id].nodes)
      ranges[static_cast<std::size_t>(node)] = range;
    if (!parts[id].isDivisible)
      return;
    const int64_t first = decide(id, range.size, depth).firstHalf;
    if (first == 0)
      for (const PartId step : parts[id].steps)
        assign(step, range, depth);
    else {
      assign(parts[id].halves[0], {range.first, first}, depth + 1);
      assign(parts[id].halves[1], {range.first + first, range.size - first}, depth + 1);
    }
  }

  const Tree &tree;
  GroupEstimate &estimate;
  const PartTree parts;
  std::map<std::pair<PartId, int64_t>, Decision> decisions;
  std::vector<RankRange> ranges;
};

/// The divisions of any number of ranks among parts that may be computed at the same time.
class AllGroups {
public:
  AllGroups(const Tree &tree, GroupEstimate &estimate, std::size_t most)
      : parts(tree, estimate), most(most), ranges(static_cast<std::size_t>(tree.size())) {}

  std::vector<std::vector<RankRange>> run(int64_t ranks) {
    for (int64_t used = 2; used <= ranks && all.size() <= most; ++used) {
      std::fill(ranges.begin(), ranges.end(), RankRange{0, used});
      assign({{parts.root(), {0, used}}}, false);
    }
    return all.size() > most ? std::vector<std::vector<RankRange>>{} : std::move(all);
  }

private:
  /// Parts that have got ranks, which their own parts may have yet to share.
  using Assigned = std::vector<std::pair<PartId, RankRange>>;

  void assign(Assigned open, bool isDivided) {
    if (all.size() > most)
      return;
    if (open.empty()) {
      if (isDivided)
        all.push_back(ranges);
      return;
    }
    const auto [id, range] = open.back();
    open.pop_back();
    const Part &part = parts[id];
    if (part.steps.empty())
      ranges[static_cast<std::size_t>(part.nodes.front())] = range;
    Assigned inTurn = open;
    for (const PartId step : part.steps)
      inTurn.emplace_back(step, range);
    assign(std::move(inTurn), isDivided);
    if (part.halves.empty() || !part.isFree)
      return;
    for (int64_t first = 1; first < range.size; ++first)
      for (const std::size_t half : {0, 1}) {
        Assigned divided = open;
        divided.emplace_back(part.halves[half], RankRange{range.first, first});
        divided.emplace_back(part.halves[1 - half],
                             RankRange{range.first + first, range.size - first});
        assign(std::move(divided), true);
      }
  }

  const PartTree parts;
  const std::size_t most;
  std::vector<RankRange> ranges; ///< by node, of parts that are not open
  std::vector<std::vector<RankRange>> all;
};

} // namespace

std::vector<RankRange> rankGroups(const Tree &tree, int64_t ranks, GroupEstimate &estimate) {
  return Groups(tree, estimate).run(ranks);
}

std::vector<std::vector<RankRange>> allRankGroups(const Tree &tree, int64_t ranks,
                                                  GroupEstimate &estimate, std::size_t most) {
  return AllGroups(tree, estimate, most).run(ranks);
}

} // namespace einsumc
