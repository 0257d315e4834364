//===- Candidates.cpp - the schedules of a node that are worth a thought ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Candidates.h"

#include "compiler/plan/Algorithms.h"
#include "compiler/plan/Movements.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace einsumc {

namespace {

/// For every axis that the work is cut along, or along which ranks do the same, for a stepping
/// loop, and for one-sided transfers.
double doubt(const NodeSchedule &on, double seconds, const Machine &machine) {
  // One-sided transfers wait for the other side with some MPI libraries and networks.
  constexpr double kOfAxis = 0.01, kOfSteps = 0.15, kOfGet = 0.1;
  double share = 0, messages = 0;
  for (std::size_t axis = 0; axis < on.axes.size(); ++axis) {
    share += on.grid.extents[axis] > 1 ? kOfAxis : 0;
    messages += on.axes[axis].loopDim ? 1 : 0;
  }
  if (llvm::any_of(on.axes, [](const AxisSchedule &axis) { return isStepping(axis.movement); }))
    share += kOfSteps;
  if (llvm::any_of(on.axes,
                   [](const AxisSchedule &axis) { return axis.movement == Movement::Get; }))
    share += kOfGet;
  return share * seconds + messages * machine.withinNode.alpha;
}

/// What follows from a schedule but its cost.
Candidate withoutCost(const Tree &tree, NodeId node, NodeSchedule schedule,
                      const std::optional<Stepping> &stepping) {
  Candidate candidate{std::move(schedule), {}, 0, {}, {}, 0, {}};
  const NodeSchedule &on = candidate.schedule;
  const std::size_t operands = tree.node(node).operands.size();
  candidate.needs.reserve(operands);
  candidate.areChunks.reserve(operands);
  for (std::size_t o = 0; o < operands; ++o) {
    const auto role = static_cast<Role>(o);
    candidate.needs.push_back(workPlacement(tree, node, on, role));
    candidate.areChunks.push_back(travels(stepping, role));
  }
  candidate.home = storedPlacement(tree, node, on, Role::C);
  return candidate;
}

void addCost(Candidate &candidate, RunCosts &costs, const Machine &machine) {
  candidate.cost = costs.of(candidate.schedule);
  candidate.score =
      candidate.cost.seconds + doubt(candidate.schedule, candidate.cost.seconds, machine);
}

class Choice {
public:
  Choice(const Tree &tree, NodeId node, const Machine &machine, const TransferCost &transfers,
         const CandidateLimits &limits)
      : tree(tree), node(node), machine(machine), transfers(transfers), limits(limits),
        costs(tree, node, machine, transfers) {}

  void add(NodeSchedule schedule) {
    // An output cannot stay partial sums.
    if (tree.node(node).isOutput &&
        has(storedPlacement(tree, node, schedule, Role::C), AxisKind::Partial))
      return;
    const std::optional<Stepping> stepping = steppingOf(tree, node, schedule);
    Variant variant{number++, withoutCost(tree, node, std::move(schedule), stepping),
                    stepping.has_value()};
    Candidate &candidate = variant.candidate;
    const NodeSchedule &on = candidate.schedule;
    mostRanks = std::max(mostRanks, on.grid.size());
    if (limits.isSparing)
      candidate.bytes = bytesOf(candidate);
    const double seconds = costs.bound(on, stepping);
    variant.bound = seconds + doubt(on, seconds, machine);
    Entry &entry = entryOf(candidate);
    entry.open.push_back(std::move(variant));
    while (limits.isSparing && !entry.open.empty()) // All are looked at, for their bytes.
      evaluateNext(entry);
  }

  std::vector<Candidate> run() {
    for (std::size_t e = 0; e < all.size(); ++e)
      queue.push(placeOf(e));
    // Where memory is short, the last half are the smallest.
    const std::size_t fastest = limits.isSparing ? limits.candidates / 2 : limits.candidates;
    std::vector<Candidate> kept;
    auto keep = [&](Entry &entry) {
      if (llvm::none_of(kept, [&](const Candidate &at) { return dominates(at, *entry.best); }))
        kept.push_back(*entry.best);
    };
    while (!queue.empty() && kept.size() < fastest)
      keep(all[popFastest()]);
    for (const std::size_t line : linesBeside(kept))
      keep(all[line]);
    if (kept.size() >= limits.candidates)
      return kept;
    std::vector<std::size_t> rest;
    while (!queue.empty())
      rest.push_back(popFastest());
    llvm::stable_sort(rest, [&](std::size_t a, std::size_t b) {
      return all[a].best->bytes < all[b].best->bytes;
    });
    for (auto next = rest.begin(); next != rest.end() && kept.size() < limits.candidates; ++next)
      keep(all[*next]);
    return kept;
  }

private:
  /// A candidate that has no cost yet.
  struct Variant {
    std::size_t number; ///< in the order in which they came
    Candidate candidate;
    bool isStepping = false;
    double bound = 0; ///< its score is no less
  };

