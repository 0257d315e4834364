//===- TransferVolume.cpp - how much crosses ranks between two layouts ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// What a rank has already is the product, over the positions, of how far its interval under the
// source meets that under the target. Both intervals depend on a few digits of the rank's number
// alone, so the sum over all ranks falls into sums over those digits that share a position: for a
// tensor cut over a grid of 32 x 32 two sums of 32 terms, not one of 1024. Where the digits of two
// grids do not nest, ranks are taken in runs along the last axes of both.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Layout.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory_resource>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>

namespace einsumc {

namespace {

/// A coordinate, as a digit of the number of a rank counted from the grid's first.
struct Digit {
  int64_t stride = 1;
  int64_t extent = 1;

  int64_t of(int64_t number) const { return number / stride % extent; }
  bool operator==(const Digit &) const = default;
};

bool isPartOf(const Digit &digit, const Digit &coordinate) {
  return digit.stride >= coordinate.stride && digit.stride < coordinate.stride * coordinate.extent;
}

Digit digitOf(const Grid &grid, std::size_t axis) {
  return {grid.stride(axis), grid.extents[axis]};
}

bool cutsPosition(const AxisPlacement &on, std::size_t position) {
  return on.kind == AxisKind::Split && on.position == static_cast<int>(position);
}

/// The interval of one position under a layout, by the coordinates that it depends on.
class PositionRanges {
public:
  PositionRanges(const Layout &layout, std::size_t position, std::pmr::memory_resource *memory)
      : extent(layout.extents[position]), digits(memory), ranges(memory) {
    std::pmr::vector<std::size_t> cuts(memory);
    cuts.reserve(layout.axes.size());
    for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
      if (cutsPosition(layout.axes[axis], position))
        cuts.push_back(axis);
    std::ranges::sort(cuts, {},
                      [&](std::size_t axis) { return std::pair(layout.axes[axis].level, axis); });
    digits.reserve(cuts.size());
    for (const std::size_t axis : cuts)
      digits.push_back(digitOf(layout.grid, axis));
  }

  /// Finds the intervals, which are not needed for every sum.
  void findRanges() {
    if (!ranges.empty())
      return;
    ranges.reserve(static_cast<std::size_t>(parts()));
    ranges.push_back({0, extent});
    for (const Digit &digit : digits) {
      // Finer ones take the place of each, the last first.
      const std::size_t coarse = ranges.size(), finer = static_cast<std::size_t>(digit.extent);
      ranges.resize(coarse * finer);
      for (std::size_t r = coarse; r-- > 0;)
        cutInBlocks(ranges[r], std::span(ranges).subspan(r * finer, finer));
    }
  }

  /// Of the rank with a number, counted from the grid's first. \pre findRanges()
  const Interval *of(int64_t number) const {
    int64_t index = 0;
    for (const Digit &digit : digits)
      index = index * digit.extent + digit.of(number);
    return at(static_cast<std::size_t>(index));
  }

  /// They follow each other: where one ends the next begins. \pre findRanges()
  const Interval *at(std::size_t index) const { return &ranges[index]; }

  const std::pmr::vector<Digit> &dependsOn() const { return digits; }

  int64_t wholeExtent() const { return extent; }

  /// The number of intervals.
  int64_t parts() const {
    int64_t product = 1;
    for (const Digit &digit : digits)
      product *= digit.extent;
    return product;
  }

  bool areEven() const { return extent % parts() == 0; }

  /// The size of the first interval, which is the largest.
  int64_t firstSize() const { return firstBlock(extent, parts()); }

  /// By how much the index of the interval grows with a digit that is part of a coordinate.
  std::size_t weightOf(const Digit &digit) const {
    int64_t weight = 0, finer = 1; // Intervals that a coordinate's later cuts make.
    for (std::size_t d = digits.size(); d-- > 0; finer *= digits[d].extent)
      if (isPartOf(digit, digits[d]))
        weight += digit.stride / digits[d].stride * finer;
    return static_cast<std::size_t>(weight);
  }

private:
  /// All blocks of a range, as blockOf has each of them.
  static void cutInBlocks(Interval whole, std::span<Interval> blocks) {
    const auto parts = static_cast<int64_t>(blocks.size());
    const int64_t quotient = whole.size() / parts, longer = whole.size() % parts;
    int64_t begin = whole.begin, index = 0;
    for (Interval &block : blocks) {
      block = {begin, begin + quotient + (index++ < longer ? 1 : 0)};
      begin = block.end;
    }
  }

