//===- Algorithms.cpp - the named points of the schedule space --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Algorithms.h"

#include "compiler/plan/AlgorithmText.h"
#include "compiler/support/Text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

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
  bool sharesDim = false; ///< all axes cut the same dim
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
      {"rotating", {{M}, {M, Ring}}, Shape::Factors, true, true},
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
  return best;
}

/// The axis of a traveller whose chunks are cut along a position, or that has none to be cut along.
AxisSchedule moved(DimId loop, Role role, Movement movement, std::optional<int> position) {
  AxisSchedule axis{loop, position ? split(*position, 1) : copied(), movement, 1};
  // An input without a dim to be cut along is copied; a result is still added up.
  if (!position)
    axis.movement = role == Role::C ? Movement::Gather : Movement::None;
  // Of partial sums one part travels while another is computed.
  if (role == Role::C && axis.movement == Movement::Ring)
    axis.pace = 2;
  return axis;
}

/// The axis of a traveller that does not move before or after, or of no traveller.
AxisSchedule unmoved(DimId loop, std::optional<Role> role) {
  return {loop, role == Role::C ? partial() : copied(), Movement::None, 1};
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

NodeSchedule localSchedule(int64_t ranks, int64_t firstRank) {
  return {{{ranks}, firstRank}, {AxisSchedule{std::nullopt, copied(), Movement::None, 1}}};
}

NodeSchedule cutAlong(const Tree &tree, NodeId node, DimId dim, int64_t ranks) {
  const std::optional<Role> role = travellerOf(classOf(tree, node, dim));
  if (role != Role::C)
    return {{{ranks}, 0}, {unmoved(dim, role)}};
  const std::vector<DimId> &dims = dimsOf(tree, node, Role::C);
  std::optional<int> position = chunkPosition(tree, node, dims, {dim}, std::nullopt);
  if (position && tree.dim(dims[static_cast<std::size_t>(*position)]).extent == 1)
    position.reset(); // All have the sums rather than one rank.
  return {{{ranks}, 0}, {moved(dim, Role::C, Movement::Gather, position)}};
}

namespace {

/// A row of the table for one node, with what the user has chosen.
class Naming {
public:
  Naming(const Tree &tree, NodeId node, const Row &row, const AlgorithmText &text, int64_t ranks)
      : tree(tree), node(node), row(row), text(text), ranks(ranks) {}

  std::variant<NodeSchedule, std::string> run(const ScheduleSeconds &seconds) {
    chooseLoops();
    grid = chooseGrid();
    if (!problem.empty())
      return problem;
    std::variant<NodeSchedule, std::string> named = schedule();
    if (const auto *usual = std::get_if<NodeSchedule>(&named); usual && seconds)
      return cheapest(*usual, seconds);
    return named;
  }

private:
  /// The schedule of the loops, the grid and the chunks chosen so far.
  std::variant<NodeSchedule, std::string> schedule() {
    nextChunk = 0;
    movesInSteps = false;
    problem.clear();
    NodeSchedule schedule{{grid, 0}, {}};
    for (std::size_t i = 0; i < loops.size(); ++i)
      schedule.axes.push_back(axis(i));
    if (problem.empty() && nextChunk < text.chunks.size())
      fail("moves " + countText(nextChunk, "traveller") + ", but t= names " +
           countText(text.chunks.size(), "dim"));
    if (problem.empty() && text.pace > 0 && !movesInSteps)
      fail("moves nothing while it computes: it has no pace");
    if (!problem.empty())
      return problem;
    if (const std::string broken = checkNodeSchedule(tree, node, schedule, ranks); !broken.empty())
      return "'" + text.name + "' does not fit " + equationText(tree, node) + ": " + broken;
    return schedule;
  }

  /// What takes the least time of the schedules whose dims the text leaves open: axis by axis the
  /// loop dim, then the dim along which a lone traveller's chunks are cut.
  NodeSchedule cheapest(NodeSchedule best, const ScheduleSeconds &seconds) {
    double least = seconds(best);
    // Whether what is chosen now is better than all before.
    const auto isBetter = [&] {
      const std::variant<NodeSchedule, std::string> named = schedule();
      const auto *other = std::get_if<NodeSchedule>(&named);
      const double took = other ? seconds(*other) : least;
      if (took >= least)
        return false;
      best = *other;
      least = took;
      return true;
    };
    for (std::size_t i = 0; text.dims.empty() && i < loops.size(); ++i)
      for (const DimId dim : tree.iterationDims(node)) {
        if (dim == loops[i] || classOf(tree, node, dim) != classOf(tree, node, loops[i]))
          continue;
        const std::vector<DimId> before = loops;
        if (row.sharesDim)
          std::fill(loops.begin(), loops.end(), dim);
        else
          loops[i] = dim;
        if (!isBetter())
          loops = before;
      }
    const std::optional<std::size_t> axis = axisOfLoneTraveller(best);
    if (!text.chunks.empty() || !axis)
      return best;
    const std::vector<DimId> &dims = dimsOf(tree, node, *traveller(*axis));
    for (int position = 0; position < static_cast<int>(dims.size()); ++position) {
      if (tree.dim(dims[static_cast<std::size_t>(position)]).extent < grid[*axis])
        continue; // No chunk for some.
      const std::optional<Chunks> before = std::exchange(tried, Chunks{*axis, position});
      if (!isBetter())
        tried = before;
    }
    return best;
  }

  /// What moves along an axis if anything does.
  std::optional<Role> traveller(std::size_t axis) const {
    return travellerOf(classOf(tree, node, loops[axis]));
  }

  /// The axis of what moves in chunks while the node computes, if it is one tensor.
  std::optional<std::size_t> axisOfLoneTraveller(const NodeSchedule &schedule) const {
    std::optional<std::size_t> axis;
    for (std::size_t i = 0; i < schedule.axes.size(); ++i)
      if (isStepping(schedule.axes[i].movement)) {
        if (axis || !traveller(i))
          return std::nullopt;
        axis = i;
      }
    return axis;
  }

  void fail(const std::string &what) {
    if (problem.empty())
      problem = "'" + text.name + "' " + what;
  }

  static std::string countText(std::size_t count, const std::string &what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  }

  std::vector<DimClass> classesOf(const RowAxis &axis) const {
    if (axis.movement == Movement::Stream && !text.dims.empty())
      return {DimClass::C, DimClass::M, DimClass::N};
    if (axis.movement == Movement::Stream) // Rather along a dim that needs no operand everywhere.
      return longestDim(tree, node, {DimClass::C}) ? std::vector{DimClass::C}
                                                   : std::vector{DimClass::M, DimClass::N};
    return row.eitherSide ? std::vector{DimClass::M, DimClass::N} : std::vector{axis.loop};
  }

  void chooseLoops() {
    if (!text.dims.empty() && text.dims.size() != row.axes.size())
      return fail("has " + std::to_string(row.axes.size()) +
                  (row.axes.size() == 1 ? " axis" : " axes") + ", but dim= names " +
                  countText(text.dims.size(), "dim"));
    for (std::size_t i = 0; i < row.axes.size(); ++i) {
      const std::vector<DimClass> classes = classesOf(row.axes[i]);
      const std::optional<DimId> dim =
          text.dims.empty() ? longestDim(tree, node, classes) : namedLoop(text.dims[i], classes);
      if (!dim && problem.empty())
        problem = lackText(tree, node, text.name, row.axes[i], row.eitherSide);
      if (!dim)
        return;
      loops.push_back(*dim);
    }
    if (row.sharesDim &&
        std::adjacent_find(loops.begin(), loops.end(), std::not_equal_to<>()) != loops.end())
      fail("cuts one dim along all its axes, but dim= names different ones");
  }

  std::optional<DimId> namedLoop(const std::string &name, const std::vector<DimClass> &classes) {
    for (const DimId dim : tree.iterationDims(node))
      if (tree.dim(dim).name == name) {
        if (std::find(classes.begin(), classes.end(), classOf(tree, node, dim)) != classes.end())
          return dim;
        fail("cannot cut " + equationText(tree, node) + " along '" + name +
             "', which is of another class");
        return std::nullopt;
      }
    fail("cannot cut " + equationText(tree, node) + " along '" + name + "', which it has not");
    return std::nullopt;
  }

  std::vector<int64_t> chooseGrid() {
    if (!text.grid.empty()) {
      if (text.grid.size() != row.axes.size())
        fail("has a grid of " + countText(row.axes.size(), "dimension") + ", but grid= one of " +
             std::to_string(text.grid.size()));
      return text.grid;
    }
    const std::optional<std::vector<int64_t>> usual = gridOf(row, ranks);
    if (!usual)
      fail("needs a grid with " +
           std::string(row.shape == Shape::Cube ? "axes of the same extent" : "a square in it") +
           ", which " + std::to_string(ranks) + " ranks are not");
    return usual.value_or(std::vector<int64_t>{});
  }

  AxisSchedule axis(std::size_t i) {
    const Movement movement = row.axes[i].movement;
    const std::optional<Role> role = traveller(i);
    AxisSchedule result = unmoved(loops[i], role);
    if (movement == Movement::Stream) {
      result = {loops[i], atRoot(), movement, kStreamedParts};
    } else if (role && movement != Movement::None) {
      const std::optional<int> cut = position(i, *role);
      // A result is added up all the same. On an axis of one rank there is nothing to move.
      if (!cut && grid[i] > 1 && !(*role == Role::C && movement == Movement::Gather))
        fail("cuts '" + tree.node(tensorOf(tree, node, *role)).name + "' into chunks, but " +
             equationText(tree, node) + " gives it no dim for that");
      result = moved(loops[i], *role, movement, cut);
    }
    if (isStepping(result.movement)) {
      movesInSteps = true;
      if (text.pace > 0)
        result.pace = text.pace;
    }
    return result;
  }

  /// The position of the traveller that its chunks are cut along.
  std::optional<int> position(std::size_t i, Role role) {
    const std::vector<DimId> &dims = dimsOf(tree, node, role);
    if (tried && tried->axis == i)
      return tried->position;
    if (text.chunks.empty())
      return chunkPosition(tree, node, dims, loops, row.axes[i].chunks);
    if (nextChunk == text.chunks.size()) {
      fail("moves more travellers than t= names dims");
      return std::nullopt;
    }
    const std::string &name = text.chunks[nextChunk++];
    for (std::size_t p = 0; p < dims.size(); ++p)
      if (tree.dim(dims[p]).name == name)
        return static_cast<int>(p);
    fail("cannot cut chunks of '" + tree.node(tensorOf(tree, node, role)).name + "' along '" +
         name + "', which it has not in " + equationText(tree, node));
    return std::nullopt;
  }

  /// An axis whose traveller is cut along a position.
  struct Chunks {
    std::size_t axis;
    int position;
  };

  const Tree &tree;
  const NodeId node;
  const Row &row;
  const AlgorithmText &text;
  const int64_t ranks;
  std::vector<DimId> loops;
  std::vector<int64_t> grid;
  std::optional<Chunks> tried; ///< of a lone traveller; none: the usual
  std::size_t nextChunk = 0;
  bool movesInSteps = false;
  std::string problem;
};

} // namespace

std::string checkAlgorithm(llvm::StringRef text) {
  const std::variant<AlgorithmText, std::string> parsed = parseAlgorithm(text);
  if (const auto *problem = std::get_if<std::string>(&parsed))
    return *problem;
  const std::string &name = std::get<AlgorithmText>(parsed).name;
  const std::vector<std::string> names = algorithmNames();
  if (std::find(names.begin(), names.end(), name) == names.end())
    return "unknown algorithm '" + name + "'; known are " + join(names, ", ");
  if (name == "local" && text != "local")
    return "'local' leaves nothing to choose";
  return "";
}

std::variant<NodeSchedule, std::string> scheduleByName(const Tree &tree, NodeId node,
                                                       llvm::StringRef text, int64_t ranks,
                                                       const ScheduleSeconds &seconds) {
  if (std::string problem = checkAlgorithm(text); !problem.empty())
    return problem;
  if (text == "local")
    return localSchedule(ranks);
  const auto parsed = std::get<AlgorithmText>(parseAlgorithm(text));
  const auto row = std::find_if(table().begin(), table().end(),
                                [&](const Row &r) { return r.name == parsed.name; });
  return Naming(tree, node, *row, parsed, ranks).run(seconds);
}

std::vector<std::string> algorithmNames() {
  std::vector<std::string> names{"local"};
  for (const Row &row : table())
    names.push_back(row.name.str());
  return names;
}

} // namespace einsumc