  /// Candidates that need and leave the same, of which the fastest counts. A few of all entries are
  /// kept, so costs are found in the order of their bounds, and only as far as it takes.
  struct Entry {
    llvm::SmallVector<Variant, 1> open;
    std::optional<Candidate> best;        ///< of those with a cost
    std::size_t number = 0;               ///< of the best
    llvm::SmallVector<double, 2> reading; ///< by operand: for copies of it

    bool isSettled() const {
      return best && llvm::none_of(open, [&](const Variant &variant) {
               return variant.bound <= best->score;
             });
    }
    double leastScore() const {
      double least = best ? best->score : std::numeric_limits<double>::infinity();
      for (const Variant &variant : open)
        least = std::min(least, variant.bound);
      return least;
    }
  };

  /// An entry's place in the queue: by seconds, with what copies of operands are charged at least;
  /// what is not settled first, since it may be the equal that came first.
  struct Place {
    double rank;
    bool isSettled;
    std::size_t entry;
    bool operator>(const Place &other) const {
      return std::tie(rank, isSettled, entry) > std::tie(other.rank, other.isSettled, other.entry);
    }
  };

  Place placeOf(std::size_t entry) const {
    const Entry &of = all[entry];
    double rank = of.leastScore();
    for (const double seconds : of.reading)
      rank += seconds;
    return {rank, of.isSettled(), entry};
  }

  /// Takes the entry of least rank from the queue.
  std::size_t popFastest() {
    while (true) {
      const Place place = queue.top();
      queue.pop();
      if (place.isSettled)
        return place.entry;
      evaluateNext(all[place.entry]);
      queue.push(placeOf(place.entry));
    }
  }

  /// The entries of all ranks along one dim, each dim's fastest, that are none of those kept. Such
  /// a cut neighbours often have in common, whatever copies of operands are charged here.
  std::vector<std::size_t> linesBeside(const std::vector<Candidate> &kept) {
    std::map<DimId, std::size_t> lines;
    for (std::size_t e = 0; e < all.size(); ++e) {
      const NodeSchedule &on = candidateOf(all[e]).schedule;
      if (on.axes.size() != 1 || !on.axes[0].loopDim || on.grid.size() != mostRanks)
        continue;
      const DimId dim = *on.axes[0].loopDim;
      evaluateSimple(all[e]);
      const auto [line, isNew] = lines.try_emplace(dim, e);
      if (!isNew && all[e].leastScore() < all[line->second].leastScore())
        line->second = e;
    }
    std::vector<std::size_t> beside;
    for (const auto &[dim, e] : lines) {
      while (!all[e].isSettled())
        evaluateNext(all[e]);
      if (llvm::none_of(kept, [&](const Candidate &at) { return isAlike(at, *all[e].best); }))
        beside.push_back(e);
    }
    return beside;
  }

  /// Finds the cost of the candidate with the least bound.
  void evaluateNext(Entry &entry) {
    evaluate(entry, llvm::min_element(entry.open, [](const Variant &a, const Variant &b) {
               return a.bound < b.bound;
             }));
  }

  /// Finds the costs of those without a stepping loop.
  void evaluateSimple(Entry &entry) {
    for (std::size_t v = entry.open.size(); v-- > 0;)
      if (!entry.open[v].isStepping)
        evaluate(entry, entry.open.begin() + v);
  }

  void evaluate(Entry &entry, Variant *next) {
    addCost(next->candidate, costs, machine);
    if (!entry.best ||
        std::tie(next->candidate.score, next->number) < std::tie(entry.best->score, entry.number)) {
      entry.best = std::move(next->candidate);
      entry.number = next->number;
    }
    entry.open.erase(next);
  }

  static std::size_t hashOf(const Candidate &candidate) {
    std::size_t hash = 0;
    auto add = [&](const Placement &placement) {
      for (std::size_t axis = 0; axis < placement.axes.size(); ++axis) {
        const AxisPlacement &on = placement.axes[axis];
        for (const int64_t part : {placement.grid.extents[axis], static_cast<int64_t>(on.kind),
                                   int64_t{on.position}, int64_t{on.level}})
          hash = hash * 31 + static_cast<std::size_t>(part);
      }
    };
    for (const Placement &need : candidate.needs)
      add(need);
    add(candidate.home);
    return hash;
  }

  static bool isAlike(const Candidate &a, const Candidate &b) {
    return a.needs == b.needs && a.home == b.home && a.areChunks == b.areChunks &&
           a.bytes == b.bytes;
  }

