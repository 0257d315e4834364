//===- Movements.cpp - how the travellers of a node may move ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Movements.h"

#include "compiler/plan/Algorithms.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstddef>
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
    for (std::size_t axis = 0; axis < cut.loops.size(); ++axis)
      options.push_back(optionsOf(axis));
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
    for (const AxisSchedule &option : options[axis]) {
      if (!mayJoin(option))
        continue;
      schedule.axes.push_back(option);
      addAxis();
      schedule.axes.pop_back();
    }
  }

  /// Whether what moves in steps along an axis may do so beside what does along those before: only
  /// A and B, in the same way.
  bool mayJoin(const AxisSchedule &option) const {
    return !isStepping(option.movement) ||
           llvm::none_of(schedule.axes, [&](const AxisSchedule &on) {
             return isStepping(on.movement) &&
                    (on.movement != option.movement || roleOf(on) == roleOf(option));
           });
  }

  std::optional<Role> roleOf(const AxisSchedule &on) const {
    return travellerOf(classOf(tree, node, *on.loopDim));
  }

  /// Whether what moves in steps does so with a partner, or alone as a ring.
  bool isWorthwhile() const {
    const auto moves = [](const AxisSchedule &on) { return isStepping(on.movement); };
    const auto first = llvm::find_if(schedule.axes, moves);
    return first == schedule.axes.end() || llvm::count_if(schedule.axes, moves) == 2 ||
           first->movement == Movement::Ring || first->movement == Movement::Stream;
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
  std::vector<std::vector<AxisSchedule>> options; ///< by axis
  NodeSchedule schedule;
  std::vector<NodeSchedule> found;
};

} // namespace

std::vector<NodeSchedule> movementsOf(const Tree &tree, NodeId node, const WorkCut &cut,
                                      int64_t firstRank, const CandidateLimits &limits) {
  return Movements(tree, node, cut, firstRank, limits).run();
}

} // namespace einsumc
