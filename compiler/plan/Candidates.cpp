//===- Candidates.cpp - the schedules of a node that are worth a thought ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Candidates.h"

#include "compiler/plan/Algorithms.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace einsumc {

namespace {

/// The ways in which the travellers of one cut of the work may move.
class Movements {
public:
  Movements(const Tree &tree, NodeId node, const WorkCut &cut, int64_t firstRank,
            const CandidateLimits &limits)
      : tree(tree), node(node), cut(cut), limits(limits), schedule{{cut.extents, firstRank}, {}} {}

  std::vector<NodeSchedule> run() {
    addAxis();
    return std::move(found);
  }

private:
  void addAxis() {
    const std::size_t axis = schedule.axes.size();
    if (axis == cut.loops.size()) {
      if (isWorthwhile() &&
          checkNodeSchedule(tree, node, schedule, rangeOf(schedule.grid).end()).empty())
        found.push_back(schedule);
      return;
    }
    for (AxisSchedule &option : optionsOf(axis)) {
      schedule.axes.push_back(option);
      addAxis();
      schedule.axes.pop_back();
    }
  }

  /// Whether what moves in steps does so in one way, and alone as a ring.
  bool isWorthwhile() const {
    std::optional<Movement> first;
    std::size_t count = 0;
    for (const AxisSchedule &on : schedule.axes) {
      if (!isStepping(on.movement))
        continue;
      if (first && on.movement != *first)
        return false;
      first = on.movement;
      ++count;
    }
    return !first || count == 2 || *first == Movement::Ring || *first == Movement::Stream;
  }

  /// Whether the user wants an operand or the result at the root, from where parts may stream.
  bool isAnyAtRoot() const {
    auto isAtRoot = [&](NodeId tensor) { return tree.node(tensor).pin.kind == Pin::Kind::Root; };
    return isAtRoot(node) || llvm::any_of(tree.node(node).operands, [&](const Operand &operand) {
             return isAtRoot(operand.node);
           });
  }

  std::vector<AxisSchedule> optionsOf(std::size_t axis) const {
    const DimId loop = cut.loops[axis];
    const std::optional<Role> role = travellerOf(classOf(tree, node, loop));
    if (role != Role::C) {
      std::vector<AxisSchedule> options = {{loop, copied(), Movement::None, 1}};
      if (role)
        addSteps(axis, *role, options);
      if (isAnyAtRoot() && tree.node(node).kind == NodeKind::Product)
        options.push_back({loop, atRoot(), Movement::Stream, kStreamedParts});
      return options;
    }
    std::vector<AxisSchedule> options = {{loop, partial(), Movement::None, 1}};
    const std::vector<int> positions = chunkPositions(*role);
    for (const int position : positions)
      options.push_back({loop, split(position, 1), Movement::Gather, 1});
    if (positions.empty()) // A single element: for all, or for one.
      for (const AxisPlacement &storage : {copied(), atRoot()})
        options.push_back({loop, storage, Movement::Gather, 1});
    addSteps(axis, *role, options);
    return options;
  }

  /// The movements of the stepping loop. A ring sends each chunk as often as the others do, over
  /// the shortest ways and with the fewest messages, and needs and leaves everything where they do:
  /// they are for two travellers in lock step along axes of different extents.
  void addSteps(std::size_t axis, Role role, std::vector<AxisSchedule> &options) const {
    if (tree.node(node).kind == NodeKind::Unary)
      return;
    const bool mayBeInLockStep = hasPartner(axis, role);
    for (const int position : chunkPositions(role)) {
      AxisSchedule step{cut.loops[axis], split(position, 1), Movement::Ring, 1};
      addPaces(step, role, options);
      if (!mayBeInLockStep || !isSummed(role, position))
        continue;
      for (const Movement movement : {Movement::Bcast, Movement::Get}) {
        step.movement = movement;
        addPaces(step, role, options);
      }
    }
  }

  void addPaces(AxisSchedule step, Role role, std::vector<AxisSchedule> &options) const {
    // Of sums that rotate one part travels while another is computed.
    step.pace = role == Role::C ? 2 : 1;
    options.push_back(step);
    constexpr int64_t kMostParts = 16;
    for (step.pace *= 8; limits.isSparing && step.pace <= kMostParts; step.pace *= 8)
      options.push_back(step);
  }

  /// Whether the other operand travels along an axis of another extent.
  bool hasPartner(std::size_t axis, Role role) const {
    if (role == Role::C)
      return false;
    for (std::size_t other = 0; other < cut.loops.size(); ++other)
      if (travellerOf(classOf(tree, node, cut.loops[other])) ==
              (role == Role::A ? Role::B : Role::A) &&
          cut.extents[other] != cut.extents[axis])
        return true;
    return false;
  }

  bool isSummed(Role role, int position) const {
    const DimId dim = dimsOf(tree, node, role)[static_cast<std::size_t>(position)];
    return classOf(tree, node, dim) == DimClass::K;
  }