  /// Any of an entry's: they need and leave the same.
  static const Candidate &candidateOf(const Entry &entry) {
    return entry.best ? *entry.best : entry.open.front().candidate;
  }

  /// Where a candidate belongs: one that needs and leaves the same, or a new one.
  Entry &entryOf(const Candidate &candidate) {
    const std::size_t hash = hashOf(candidate);
    const auto [begin, end] = entriesByHash.equal_range(hash);
    for (const std::size_t e : llvm::make_second_range(llvm::make_range(begin, end)))
      if (isAlike(candidateOf(all[e]), candidate))
        return all[e];
    entriesByHash.emplace(hash, all.size());
    Entry &entry = all.emplace_back();
    for (std::size_t o = 0; o < candidate.needs.size(); ++o)
      entry.reading.push_back(
          transfers.copySeconds(tree, tree.node(node).operands[o].node, candidate.needs[o]));
    return entry;
  }

  /// Operands as they are needed, the result, and what the computation needs beside it.
  double bytesOf(const Candidate &candidate) const {
    double bytes =
        blockBytes(tree, node, candidate.home) + bytesBeside(tree, node, candidate.schedule);
    for (std::size_t o = 0; o < candidate.needs.size(); ++o)
      bytes += blockBytes(tree, tree.node(node).operands[o].node, candidate.needs[o]);
    return bytes;
  }

  /// Whether one candidate does what the other does, with moves around it, and takes no longer.
  bool dominates(const Candidate &better, const Candidate &other) const {
    if (better.bytes > other.bytes)
      return false;
    const double gain = other.score - better.score;
    double left = gain; // By what moves take at least, in most cases not enough.
    for (std::size_t o = 0; o < other.needs.size() && left >= 0; ++o)
      left -= transfers.supplyBound(tree, tree.node(node).operands[o].node, other.needs[o],
                                    better.needs[o], better.areChunks[o]);
    if (left < 0)
      return false;
    left = gain;
    for (std::size_t o = 0; o < other.needs.size() && left >= 0; ++o)
      left -= transfers.supplySeconds(tree, tree.node(node).operands[o].node, other.needs[o],
                                      better.needs[o], better.areChunks[o]);
    if (left < 0)
      return false;
    if (better.home == other.home)
      return true;
    // Sums are added up by the node that makes them rather than before the next one.
    return !has(better.home, AxisKind::Partial) && !has(other.home, AxisKind::Partial) &&
           left >= transfers.moveSeconds(tree, node, better.home, other.home);
  }

  const Tree &tree;
  const NodeId node;
  const Machine &machine;
  const TransferCost &transfers;
  const CandidateLimits &limits;
  RunCosts costs;
  std::size_t number = 0; ///< of candidates so far
  int64_t mostRanks = 1;  ///< of these
  std::deque<Entry> all;
  std::unordered_multimap<std::size_t, std::size_t> entriesByHash;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> queue;
};

} // namespace

double bytesBeside(const Tree &tree, NodeId node, const NodeSchedule &on) {
  double bytes = 0;
  const Placement work = workPlacement(tree, node, on, Role::C);
  if (work != storedPlacement(tree, node, on, Role::C))
    bytes += blockBytes(tree, node, work);
  if (const std::optional<Stepping> stepping = steppingOf(tree, node, on))
    for (std::size_t t = 0; t < stepping->travellers.size(); ++t)
      bytes += static_cast<double>(chunkMemoryOfFirstLine(*stepping, t).elements() *
                                   sizeInBytes(tree.elementType()));
  return bytes;
}

Candidate candidateOf(const Tree &tree, NodeId node, NodeSchedule schedule, const Machine &machine,
                      const TransferCost &transfers) {
  const std::optional<Stepping> stepping = steppingOf(tree, node, schedule);
  Candidate candidate = withoutCost(tree, node, std::move(schedule), stepping);
  RunCosts costs(tree, node, machine, transfers);
  addCost(candidate, costs, machine);
  return candidate;
}

std::vector<Candidate> candidatesOf(const Tree &tree, NodeId node, const Machine &machine,
                                    const TransferCost &transfers, const RankRange &ranks,
                                    const std::vector<int> &lifetimes,
                                    const CandidateLimits &limits) {
  Choice choice(tree, node, machine, transfers, limits);
  choice.add(localSchedule(ranks.size, ranks.first));
  if (ranks.size == 1)
    return choice.run();
  choice.add(localSchedule(1, ranks.first));
  for (const WorkCut &cut : workCuts(tree, node, machine, ranks.size, lifetimes, limits.cuts))
    for (NodeSchedule &schedule : movementsOf(tree, node, cut, ranks.first, limits))
      choice.add(std::move(schedule));
  return choice.run();
}

} // namespace einsumc
