//===- Layout.cpp - where every rank's part of a tensor lies ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Layout.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <utility>

namespace einsumc {

Interval intersect(Interval a, Interval b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

Interval blockOf(Interval whole, int64_t parts, int64_t index) {
  const int64_t quotient = whole.size() / parts;
  const int64_t remainder = whole.size() % parts;
  const int64_t begin = whole.begin + index * quotient + std::min(index, remainder);
  return {begin, begin + quotient + (index < remainder ? 1 : 0)};
}

int64_t volume(const Box &box) {
  int64_t product = 1;
  for (const Interval &interval : box)
    product *= interval.size();
  return product;
}

Box intersect(const Box &a, const Box &b) {
  Box common(a.size());
  std::ranges::transform(a, b, common.begin(),
                         [](Interval x, Interval y) { return intersect(x, y); });
  return common;
}

bool isContiguous(const Box &box, const Box &block) {
  std::size_t cut = box.size(); // The last position that the box does not fill.
  while (cut > 0 && box[cut - 1] == block[cut - 1])
    --cut;
  return std::all_of(box.begin(), box.begin() + static_cast<std::ptrdiff_t>(cut > 0 ? cut - 1 : 0),
                     [](const Interval &interval) { return interval.size() == 1; });
}

int64_t Grid::size() const {
  int64_t product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

bool Grid::contains(int64_t rank) const { return rank >= firstRank && rank - firstRank < size(); }

std::vector<int64_t> Grid::coordinates(int64_t rank) const {
  std::vector<int64_t> result(extents.size());
  int64_t rest = rank - firstRank;
  for (std::size_t axis = extents.size(); axis-- > 0; rest /= extents[axis])
    result[axis] = rest % extents[axis];
  return result;
}

int64_t Grid::stride(std::size_t axis) const {
  int64_t stride = 1;
  for (std::size_t inner = axis + 1; inner < extents.size(); ++inner)
    stride *= extents[inner];
  return stride;
}

int64_t Grid::rankAt(const std::vector<int64_t> &coordinates) const {
  int64_t index = 0;
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    index = index * extents[axis] + coordinates[axis];
  return firstRank + index;
}

std::vector<int64_t> outermostRanks(const Grid &grid, const std::vector<bool> &every) {
  std::vector<int64_t> ranks = {0};
  for (std::size_t axis = 0; axis < grid.extents.size(); ++axis) {
    const int64_t extent = grid.extents[axis];
    const bool isEvery = !every.empty() && every[axis];
    const int64_t hop = isEvery || extent == 1 ? 1 : extent - 1;
    std::vector<int64_t> further;
    for (const int64_t rank : ranks)
      for (int64_t coordinate = 0; coordinate < extent; coordinate += hop)
        further.push_back(rank * extent + coordinate);
    ranks = std::move(further);
  }
  for (int64_t &rank : ranks)
    rank += grid.firstRank;
  return ranks;
}

namespace {

using Coordinates = std::vector<int64_t>;

Box wholeBox(const Layout &layout) {
  Box box;
  box.reserve(layout.extents.size());
  for (int64_t extent : layout.extents)
    box.push_back({0, extent});
  return box;
}

/// The axes that cut the tensor, in the order in which they do.
std::vector<std::size_t> cutsInOrder(const Layout &layout) {
  std::vector<std::size_t> cuts;
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
    if (layout.axes[axis].kind == AxisKind::Split)
      cuts.push_back(axis);
  std::ranges::sort(cuts, {},
                    [&](std::size_t axis) { return std::pair(layout.axes[axis].level, axis); });
  return cuts;
}

std::vector<std::size_t> axesOfKind(const Layout &layout, AxisKind kind) {
  std::vector<std::size_t> result;
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
    if (layout.axes[axis].kind == kind)
      result.push_back(axis);
  return result;
}

/// The block that holds an index of a range cut over so many parts: the inverse of blockOf.
int64_t blockHolding(Interval whole, int64_t parts, int64_t index) {
  const int64_t quotient = whole.size() / parts;
  const int64_t remainder = whole.size() % parts;
  const int64_t offset = index - whole.begin;
  const int64_t inLargeBlocks = remainder * (quotient + 1);
  if (offset < inLargeBlocks)
    return offset / (quotient + 1);
  return remainder + (offset - inLargeBlocks) / quotient;
}

/// Enumerates the blocks of a layout that meet a box, without a look at those that do not.
class BlockWalk {
public:
  using Visit = std::function<void(const Coordinates &, const Box &block)>;

  /// \param repeated the kind of axes (Copy or Partial) of which every coordinate is visited; the
  /// coordinates on the axes that neither cut nor repeat are 0.
  BlockWalk(const Layout &layout, const Box &wanted, AxisKind repeated, Visit visit)
      : layout(layout), wanted(wanted), cuts(cutsInOrder(layout)),
        repeats(axesOfKind(layout, repeated)), visit(std::move(visit)),
        coordinates(layout.axes.size(), 0), block(wholeBox(layout)) {}

  void run() {
    if (volume(intersect(block, wanted)) > 0)
      walkCut(0);
  }

private:
  /// \pre the block as cut so far meets the wanted box
  void walkCut(std::size_t cut) {
    if (cut == cuts.size()) {
      walkRepeat(0);
      return;
    }
    const std::size_t axis = cuts[cut];
    const int64_t parts = layout.grid.extents[axis];
    const auto position = static_cast<std::size_t>(layout.axes[axis].position);
    const Interval whole = block[position];
    const Interval common = intersect(whole, wanted[position]);
    const int64_t last = blockHolding(whole, parts, common.end - 1);
    for (int64_t i = blockHolding(whole, parts, common.begin); i <= last; ++i) {
      coordinates[axis] = i;
      block[position] = blockOf(whole, parts, i);
      walkCut(cut + 1);
    }
    block[position] = whole;
  }

  void walkRepeat(std::size_t repeat) {
    if (repeat == repeats.size()) {
      visit(coordinates, block);
      return;
    }
    const std::size_t axis = repeats[repeat];
    for (int64_t i = 0; i < layout.grid.extents[axis]; ++i) {
      coordinates[axis] = i;
      walkRepeat(repeat + 1);
    }
  }

  const Layout &layout;
  const Box &wanted;
  std::vector<std::size_t> cuts;
  std::vector<std::size_t> repeats;
  Visit visit;
  Coordinates coordinates;
  Box block;
};

/// Which of its replicas sends a block of the source to one receiver: the receiver itself when it
/// is one, else the replica at the same coordinates on all Copy axes, which is found so:
/// - On an axis along which both layouts are copies of the same grid, the receiver's own
///   coordinate, so that what concerns one copy stays among its ranks.
/// - On the others in turn by the number of the receiver, counted first over receivers of the same
///   block and then over blocks, so that neither a block nor a range of blocks is asked of few.
class SenderChoice {
public:
  SenderChoice(const Layout &source, const Layout &target, int64_t receiver)
      : source(source), receiver(receiver), replica(source.axes.size(), 0) {
    if (source.grid.contains(receiver))
      own = source.grid.coordinates(receiver);
    const Coordinates place = target.grid.coordinates(receiver);
    const bool sameGrid = source.grid == target.grid;
    auto isShared = [&](std::size_t axis) {
      return sameGrid && source.axes[axis].kind == AxisKind::Copy &&
             target.axes[axis].kind == AxisKind::Copy;
    };

    int64_t turn = 0;
    for (AxisKind kind : {AxisKind::Split, AxisKind::Copy})
      for (std::size_t axis : axesOfKind(target, kind))
        if (!isShared(axis))
          turn = turn * target.grid.extents[axis] + place[axis];

    for (std::size_t axis : axesOfKind(source, AxisKind::Copy)) {
      if (isShared(axis)) {
        replica[axis] = place[axis];
        continue;
      }
      replica[axis] = turn % source.grid.extents[axis];
      turn /= source.grid.extents[axis];
    }
  }

  /// The sender of the block at the given coordinates; those on Copy axes do not matter.
  int64_t of(Coordinates block) const {
    if (isOwn(block))
      return receiver;
    for (std::size_t axis : axesOfKind(source, AxisKind::Copy))
      block[axis] = replica[axis];
    return source.grid.rankAt(block);
  }

private:
  bool isOwn(const Coordinates &block) const {
    if (!source.grid.contains(receiver))
      return false;
    for (std::size_t axis = 0; axis < own.size(); ++axis)
      if (source.axes[axis].kind != AxisKind::Copy && own[axis] != block[axis])
        return false;
    return true;
  }

  const Layout &source;
  int64_t receiver;
  Coordinates own;     ///< of the receiver on the source's grid, if it is there
  Coordinates replica; ///< on the Copy axes of the source
};

} // namespace

bool Layout::holds(int64_t rank) const {
  if (!grid.contains(rank))
    return false;
  int64_t rest = rank - grid.firstRank;
  for (std::size_t axis = grid.extents.size(); axis-- > 0; rest /= grid.extents[axis])
    if (axes[axis].kind == AxisKind::Root && rest % grid.extents[axis] != 0)
      return false;
  return true;
}

// The planner asks for millions of these, so that even small vectors would show.
Interval Layout::range(std::size_t position, int64_t rank) const {
  const auto cutsThis = [&](const AxisPlacement &on) {
    return on.kind == AxisKind::Split && on.position == static_cast<int>(position);
  };
  Interval range{0, extents[position]};
  constexpr int kNone = std::numeric_limits<int>::max();
  int level = kNone;
  for (const AxisPlacement &on : axes)
    if (cutsThis(on))
      level = std::min(level, on.level);
  while (level != kNone) { // The axes that cut, in the order in which they do.
    int next = kNone;
    int64_t stride = grid.size();
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const AxisPlacement &on = axes[axis];
      stride /= grid.extents[axis];
      if (!cutsThis(on))
        continue;
      if (on.level > level)
        next = std::min(next, on.level);
      if (on.level == level)
        range = blockOf(range, grid.extents[axis],
                        (rank - grid.firstRank) / stride % grid.extents[axis]);
    }
    level = next;
  }
  return range;
}

Box Layout::box(int64_t rank) const {
  Box block(extents.size());
  if (holds(rank))
    for (std::size_t position = 0; position < block.size(); ++position)
      block[position] = range(position, rank);
  return block;
}

bool Layout::isPrimary(int64_t rank) const {
  if (!holds(rank))
    return false;
  const Coordinates place = grid.coordinates(rank);
  return std::ranges::all_of(axesOfKind(*this, AxisKind::Copy),
                             [&](std::size_t axis) { return place[axis] == 0; });
}

bool Layout::hasPartial() const { return !axesOfKind(*this, AxisKind::Partial).empty(); }

int64_t Layout::localSize(int64_t rank) const {
  int64_t size = holds(rank) ? 1 : 0;
  for (std::size_t position = 0; position < extents.size() && size > 0; ++position)
    size *= range(position, rank).size();
  return size;
}

int64_t partsAlong(const Grid &grid, const std::vector<AxisPlacement> &axes, std::size_t position,
                   std::size_t except) {
  int64_t parts = 1;
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (axis != except && axes[axis].kind == AxisKind::Split &&
        axes[axis].position == static_cast<int>(position))
      parts *= grid.extents[axis];
  return parts;
}

int64_t Layout::largestSize(std::size_t collected) const {
  int64_t size = 1;
  for (std::size_t position = 0; position < extents.size(); ++position)
    size *= firstBlock(extents[position], partsAlong(grid, axes, position, collected));
  return size;
}

std::vector<Transfer> incomingTransfers(const Layout &source, const Layout &target, int64_t to) {
  std::vector<Transfer> transfers;
  if (!target.holds(to))
    return transfers;
  const Box wanted = target.box(to);
  const SenderChoice sender(source, target, to);
  BlockWalk(source, wanted, AxisKind::Partial, [&](const Coordinates &place, const Box &block) {
    transfers.push_back({sender.of(place), to, intersect(block, wanted)});
  }).run();
  std::ranges::sort(transfers, {}, &Transfer::from);
  return transfers;
}

std::vector<Transfer> outgoingTransfers(const Layout &source, const Layout &target, int64_t from) {
  std::vector<Transfer> transfers;
  if (!source.holds(from))
    return transfers;
  const Box held = source.box(from);
  const Coordinates place = source.grid.coordinates(from);
  BlockWalk(target, held, AxisKind::Copy, [&](const Coordinates &receiver, const Box &block) {
    const int64_t to = target.grid.rankAt(receiver);
    if (SenderChoice(source, target, to).of(place) == from)
      transfers.push_back({from, to, intersect(block, held)});
  }).run();
  std::ranges::sort(transfers, {}, &Transfer::to);
  return transfers;
}

namespace {

/// How many pieces, cut by a layout's axes, of one position of a tensor meet a range of it.
class PieceCount {
public:
  PieceCount(const Layout &layout, std::size_t position) : whole{0, layout.extents[position]} {
    for (std::size_t axis : cutsInOrder(layout))
      if (layout.axes[axis].position == static_cast<int>(position))
        parts.push_back(layout.grid.extents[axis]);
  }

  /// \pre the range is not empty
  int64_t of(Interval range) {
    const auto [found, isNew] = known.try_emplace({range.begin, range.end}, 0);
    if (isNew)
      found->second = count(whole, range, 0);
    return found->second;
  }

private:
  int64_t count(Interval block, Interval range, std::size_t cut) const {
    if (cut == parts.size())
      return 1;
    const Interval common = intersect(block, range);
    const int64_t first = blockHolding(block, parts[cut], common.begin);
    const int64_t last = blockHolding(block, parts[cut], common.end - 1);
    if (cut + 1 == parts.size())
      return last - first + 1;
    int64_t total = 0;
    for (int64_t i = first; i <= last; ++i)
      total += count(blockOf(block, parts[cut], i), common, cut + 1);
    return total;
  }

  const Interval whole;
  std::vector<int64_t> parts; ///< into so many each piece is cut, in this order
  std::map<std::pair<int64_t, int64_t>, int64_t> known;
};

} // namespace

int64_t transferMessages(const Layout &source, const Layout &target) {
  int64_t sumsPerElement = 1;
  for (std::size_t axis : axesOfKind(source, AxisKind::Partial))
    sumsPerElement *= source.grid.extents[axis];
  std::vector<PieceCount> pieces;
  pieces.reserve(source.extents.size());
  for (std::size_t position = 0; position < source.extents.size(); ++position)
    pieces.emplace_back(source, position);

  // A receiver gets a message for each block of the source that meets its own, but from itself.
  int64_t messages = 0;
  const int64_t end = target.grid.firstRank + target.grid.size();
  for (int64_t to = target.grid.firstRank; to < end; ++to) {
    if (!target.holds(to))
      continue;
    const Box wanted = target.box(to);
    if (volume(wanted) == 0)
      continue;
    int64_t blocks = sumsPerElement;
    for (std::size_t position = 0; position < wanted.size(); ++position)
      blocks *= pieces[position].of(wanted[position]);
    const bool hasOwn = source.holds(to) && volume(intersect(source.box(to), wanted)) > 0;
    messages += blocks - (hasOwn ? 1 : 0);
  }
  return messages;
}

Layout makeLayout(std::initializer_list<int64_t> extents, std::initializer_list<int64_t> grid,
                  std::initializer_list<AxisPlacement> axes, int64_t firstRank) {
  return {extents, {grid, firstRank}, axes};
}

} // namespace einsumc
