//===- SteppingCase.h - stepping loops of every kind, by chance -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TEST_UNIT_STEPPINGCASE_H
#define EINSUMC_TEST_UNIT_STEPPINGCASE_H

#include "einsumc/Stepping.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace einsumc::test {

// The dims of C[c,m,n] = A[c,m,k] * B[c,k,n].
inline constexpr int kC = 0, kM = 1, kN = 2, kK = 3;
/// The loop dim of an axis along which all ranks compute the same.
inline constexpr int kNone = -1;

/// A product of the above dims, positions of its tensors in any order, and how it is stepped.
struct SteppingCase {
  std::array<std::vector<int>, 3> dims; ///< by role: the dim of every position
  std::vector<int> loops;               ///< by axis: the dim that it cuts
  std::array<Layout, 3> layouts;        ///< by role
  Stepping stepping;

  std::size_t positionOf(std::size_t role, int dim) const {
    const auto found = std::ranges::find(dims[role], dim);
    return static_cast<std::size_t>(found - dims[role].begin());
  }
  bool has(std::size_t role, int dim) const { return positionOf(role, dim) < dims[role].size(); }
};

/// How one tensor travels.
struct Travel {
  std::size_t role = 0;
  StepMovement movement = StepMovement::Ring;
  std::size_t axis = 0;
};

/// A case from what is chosen freely.
/// \param extents of c, m, n, k
/// \param dim along which the travellers are cut
inline SteppingCase makeCase(std::array<std::vector<int>, 3> dims, std::vector<int64_t> extents,
                             const Grid &grid, std::vector<int> loops, int dim, int64_t pace,
                             const std::vector<Travel> &travels) {
  SteppingCase result{std::move(dims), std::move(loops), {}, {}};
  Stepping &stepping = result.stepping;
  stepping.work = {extents, grid, {}};
  // What streams lies at the root as the other axes cut it, so the axis of the stream cuts last.
  auto levelOf = [&](std::size_t axis) {
    return std::ranges::any_of(travels, [axis](const Travel &of) {
      return of.movement == StepMovement::Stream && of.axis == axis;
    });
  };
  for (std::size_t axis = 0; axis < result.loops.size(); ++axis)
    stepping.work.axes.push_back(
        result.loops[axis] == kNone ? copied() : split(result.loops[axis], levelOf(axis) ? 1 : 0));
  stepping.dim = static_cast<std::size_t>(dim);
  stepping.sums = dim == kK;
  stepping.pace = pace;
  for (std::size_t role = 0; role < 3; ++role) {
    Layout &layout = result.layouts[role];
    layout.grid = grid;
    for (const int d : result.dims[role])
      layout.extents.push_back(extents[static_cast<std::size_t>(d)]);
    for (std::size_t axis = 0; axis < result.loops.size(); ++axis) {
      const int loop = result.loops[axis];
      const auto travel = std::ranges::find_if(
          travels, [&](const Travel &of) { return of.role == role && of.axis == axis; });
      if (travel != travels.end() && travel->movement == StepMovement::Stream)
        layout.axes.push_back(atRoot());
      else if (travel != travels.end())
        layout.axes.push_back(split(static_cast<int>(result.positionOf(role, dim)), 1));
      else if (loop != kNone && result.has(role, loop))
        layout.axes.push_back(
            split(static_cast<int>(result.positionOf(role, loop)), levelOf(axis) ? 1 : 0));
      else
        layout.axes.push_back(loop == kK && role == 2 ? partial() : copied());
    }
  }
  for (const Travel &travel : travels)
    stepping.travellers.push_back({.role = travel.role,
                                   .movement = travel.movement,
                                   .chunks = result.layouts[travel.role],
                                   .axis = travel.axis,
                                   .position = result.positionOf(travel.role, dim)});
  return result;
}

/// Makes cases; the same ones from the same seed, whatever the standard library.
class RandomSteppings {
public:
  explicit RandomSteppings(uint64_t seed) : generator(seed) {}

  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator() % static_cast<uint64_t>(high - low + 1));
  }

  /// A case on a grid somewhere within `ranks` ranks.
  SteppingCase next(int64_t ranks) {
    const int64_t kind = number(0, 9);
    if (kind <= 2)
      return oneOperand(ranks);
    if (kind <= 5)
      return result(ranks);
    if (kind <= 7)
      return lockStep(ranks);
    return stream(ranks);
  }

