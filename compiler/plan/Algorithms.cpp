//===- Algorithms.cpp - the named points of the schedule space --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Algorithms.h"

#include "compiler/support/Text.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace einsumc {

namespace {

/// A row of the table of algorithms: the class of each axis's loop dim, and how its traveller
/// moves. M stands for m or n, whichever is longer, when `eitherSide`.
struct Row {
  llvm::StringLiteral name;
  std::vector<DimClass> loops;
  std::vector<Movement> movements;
  bool eitherSide = false;
};

const std::vector<Row> &table() {
  using enum DimClass;
  using enum Movement;
  static const std::vector<Row> rows = {
      {"dist_c", {C}, {None}},
      {"tp1d", {M}, {None}, true},
      {"reduce_k", {K}, {Gather}},
      {"tp2d", {K, N}, {Gather, None}},
      {"summa_a", {M, K}, {Gather, Gather}},
      {"summa_b", {K, N}, {Gather, Gather}},
      {"summa_3d", {M, N, K}, {Gather, Gather, Gather}},
  };
  return rows;
}

/// The dim of a class that keeps the most ranks busy: the longest, the first of equals.
std::optional<DimId> longestDim(const Tree &tree, NodeId node,
                                const std::vector<DimClass> &classes) {
  std::optional<DimId> best;
  for (DimId dim : tree.iterationDims(node))
    if (std::find(classes.begin(), classes.end(), classOf(tree, node, dim)) != classes.end() &&
        (!best || tree.dim(dim).extent > tree.dim(*best).extent))
      best = dim;
  return best;
}

/// The position of the traveller that its chunks are cut along: its longest, preferably not one
/// that the axis's own loops cut.
std::optional<int> chunkPosition(const Tree &tree, const std::vector<DimId> &dims,
                                 const std::vector<DimId> &loops) {
  std::optional<int> best;
  auto rank = [&](int position) {
    const DimId dim = dims[static_cast<std::size_t>(position)];
    const bool isFree = std::find(loops.begin(), loops.end(), dim) == loops.end();
    return std::make_pair(isFree && tree.dim(dim).extent > 1, tree.dim(dim).extent);
  };
  for (int position = 0; position < static_cast<int>(dims.size()); ++position)
    if (!best || rank(position) > rank(*best))
      best = position;
  if (best && tree.dim(dims[static_cast<std::size_t>(*best)]).extent == 1)
    return std::nullopt;
  return best;
}

AxisSchedule axisOf(const Tree &tree, NodeId node, DimId loop, Movement movement,
                    const std::vector<DimId> &loops) {
  AxisSchedule axis{loop, copied(), Movement::None, 1};
  const std::optional<Role> role = travellerOf(classOf(tree, node, loop));
  if (!role)
    return axis;
  if (movement == Movement::None) {
    axis.storage = *role == Role::C ? partial() : copied();
    return axis;
  }
  const std::optional<int> position = chunkPosition(tree, dimsOf(tree, node, *role), loops);
  axis.storage = position ? split(*position, 1) : copied();
  // An input without a dim to be cut along is copied; a result is still added up.
  axis.movement = position || *role == Role::C ? movement : Movement::None;
  return axis;
}

/// Factors of \p ranks, as equal as possible, the larger first.
std::vector<int64_t> squareGrid(int64_t ranks, std::size_t axes) {
  std::vector<int64_t> extents;
  for (std::size_t left = axes; left > 1; --left) {
    const double root = std::pow(static_cast<double>(ranks), 1.0 / static_cast<double>(left));
    auto factor = static_cast<int64_t>(std::ceil(root - 1e-9));
    while (ranks % factor != 0)
      ++factor;
    extents.push_back(factor);
    ranks /= factor;
  }
  extents.push_back(ranks);
  return extents;
}

} // namespace

NodeSchedule localSchedule(int64_t ranks) {
  return {{{ranks}, 0}, {AxisSchedule{std::nullopt, copied(), Movement::None, 1}}};
}

NodeSchedule cutAlong(const Tree &tree, NodeId node, DimId dim, int64_t ranks) {
  const bool sums = classOf(tree, node, dim) == DimClass::K;
  return {{{ranks}, 0}, {axisOf(tree, node, dim, sums ? Movement::Gather : Movement::None, {dim})}};
}

std::variant<NodeSchedule, std::string> scheduleByName(const Tree &tree, NodeId node,
                                                       llvm::StringRef name, int64_t ranks) {
  if (name == "local")
    return localSchedule(ranks);
  const auto row =
      std::find_if(table().begin(), table().end(), [&](const Row &r) { return r.name == name; });
  if (row == table().end())
    return "unknown algorithm '" + name.str() + "'; known are " + join(algorithmNames(), ", ");
  std::vector<DimId> loops;
  for (DimClass wanted : row->loops) {
    std::vector<DimClass> classes{wanted};
    if (row->eitherSide)
      classes = {DimClass::M, DimClass::N};
    const std::optional<DimId> dim = longestDim(tree, node, classes);
    if (!dim) {
      static constexpr std::array<const char *, 4> kWhat = {
          "a c dim (one in both operands and the result)",
          "an m dim (one in the first operand and the result alone)",
          "an n dim (one in the second operand and the result alone)", "a k dim (a summed one)"};
      return "'" + name.str() + "' needs " +
             (row->eitherSide ? "an m or n dim (one in one operand and the result alone)"
                              : kWhat[static_cast<std::size_t>(wanted)]) +
             ", which " + equationText(tree, node) + " has not";
    }
    loops.push_back(*dim);
  }
  NodeSchedule schedule{{squareGrid(ranks, loops.size()), 0}, {}};
  for (std::size_t i = 0; i < loops.size(); ++i)
    schedule.axes.push_back(axisOf(tree, node, loops[i], row->movements[i], loops));
  return schedule;
}

std::vector<std::string> algorithmNames() {
  std::vector<std::string> names{"local"};
  for (const Row &row : table())
    names.push_back(row.name.str());
  return names;
}

} // namespace einsumc
