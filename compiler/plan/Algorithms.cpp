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
#include <tuple>

namespace einsumc {

namespace {

/// One axis of a row of the table of algorithms: the class of its loop dim and how its traveller
/// moves.
struct RowAxis {
  DimClass loop;
  Movement movement = Movement::None;
  /// The class of the dim that the traveller's chunks are cut along; none: any.
  std::optional<DimClass> chunks = std::nullopt;
};

/// How the ranks are shared out among a row's axes.
enum class Shape : uint8_t {
  Factors, ///< as equal as possible
  Square,  ///< all but the last equal
  Cube,    ///< all equal
};

/// A row of the table of algorithms. M stands for m or n, whichever is longer, when `eitherSide`.
struct Row {
  llvm::StringLiteral name;
  std::vector<RowAxis> axes;
  Shape shape = Shape::Factors;
  bool eitherSide = false;
};

const std::vector<Row> &table() {
  using enum DimClass;
  using enum Movement;
  static const std::vector<Row> rows = {
      {"dist_c", {{C}}},
      {"ring_m", {{M, Ring}}},
      {"ring_n", {{N, Ring}}},
      {"ring_k", {{K, Ring}}},
      {"tp1d", {{M}}, Shape::Factors, true},
      {"reduce_k", {{K, Gather}}},
      {"tp2d", {{K, Gather}, {N}}},
      {"cannon", {{M, Ring, K}, {N, Ring, K}}, Shape::Cube},
      {"summa", {{M, Bcast, K}, {N, Bcast, K}}},
      {"summa_a", {{M, Gather}, {K, Gather}}},
      {"summa_b", {{K, Gather}, {N, Gather}}},
      {"summa_3d", {{M, Gather, K}, {N, Gather, K}, {K, Gather}}},
      {"summa_25d", {{M, Bcast, K}, {N, Bcast, K}, {K, Gather}}},
      {"cannon_25d", {{M, Ring, K}, {N, Ring, K}, {K, Gather}}, Shape::Square},
      {"tesseract", {{M, Bcast, K}, {N, Bcast, K}, {M}}, Shape::Square},
      {"cube_3d", {{M, Gather, N}, {N, Gather, M}, {K, Gather}}, Shape::Cube},
      {"rotating", {{M}, {M, Ring}}, Shape::Factors, true},
      {"one_sided", {{M, Get, K}, {N, Get, K}}},
      {"master_worker", {{C, Stream}}},
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
std::optional<int> chunkPosition(const Tree &tree, NodeId node, const std::vector<DimId> &dims,
                                 const std::vector<DimId> &loops, std::optional<DimClass> wanted) {
  std::optional<int> best;
  auto rank = [&](int position) {
    const DimId dim = dims[static_cast<std::size_t>(position)];
    const bool isFree = std::find(loops.begin(), loops.end(), dim) == loops.end();
    const bool isWanted = !wanted || classOf(tree, node, dim) == *wanted;
    return std::make_tuple(isWanted, isFree && tree.dim(dim).extent > 1, tree.dim(dim).extent);
  };
  for (int position = 0; position < static_cast<int>(dims.size()); ++position)
    if (!best || rank(position) > rank(*best))
      best = position;
  if (best && tree.dim(dims[static_cast<std::size_t>(*best)]).extent == 1)
    return std::nullopt;
  return best;
}

AxisSchedule axisOf(const Tree &tree, NodeId node, DimId loop, Movement movement,
                    const std::vector<DimId> &loops,
                    std::optional<DimClass> chunks = std::nullopt) {
  AxisSchedule axis{loop, copied(), Movement::None, 1};
  if (movement == Movement::Stream) {
    constexpr int64_t kParts = 4; // Of what a rank computes: a part comes while one is computed.
    return {loop, atRoot(), movement, kParts};
  }
  const std::optional<Role> role = travellerOf(classOf(tree, node, loop));
  if (!role)
    return axis;
  if (movement == Movement::None) {
    axis.storage = *role == Role::C ? partial() : copied();
    return axis;
  }
  const std::optional<int> position =
      chunkPosition(tree, node, dimsOf(tree, node, *role), loops, chunks);
  axis.storage = position ? split(*position, 1) : copied();
  // An input without a dim to be cut along is copied; a result is still added up.
  axis.movement = position ? movement : *role == Role::C ? Movement::Gather : Movement::None;
  if (*role == Role::C && axis.movement == Movement::Ring)
    axis.pace = 2;
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

/// The extents of a row's axes; none if the ranks are no such number.
std::optional<std::vector<int64_t>> gridOf(const Row &row, int64_t ranks) {
  const std::size_t axes = row.axes.size();
  if (row.shape == Shape::Factors)
    return squareGrid(ranks, axes);
  // The largest square that leaves whole layers.
  std::optional<std::vector<int64_t>> best;
  for (int64_t side = 1; side * side <= ranks; ++side) {
    std::vector<int64_t> grid(axes, side);
    int64_t size = side * side;
    if (axes == 3 && row.shape == Shape::Square)
      grid.back() = ranks / size;
    if (axes == 3)
      size *= grid.back();
    if (size == ranks)
      best = grid;
  }
  return best;
}

std::string lackText(const Tree &tree, NodeId node, llvm::StringRef name, const RowAxis &axis,
                     bool eitherSide) {
  static constexpr std::array<const char *, 4> kWhat = {
      "a c dim (one in both operands and the result)",
      "an m dim (one in the first operand and the result alone)",
      "an n dim (one in the second operand and the result alone)", "a k dim (a summed one)"};
  const bool streams = axis.movement == Movement::Stream;
  return "'" + name.str() + "' needs " +
         (streams      ? "a dim of the result"
          : eitherSide ? "an m or n dim (one in one operand and the result alone)"
                       : kWhat[static_cast<std::size_t>(axis.loop)]) +
         ", which " + equationText(tree, node) + " has not";
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
  for (const RowAxis &axis : row->axes) {
    std::vector<DimClass> classes{axis.loop};
    if (row->eitherSide)
      classes = {DimClass::M, DimClass::N};
    if (axis.movement == Movement::Stream) // Rather along a dim that needs no operand everywhere.
      classes = longestDim(tree, node, {DimClass::C}) ? std::vector{DimClass::C}
                                                      : std::vector{DimClass::M, DimClass::N};
    const std::optional<DimId> dim = longestDim(tree, node, classes);
    if (!dim)
      return lackText(tree, node, name, axis, row->eitherSide);
    loops.push_back(*dim);
  }
  const std::optional<std::vector<int64_t>> grid = gridOf(*row, ranks);
  if (!grid)
    return "'" + name.str() + "' needs a grid with " +
           (row->shape == Shape::Cube ? "axes of the same extent" : "a square in it") + ", which " +
           std::to_string(ranks) + " ranks are not";
  NodeSchedule schedule{{*grid, 0}, {}};
  for (std::size_t i = 0; i < loops.size(); ++i)
    schedule.axes.push_back(
        axisOf(tree, node, loops[i], row->axes[i].movement, loops, row->axes[i].chunks));
  if (const std::string problem = checkNodeSchedule(tree, node, schedule, ranks); !problem.empty())
    return "'" + name.str() + "' does not fit " + equationText(tree, node) + ": " + problem;
  return schedule;
}

std::vector<std::string> algorithmNames() {
  std::vector<std::string> names{"local"};
  for (const Row &row : table())
    names.push_back(row.name.str());
  return names;
}

} // namespace einsumc