  /// The positions of a traveller along which its chunks may be cut: the longest, first those that
  /// no axis cuts already, and always a summed one, along which two travellers move in lock step.
  std::vector<int> chunkPositions(Role role) const {
    const std::vector<DimId> &dims = dimsOf(tree, node, role);
    std::vector<int> positions;
    for (int p = 0; p < static_cast<int>(dims.size()); ++p)
      if (tree.dim(dims[static_cast<std::size_t>(p)]).extent > 1)
        positions.push_back(p);
    llvm::stable_sort(positions, [&](int a, int b) { return quality(dims, a) > quality(dims, b); });
    if (positions.size() <= limits.chunkDims)
      return positions;
    const auto summed = llvm::find_if(positions, [&](int p) { return isSummed(role, p); });
    if (summed - positions.begin() >= static_cast<std::ptrdiff_t>(limits.chunkDims) &&
        summed != positions.end())
      positions[limits.chunkDims - 1] = *summed;
    positions.resize(limits.chunkDims);
    return positions;
  }

  std::pair<bool, int64_t> quality(const std::vector<DimId> &dims, int position) const {
    const DimId dim = dims[static_cast<std::size_t>(position)];
    return {!llvm::is_contained(cut.loops, dim), tree.dim(dim).extent};
  }

  const Tree &tree;
  const NodeId node;
  const WorkCut &cut;
  const CandidateLimits &limits;
  NodeSchedule schedule;
  std::vector<NodeSchedule> found;
};

class Choice {
public:
  Choice(const Tree &tree, NodeId node, const Machine &machine, const TransferCost &transfers,
         const CandidateLimits &limits)
      : tree(tree), node(node), machine(machine), transfers(transfers), limits(limits) {}

  void add(NodeSchedule schedule) {
    // An output cannot stay partial sums.
    if (tree.node(node).isOutput &&
        has(storedPlacement(tree, node, schedule, Role::C), AxisKind::Partial))
      return;
    Candidate candidate = candidateOf(tree, node, std::move(schedule), machine, transfers);
    if (limits.isSparing)
      candidate.bytes = bytesOf(candidate);
    double rank = candidate.score;
    for (std::size_t o = 0; o < candidate.needs.size(); ++o)
      rank += transfers.readSeconds(tree, tree.node(node).operands[o].node, candidate.needs[o]);
    for (Entry &other : all)
      if (other.candidate.needs == candidate.needs && other.candidate.home == candidate.home &&
          other.candidate.areChunks == candidate.areChunks &&
          other.candidate.bytes == candidate.bytes) {
        if (candidate.score < other.candidate.score)
          other = {std::move(candidate), rank};
        return;
      }
    all.push_back({std::move(candidate), rank});
  }

  std::vector<Candidate> run() {
    llvm::stable_sort(all, [](const Entry &a, const Entry &b) { return a.rank < b.rank; });
    // Where memory is short, the last half are the smallest.
    const std::size_t fastest = limits.isSparing ? limits.candidates / 2 : limits.candidates;
    std::vector<Candidate> kept;
    auto keep = [&](Entry &entry) {
      if (llvm::none_of(kept, [&](const Candidate &at) { return dominates(at, entry.candidate); }))
        kept.push_back(std::move(entry.candidate));
    };
    auto next = all.begin();
    for (; next != all.end() && kept.size() < fastest; ++next)
      keep(*next);
    std::stable_sort(next, all.end(), [](const Entry &a, const Entry &b) {
      return a.candidate.bytes < b.candidate.bytes;
    });
    for (; next != all.end() && kept.size() < limits.candidates; ++next)
      keep(*next);
    return kept;
  }

private:
  struct Entry {
    Candidate candidate;
    double rank; ///< seconds, with what it takes at least to bring operands that are stored once
  };

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
    double left = other.score - better.score;
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
  std::vector<Entry> all;
};

/// For every axis that the work is cut along, for a stepping loop, and for one-sided transfers.
double doubt(const NodeSchedule &on, double seconds, const Machine &machine) {
  // One-sided transfers wait for the other side with some MPI libraries and networks.
  constexpr double kOfAxis = 0.01, kOfSteps = 0.15, kOfGet = 0.1;
  double share = 0, messages = 0;
  for (const AxisSchedule &axis : on.axes)
    if (axis.loopDim) {
      share += kOfAxis;
      ++messages;
    }
  if (llvm::any_of(on.axes, [](const AxisSchedule &axis) { return isStepping(axis.movement); }))
    share += kOfSteps;
  if (llvm::any_of(on.axes,
                   [](const AxisSchedule &axis) { return axis.movement == Movement::Get; }))
    share += kOfGet;
  return share * seconds + messages * machine.withinNode.alpha;
}

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
  Candidate candidate{std::move(schedule), {}, 0, {}, {}, 0, {}};
  const NodeSchedule &on = candidate.schedule;
  const std::optional<Stepping> stepping = steppingOf(tree, node, on);
  for (std::size_t o = 0; o < tree.node(node).operands.size(); ++o) {
    const auto role = static_cast<Role>(o);
    candidate.needs.push_back(workPlacement(tree, node, on, role));
    candidate.areChunks.push_back(travels(stepping, role));
  }
  candidate.home = storedPlacement(tree, node, on, Role::C);
  candidate.cost = runCost(tree, node, on, machine, transfers);
  candidate.score = candidate.cost.seconds + doubt(on, candidate.cost.seconds, machine);
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
    for (NodeSchedule &schedule : Movements(tree, node, cut, ranks.first, limits).run())
      choice.add(std::move(schedule));
  return choice.run();
}

} // namespace einsumc