  int64_t extent;
  std::pmr::vector<Digit> digits;
  std::pmr::vector<Interval> ranges;
};

/// The intervals of a position under both layouts while a coordinate runs from a value on.
struct Overlap {
  const Interval *source, *target;    ///< at the first value
  std::size_t sourceStep, targetStep; ///< from a value to the next; 0: it stays the same
};

int64_t commonSize(const Interval &a, const Interval &b) {
  return std::max<int64_t>(0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

/// The sum over so many values, at least one, of the product of what the overlaps have in common.
int64_t sumOfProducts(std::span<const Overlap> overlaps, std::size_t count) {
  int64_t factor = 1;
  std::array<const Overlap *, 2> varying{};
  std::size_t variables = 0;
  for (const Overlap &overlap : overlaps)
    if (overlap.sourceStep == 0 && overlap.targetStep == 0)
      factor *= commonSize(*overlap.source, *overlap.target);
    else // A coordinate cuts at most one position under each layout.
      varying[variables++] = &overlap;
  if (factor == 0 || variables == 0)
    return factor * static_cast<int64_t>(count);
  const auto size = [](const Overlap &of, std::size_t i) {
    return commonSize(of.source[i * of.sourceStep], of.target[i * of.targetStep]);
  };
  const Overlap &first = *varying[0];
  if (variables == 1) {
    // Neighbours together are one interval.
    if (first.sourceStep == 1 && first.targetStep == 0)
      return factor * commonSize({first.source->begin, first.source[count - 1].end}, *first.target);
    if (first.targetStep == 1 && first.sourceStep == 0)
      return factor * commonSize(*first.source, {first.target->begin, first.target[count - 1].end});
  }
  int64_t sum = 0;
  if (variables == 1)
    for (std::size_t i = 0; i < count; ++i)
      sum += size(first, i);
  else
    for (std::size_t i = 0; i < count; ++i)
      sum += size(first, i) * size(*varying[1], i);
  return factor * sum;
}

using Digits = std::pmr::vector<Digit>;

/// What ranks have already of their target blocks.
class OwnVolume {
public:
  /// \param memory for what the sums need
  OwnVolume(const Layout &source, const Layout &target, std::pmr::memory_resource *memory)
      : layouts{&source, &target}, roots{Digits(memory), Digits(memory)}, positions(memory),
        digits(memory), group(memory), own(memory), cutsOfPosition{Digits(memory), Digits(memory)},
        overlaps(memory), steps(memory), value(memory) {
    positions.reserve(source.extents.size());
    for (const Layout *layout : layouts)
      for (std::size_t axis = 0; axis < layout->axes.size(); ++axis)
        if (layout->axes[axis].kind == AxisKind::Root)
          roots[layout == &target].push_back(digitOf(layout->grid, axis));
    for (std::size_t p = 0; p < source.extents.size(); ++p) {
      const auto cutsThis = [&](const AxisPlacement &on) { return cutsPosition(on, p); };
      if (std::ranges::any_of(source.axes, cutsThis) || std::ranges::any_of(target.axes, cutsThis))
        positions.push_back({PositionRanges(source, p, memory), PositionRanges(target, p, memory)});
      else
        uncut *= source.extents[p];
    }
  }

  /// Summed over the ranks of both grids.
  int64_t sum() {
    const Grid &a = layouts[0]->grid, &b = layouts[1]->grid;
    return uncut * (a.firstRank == b.firstRank && findDigits() ? sumByDigits() : sumByRuns());
  }

private:
  /// The digits of a mixed radix in which the coordinates of either grid are runs of digits, of the
  /// numbers that both grids have; false if the grids do not nest.
  bool findDigits() {
    const int64_t common = std::min(layouts[0]->grid.size(), layouts[1]->grid.size());
    std::pmr::vector<int64_t> strides({1, common}, digits.get_allocator());
    for (const Layout *layout : layouts)
      for (std::size_t axis = 0; axis < layout->axes.size(); ++axis)
        strides.push_back(digitOf(layout->grid, axis).stride);
    std::ranges::sort(strides);
    strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
    for (std::size_t i = 0; i + 1 < strides.size(); ++i) {
      if (strides[i + 1] % strides[i] != 0)
        return false;
      if (strides[i] < common)
        digits.push_back({strides[i], strides[i + 1] / strides[i]});
    }
    return true;
  }

  /// Rank by rank, those together that differ in the last coordinate of both grids alone.
  int64_t sumByRuns() {
    const Grid &a = layouts[0]->grid, &b = layouts[1]->grid;
    const int64_t lastA = lastExtent(a), lastB = lastExtent(b);
    const int64_t end = std::min(a.firstRank + a.size(), b.firstRank + b.size());
    overlaps.clear();
    for (auto &[source, target] : positions) {
      source.findRanges();
      target.findRanges();
      overlaps.push_back(
          {nullptr, nullptr, source.weightOf({1, lastA}), target.weightOf({1, lastB})});
    }
    const bool isRootLast = isAnyRootLast();
    int64_t sum = 0, length = 0;
    for (int64_t rank = std::max(a.firstRank, b.firstRank); rank < end; rank += length) {
      const int64_t inA = rank - a.firstRank, inB = rank - b.firstRank;
      length = std::min({lastA - inA % lastA, lastB - inB % lastB, end - rank});
      if (isElsewhere(roots[0], inA) || isElsewhere(roots[1], inB))
        continue;
      bool isAny = true; // Most runs of ranks have nothing of some position.
      for (std::size_t p = 0; p < positions.size() && isAny; ++p) {
        Overlap &overlap = overlaps[p];
        overlap.source = positions[p][0].of(inA);
        overlap.target = positions[p][1].of(inB);
        isAny = overlap.sourceStep + overlap.targetStep > 0 ||
                commonSize(*overlap.source, *overlap.target) > 0;
      }
      if (!isAny)
        continue;
      // Of those that differ along a Root axis the first alone has something.
      sum += sumOfProducts(overlaps, isRootLast ? 1 : static_cast<std::size_t>(length));
    }
    return sum;
  }

  static int64_t lastExtent(const Grid &grid) {
    return grid.extents.empty() ? 1 : grid.extents.back();
  }
  static bool isElsewhere(const Digits &roots, int64_t number) {
    return std::ranges::any_of(roots, [&](const Digit &root) { return root.of(number) != 0; });
  }
  bool isAnyRootLast() const {
    return std::ranges::any_of(roots, [](const Digits &of) {
      return std::ranges::any_of(of, [](const Digit &root) { return root.stride == 1; });
    });
  }

  /// The product of the sums over groups of digits that share no position.
  int64_t sumByDigits() {
    group.resize(digits.size() + positions.size());
    std::iota(group.begin(), group.end(), std::size_t{0});
    for (std::size_t p = 0; p < positions.size(); ++p)
      for (const PositionRanges &ranges : positions[p])
        for (const Digit &coordinate : ranges.dependsOn())
          for (std::size_t d = 0; d < digits.size(); ++d)
            if (isPartOf(digits[d], coordinate))
              join(d, digits.size() + p);
    int64_t product = 1;
    for (std::size_t g = 0; g < group.size(); ++g)
      if (group[g] == g)
        product *= sumOver(g);
    return product;
  }

  void join(std::size_t a, std::size_t b) {
    const std::size_t low = std::min(group[a], group[b]), high = std::max(group[a], group[b]);
    std::ranges::replace(group, high, low);
  }

  /// The sum over all values of a group's digits.
  int64_t sumOver(std::size_t of) {
    own.clear();
    int64_t count = 1; // of values
    for (std::size_t d = 0; d < digits.size(); ++d)
      if (group[d] == of && !isFixed(digits[d])) {
        own.push_back(digits[d]);
        count *= digits[d].extent;
      }
    std::size_t members = 0, last = 0;
    bool areEqual = true; // What the blocks of each position have in common, for all values.
    int64_t equalSum = count;
    for (std::size_t p = 0; p < positions.size(); ++p)
      if (group[digits.size() + p] == of) {
        ++members;
        last = p;
        const auto &[source, target] = positions[p];
        areEqual = areEqual && std::min(source.parts(), target.parts()) == 1 && source.areEven() &&
                   target.areEven();
        equalSum *= std::min(source.firstSize(), target.firstSize());
      }
    if (areEqual || count == 1)
      return equalSum;
    // All parts of a whole are the whole.
    if (members == 1 && partsTogether(positions[last]) == count)
      return positions[last][0].wholeExtent();
    return sumOverValues(of);
  }

  /// Parts that make the whole of a position: both layouts cut it alike at first, and then each of
  /// these blocks along digits of their own, all values of which meet. More than there are values
  /// if they have later digits in common.
  int64_t partsTogether(const std::array<PositionRanges, 2> &of) {
    std::array<Digits, 2> &cuts = cutsOfPosition;
    const bool areEven = of[0].areEven() && of[1].areEven();
    for (const std::size_t layout : {0, 1}) {
      cuts[layout].clear();
      for (const Digit &coordinate : of[layout].dependsOn())
        if (areEven) // Then it is all the same in how many steps they are cut.
          std::ranges::copy_if(std::views::reverse(digits), std::back_inserter(cuts[layout]),
                               [&](const Digit &digit) { return isPartOf(digit, coordinate); });
        else
          cuts[layout].push_back(coordinate);
    }
    int64_t parts = of[0].parts() * of[1].parts();
    for (std::size_t d = 0; d < std::min(cuts[0].size(), cuts[1].size()); ++d) {
      if (cuts[0][d] != cuts[1][d])
        break;
      parts /= cuts[0][d].extent;
    }
    return parts;
  }

  /// The same by going through the values.
  int64_t sumOverValues(std::size_t of) {
    if (own.empty())
      own.push_back({});
    overlaps.clear(); // By position of the group, while the first digit runs.
    steps.clear();    // By digit, then by position.
    for (std::size_t p = 0; p < positions.size(); ++p)
      if (group[digits.size() + p] == of) {
        auto &[source, target] = positions[p];
        source.findRanges();
        target.findRanges();
        overlaps.push_back(
            {source.at(0), target.at(0), source.weightOf(own[0]), target.weightOf(own[0])});
      }
    for (const Digit &digit : own)
      for (std::size_t p = 0; p < positions.size(); ++p)
        if (group[digits.size() + p] == of)
          steps.push_back({static_cast<int64_t>(positions[p][0].weightOf(digit)),
                           static_cast<int64_t>(positions[p][1].weightOf(digit))});
    value.assign(own.size(), 0);
    int64_t sum = 0;
    while (true) {
      sum += sumOfProducts(overlaps, static_cast<std::size_t>(own[0].extent));
      std::size_t d = 1;
      for (; d < own.size(); ++d) {
        const bool wraps = ++value[d] == own[d].extent;
        const int64_t count = wraps ? 1 - own[d].extent : 1;
        for (std::size_t o = 0; o < overlaps.size(); ++o) {
          const std::array<int64_t, 2> &step = steps[d * overlaps.size() + o];
          overlaps[o].source += count * step[0];
          overlaps[o].target += count * step[1];
        }
        if (!wraps)
          break;
        value[d] = 0;
      }
      if (d >= own.size())
        return sum;
    }
  }

  /// Whether only the root, at 0 there, has something.
  bool isFixed(const Digit &digit) const {
    return std::ranges::any_of(roots, [&](const Digits &of) {
      return std::ranges::any_of(of, [&](const Digit &root) { return isPartOf(digit, root); });
    });
  }

  std::array<const Layout *, 2> layouts;
  std::array<Digits, 2> roots; ///< of source and target: the Root axes
  std::pmr::vector<std::array<PositionRanges, 2>> positions; ///< those that a layout cuts
  int64_t uncut = 1;                                         ///< elements along the others
  Digits digits;
  std::pmr::vector<std::size_t>
      group; ///< of digits, then of positions: the least that they depend on
  // Of a sum; here so that the next one has their memory.
  Digits own;
  std::array<Digits, 2> cutsOfPosition;
  std::pmr::vector<Overlap> overlaps;
  std::pmr::vector<std::array<int64_t, 2>> steps;
  std::pmr::vector<int64_t> value;
};

int64_t extentOf(const Layout &layout, AxisKind kind) {
  int64_t result = 1;
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
    if (layout.axes[axis].kind == kind)
      result *= layout.grid.extents[axis];
  return result;
}

} // namespace

int64_t transferVolume(const Layout &source, const Layout &target) {
  // A receiver gets every element once for each partial sum, and from itself what it has.
  int64_t received = extentOf(source, AxisKind::Partial) * extentOf(target, AxisKind::Copy);
  for (const int64_t extent : target.extents)
    received *= extent;
  // The planner asks for many thousands of volumes: most need no more memory than this.
  std::array<std::byte, 4096> buffer;
  std::pmr::monotonic_buffer_resource memory(buffer.data(), buffer.size());
  return received - OwnVolume(source, target, &memory).sum();
}

} // namespace einsumc