private:
  template <class T> T oneOf(const std::vector<T> &choices) {
    return choices[static_cast<std::size_t>(number(0, static_cast<int64_t>(choices.size()) - 1))];
  }

  SteppingCase oneOperand(int64_t ranks) {
    const auto role = static_cast<std::size_t>(number(0, 1));
    const Grid where = grid(ranks, 1);
    const int dim = role == 0 ? oneOf<int>({kC, kM, kK}) : oneOf<int>({kC, kN, kK});
    return make(where, {role == 0 ? kN : kM}, dim, {{role, movement(), 0}});
  }

  SteppingCase result(int64_t ranks) {
    return make(grid(ranks, 1), {kK}, oneOf<int>({kC, kM, kN}), {{2, movement(), 0}});
  }

  SteppingCase lockStep(int64_t ranks) {
    const Grid where = grid(ranks, 2);
    StepMovement a = movement();
    StepMovement b = movement();
    // What a ring shifts must be cut as the other is.
    const int64_t rows = where.extents[0];
    const int64_t columns = where.extents[1];
    if (rows != columns && rows != 1 && columns != 1) {
      a = oneOf<StepMovement>({StepMovement::Bcast, StepMovement::Get});
      b = oneOf<StepMovement>({StepMovement::Bcast, StepMovement::Get});
    }
    return make(where, {kM, kN}, kK, {{0, a, 1}, {1, b, 0}});
  }

  SteppingCase stream(int64_t ranks) {
    const int dim = oneOf<int>({kC, kM, kN, kK});
    std::vector<Travel> travels;
    for (std::size_t role = 0; role < 3; ++role) {
      const bool hasDim = role == 0 ? dim != kN : role == 1 ? dim != kM : dim != kK;
      if (hasDim && (number(0, 3) > 0 || (travels.empty() && (role == 2 || dim == kK))))
        travels.push_back({role, StepMovement::Stream, 0});
    }
    if (travels.empty())
      travels.push_back({dim == kN ? 1U : 0U, StepMovement::Stream, 0});
    return make(grid(ranks, 1), {dim}, dim, travels);
  }

  StepMovement movement() {
    return oneOf<StepMovement>({StepMovement::Ring, StepMovement::Bcast, StepMovement::Get});
  }

  /// At least `axes` axes, mostly with more than one rank on the first ones.
  Grid grid(int64_t ranks, std::size_t axes) {
    Grid result;
    int64_t room = ranks;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const int64_t most = axis + 1 < axes && room >= 4 ? room / 2 : room;
      result.extents.push_back(number(number(0, 7) > 0 ? std::min<int64_t>(2, most) : 1, most));
      room /= result.extents.back();
    }
    for (int64_t extra = number(0, 2); extra > 0; --extra) {
      result.extents.push_back(number(1, room));
      room /= result.extents.back();
    }
    result.firstRank = number(0, ranks - result.size());
    return result;
  }

  SteppingCase make(const Grid &where, std::vector<int> loops, int dim,
                    const std::vector<Travel> &travels) {
    while (loops.size() < where.extents.size())
      loops.push_back(static_cast<int>(number(kNone, kK)));
    std::vector<int64_t> extents;
    for (int d = 0; d < 4; ++d)
      extents.push_back(number(0, 5) == 0 ? 1 : number(1, d == dim ? 13 : 6));
    std::array<std::vector<int>, 3> dims{{{kC, kM, kK}, {kC, kK, kN}, {kC, kM, kN}}};
    for (std::vector<int> &order : dims)
      for (std::size_t i = 2; i > 0; --i)
        std::swap(order[i], order[static_cast<std::size_t>(number(0, static_cast<int64_t>(i)))]);
    SteppingCase result = makeCase(dims, extents, where, loops, dim, number(1, 4), travels);
    for (Traveller &traveller : result.stepping.travellers)
      traveller.isSpent = traveller.role != 2 && number(0, 1) == 0;
    return result;
  }

  std::mt19937_64 generator;
};

/// One line that tells a case from others.
inline std::string describe(const SteppingCase &of) {
  std::string text = "grid";
  for (std::size_t axis = 0; axis < of.loops.size(); ++axis)
    text += " " + std::to_string(of.stepping.work.grid.extents[axis]) + ":" +
            (of.loops[axis] == kNone ? '-' : "cmnk"[of.loops[axis]]);
  text += " from " + std::to_string(of.stepping.work.grid.firstRank) + ", extents";
  for (const int64_t extent : of.stepping.work.extents)
    text += " " + std::to_string(extent);
  text += ", steps along " + std::string(1, "cmnk"[of.stepping.dim]) + ", pace " +
          std::to_string(of.stepping.pace);
  for (std::size_t role = 0; role < 3; ++role) {
    text += std::string(", ") + "ABC"[role] + "[";
    for (const int d : of.dims[role])
      text += "cmnk"[d];
    text += "]";
  }
  const std::array<const char *, 4> movements{"ring", "bcast", "get", "stream"};
  for (const Traveller &traveller : of.stepping.travellers)
    text += std::string(", ") + "ABC"[traveller.role] + " " +
            movements[static_cast<std::size_t>(traveller.movement)] + " on axis " +
            std::to_string(traveller.axis) + (traveller.isSpent ? ", spent" : "");
  return text;
}

} // namespace einsumc::test

#endif // EINSUMC_TEST_UNIT_STEPPINGCASE_H
