//===- LayoutTest.cpp - where every rank's part of a tensor lies ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Layout.h"

#include "RandomLayout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace einsumc {

void PrintTo(const Interval &interval, std::ostream *out) {
  *out << '[' << interval.begin << ',' << interval.end << ')';
}

} // namespace einsumc

namespace {

using namespace einsumc;
using test::RandomLayouts;

using Index = std::vector<int64_t>;

/// The elements of a box, in row-major order.
std::vector<Index> elementsOf(const Box &box) {
  std::vector<Index> elements{{}};
  for (const Interval &interval : box) {
    std::vector<Index> longer;
    for (const Index &element : elements)
      for (int64_t i = interval.begin; i < interval.end; ++i) {
        longer.push_back(element);
        longer.back().push_back(i);
      }
    elements = longer;
  }
  return elements;
}

/// Part `part` of a list dealt out to `parts` hands: hand h gets as many as when the cards go
/// round one by one, but in one run.
Index dealt(const Index &list, int64_t parts, int64_t part) {
  Index count(static_cast<std::size_t>(parts), 0);
  for (std::size_t card = 0; card < list.size(); ++card)
    ++count[card % count.size()];
  const auto begin = std::accumulate(count.begin(), count.begin() + part, int64_t{0});
  return {list.begin() + begin, list.begin() + begin + count[static_cast<std::size_t>(part)]};
}

/// A rank's coordinates, from counting through the grid like an odometer.
Index placeOf(const Grid &grid, int64_t rank) {
  Index place(grid.extents.size(), 0);
  for (int64_t r = grid.firstRank; r < rank; ++r)
    for (std::size_t axis = place.size(); axis-- > 0;) {
      if (++place[axis] < grid.extents[axis])
        break;
      place[axis] = 0;
    }
  return place;
}

bool holdsByDefinition(const Layout &layout, int64_t rank) {
  if (rank < layout.grid.firstRank || rank >= layout.grid.firstRank + layout.grid.size())
    return false;
  const Index place = placeOf(layout.grid, rank);
  for (std::size_t axis = 0; axis < place.size(); ++axis)
    if (layout.axes[axis].kind == AxisKind::Root && place[axis] != 0)
      return false;
  return true;
}

/// The elements that a rank stores, from lists of indices that are dealt out.
std::vector<Index> storedByDefinition(const Layout &layout, int64_t rank) {
  if (!holdsByDefinition(layout, rank))
    return {};
  const Index place = placeOf(layout.grid, rank);
  std::vector<Index> stored{{}};
  for (std::size_t position = 0; position < layout.extents.size(); ++position) {
    Index list(static_cast<std::size_t>(layout.extents[position]));
    std::iota(list.begin(), list.end(), 0);
    for (int level : {0, 1})
      for (std::size_t axis = 0; axis < place.size(); ++axis)
        if (layout.axes[axis] == split(static_cast<int>(position), level))
          list = dealt(list, layout.grid.extents[axis], place[axis]);
    std::vector<Index> longer;
    for (const Index &element : stored)
      for (int64_t i : list) {
        longer.push_back(element);
        longer.back().push_back(i);
      }
    stored = longer;
  }
  return stored;
}

/// The coordinates on the Partial axes.
Index partialPlace(const Layout &layout, int64_t rank) {
  const Index place = placeOf(layout.grid, rank);
  Index result;
  for (std::size_t axis = 0; axis < place.size(); ++axis)
    if (layout.axes[axis].kind == AxisKind::Partial)
      result.push_back(place[axis]);
  return result;
}

/// How many partial sums each element has; 1 without Partial axes.
int64_t partialSums(const Layout &layout) {
  int64_t sums = 1;
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
    if (layout.axes[axis].kind == AxisKind::Partial)
      sums *= layout.grid.extents[axis];
  return sums;
}

int64_t elementCount(const Layout &layout) {
  return std::accumulate(layout.extents.begin(), layout.extents.end(), int64_t{1},
                         std::multiplies{});
}

std::string describe(const Layout &layout) {
  std::string text = "extents";
  for (int64_t extent : layout.extents)
    text += ' ' + std::to_string(extent);
  text += "; from rank " + std::to_string(layout.grid.firstRank) + ":";
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis) {
    const AxisPlacement &placement = layout.axes[axis];
    text +=
        ' ' + std::to_string(layout.grid.extents[axis]) + "SBPR"[static_cast<int>(placement.kind)];
    if (placement.kind == AxisKind::Split)
      text += std::to_string(placement.position) + '/' + std::to_string(placement.level);
  }
  return text;
}

//===- Intervals and boxes --------------------------------------------------------------------===//

TEST(BlockOf, largerBlocksComeFirst) {
  EXPECT_EQ(blockOf({0, 10}, 4, 0), (Interval{0, 3}));
  EXPECT_EQ(blockOf({0, 10}, 4, 1), (Interval{3, 6}));
  EXPECT_EQ(blockOf({0, 10}, 4, 2), (Interval{6, 8}));
  EXPECT_EQ(blockOf({0, 10}, 4, 3), (Interval{8, 10}));
}

TEST(BlockOf, fewerIndicesThanPartsLeaveEmptyBlocks) {
  EXPECT_EQ(blockOf({5, 7}, 3, 1), (Interval{6, 7}));
  EXPECT_TRUE(blockOf({5, 7}, 3, 2).empty());
  EXPECT_TRUE(blockOf({5, 5}, 3, 0).empty());
}

TEST(BlockOf, extentsBeyond32Bits) {
  constexpr int64_t kExtent = (int64_t{1} << 40) + 1;
  EXPECT_EQ(blockOf({0, kExtent}, 2, 1), (Interval{kExtent / 2 + 1, kExtent}));
}

TEST(Intersect, disjointIntervalsHaveAnEmptyCommonPart) {
  EXPECT_EQ(intersect(Interval{0, 5}, Interval{3, 9}), (Interval{3, 5}));
  EXPECT_TRUE(intersect(Interval{0, 3}, Interval{3, 9}).empty());
  EXPECT_EQ(intersect(Interval{0, 2}, Interval{6, 9}).size(), 0);
}

TEST(Volume, scalarsHoldOneElement) {
  EXPECT_EQ(volume({}), 1);
  EXPECT_EQ(volume({{2, 5}, {1, 3}}), 6);
  EXPECT_EQ(volume({{2, 5}, {3, 3}}), 0);
}

//===- Grids and layouts ----------------------------------------------------------------------===//

TEST(Grid, lastAxisIsTheFastest) {
  const Grid grid{{2, 3}, 4};
  EXPECT_EQ(grid.size(), 6);
  EXPECT_EQ(grid.coordinates(4), (Index{0, 0}));
  EXPECT_EQ(grid.coordinates(6), (Index{0, 2}));
  EXPECT_EQ(grid.coordinates(8), (Index{1, 1}));
  EXPECT_EQ(grid.rankAt({1, 1}), 8);
  EXPECT_FALSE(grid.contains(3));
  EXPECT_TRUE(grid.contains(9));
  EXPECT_FALSE(grid.contains(10));
}

TEST(Grid, withoutAxesIsOneRank) {
  const Grid grid{{}, 2};
  EXPECT_EQ(grid.size(), 1);
  EXPECT_TRUE(grid.contains(2));
  EXPECT_EQ(grid.rankAt({}), 2);
}

TEST(Layout, laterCutsCutEarlierBlocks) {
  // 10 indices over 2: [0,5) [5,10); each over 3: 2, 2, 1.
  const Layout byAxis = makeLayout({10}, {2, 3}, {split(0), split(0)});
  EXPECT_EQ(byAxis.box(4), (Box{{7, 9}}));
  // Level 0 first, though its axis is the second: [0,4) [4,7) [7,10); each over 2.
  const Layout byLevel = makeLayout({10}, {2, 3}, {split(0, 1), split(0, 0)});
  EXPECT_EQ(byLevel.box(4), (Box{{6, 7}}));
}

TEST(Layout, rootAxesHoldAtCoordinateZero) {
  const Layout layout = makeLayout({4}, {2, 2}, {atRoot(), split(0)}, 1);
  EXPECT_FALSE(layout.holds(0));
  EXPECT_EQ(layout.box(0), (Box{{0, 0}}));
  EXPECT_EQ(layout.box(2), (Box{{2, 4}}));
  EXPECT_FALSE(layout.holds(3));
  EXPECT_EQ(layout.localSize(3), 0);
}

TEST(Layout, scalarIsHeldWithoutPositions) {
  const Layout layout = makeLayout({}, {2}, {atRoot()});
  EXPECT_EQ(layout.localSize(0), 1);
  EXPECT_EQ(layout.localSize(1), 0);
  EXPECT_EQ(layout.box(0), layout.box(1));
}

TEST(Layout, onePrimaryAmongCopies) {
  const Layout layout = makeLayout({4}, {2, 3}, {split(0), copied()});
  EXPECT_TRUE(layout.isPrimary(3));
  EXPECT_FALSE(layout.isPrimary(4));
  EXPECT_FALSE(layout.hasPartial());
  EXPECT_TRUE(makeLayout({4}, {2}, {partial()}).hasPartial());
}

TEST(Layout, randomLayoutsStoreWhatTheDefinitionSays) {
  RandomLayouts random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const Layout layout = random.layout(random.extents(), 24, true);
    SCOPED_TRACE(describe(layout));
    std::map<std::pair<Index, Index>, int> primaries; // By element and partial sum.
    for (int64_t rank = 0; rank < 26; ++rank) {
      const std::vector<Index> stored = storedByDefinition(layout, rank);
      ASSERT_EQ(layout.holds(rank), holdsByDefinition(layout, rank)) << "rank " << rank;
      ASSERT_EQ(layout.localSize(rank), std::ssize(stored)) << "rank " << rank;
      if (layout.holds(rank)) {
        ASSERT_EQ(elementsOf(layout.box(rank)), stored) << "rank " << rank;
        ASSERT_EQ(layout.grid.rankAt(layout.grid.coordinates(rank)), rank);
      }
      if (layout.isPrimary(rank))
        for (const Index &element : stored)
          ++primaries[{element, partialPlace(layout, rank)}];
    }
    for (const auto &[element, count] : primaries)
      ASSERT_EQ(count, 1);
    ASSERT_EQ(std::ssize(primaries), elementCount(layout) * partialSums(layout));
  }
}

//===- Transfers ------------------------------------------------------------------------------===//

/// What all ranks receive, by sender, then receiver.
std::vector<Transfer> allIncoming(const Layout &source, const Layout &target, int64_t ranks) {
  std::vector<Transfer> all;
  for (int64_t to = 0; to < ranks; ++to) {
    const std::vector<Transfer> some = incomingTransfers(source, target, to);
    EXPECT_EQ(std::ranges::adjacent_find(some, std::greater_equal{}, &Transfer::from), some.end())
        << "not ordered by sender";
    all.insert(all.end(), some.begin(), some.end());
  }
  std::ranges::sort(all, {}, [](const Transfer &t) { return std::pair(t.from, t.to); });
  return all;
}

std::vector<Transfer> allOutgoing(const Layout &source, const Layout &target, int64_t ranks) {
  std::vector<Transfer> all;
  for (int64_t from = 0; from < ranks; ++from)
    std::ranges::copy(outgoingTransfers(source, target, from), std::back_inserter(all));
  return all;
}

/// Every element of the receiver's block comes once for each partial sum, from a rank that has it,
/// and from the receiver itself what it has.
void checkArrivals(const Layout &source, const Layout &target, int64_t to) {
  std::map<Index, std::map<Index, int64_t>> senders; // By element and partial sum.
  for (const Transfer &transfer : incomingTransfers(source, target, to)) {
    ASSERT_EQ(transfer.to, to);
    const std::vector<Index> held = storedByDefinition(source, transfer.from);
    for (const Index &element : elementsOf(transfer.box)) {
      ASSERT_TRUE(std::ranges::count(held, element)) << "rank " << transfer.from;
      const auto [place, isNew] =
          senders[element].emplace(partialPlace(source, transfer.from), transfer.from);
      ASSERT_TRUE(isNew) << "twice from rank " << place->second << " and " << transfer.from;
    }
  }

  const std::vector<Index> wanted = storedByDefinition(target, to);
  ASSERT_EQ(senders.size(), wanted.size());
  const std::vector<Index> own = storedByDefinition(source, to);
  for (const Index &element : wanted) {
    ASSERT_EQ(std::ssize(senders[element]), partialSums(source));
    if (std::ranges::count(own, element)) {
      ASSERT_EQ(senders[element].at(partialPlace(source, to)), to);
    }
  }
}

TEST(Transfers, randomLayoutPairs) {
  constexpr int64_t kRanks = 12;
  RandomLayouts random(2);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::vector<int64_t> extents = random.extents();
    const Layout source = random.layout(extents, kRanks, true);
    const Layout target = random.layout(extents, kRanks, false);
    SCOPED_TRACE(describe(source) + " -> " + describe(target));

    const std::vector<Transfer> all = allIncoming(source, target, kRanks);
    ASSERT_EQ(all, allOutgoing(source, target, kRanks));
    int64_t crossing = 0, messages = 0;
    for (const Transfer &transfer : all) {
      ASSERT_GT(volume(transfer.box), 0);
      crossing += transfer.from == transfer.to ? 0 : volume(transfer.box);
      messages += transfer.from == transfer.to ? 0 : 1;
    }
    ASSERT_EQ(transferVolume(source, target), crossing);
    ASSERT_EQ(transferMessages(source, target), messages);
    for (int64_t to = 0; to < kRanks; ++to)
      ASSERT_NO_FATAL_FAILURE(checkArrivals(source, target, to)) << "to rank " << to;
  }
}

/// What ranks that want a tensor must get: all sums of their blocks but those that they have.
int64_t volumeByDefinition(const Layout &source, const Layout &target, int64_t ranks) {
  int64_t crossing = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    crossing += partialSums(source) * target.localSize(rank);
    if (source.holds(rank) && target.holds(rank))
      crossing -= volume(intersect(source.box(rank), target.box(rank)));
  }
  return crossing;
}

TEST(Transfers, volumesOnLargerGrids) {
  constexpr int64_t kRanks = 200;
  RandomLayouts random(5);
  for (int trial = 0; trial < 4000; ++trial) {
    std::vector<int64_t> extents = random.extents();
    for (int64_t &extent : extents)
      extent *= random.number(1, 20);
    Layout source = random.layout(extents, kRanks, true);
    Layout target = random.layout(extents, kRanks, false);
    if (trial % 2 == 0) // Grids nest only if they begin at the same rank.
      source.grid.firstRank = target.grid.firstRank = 0;
    SCOPED_TRACE(describe(source) + " -> " + describe(target));
    ASSERT_EQ(transferVolume(source, target), volumeByDefinition(source, target, kRanks));
  }
}

/// Grids and extents of small factors: blocks are often the same, however many axes cut them.
TEST(Transfers, volumesOfEvenBlocks) {
  RandomLayouts random(6);
  const auto evenGrid = [&] {
    Grid grid;
    for (int64_t axes = random.number(1, 3); axes > 0; --axes)
      grid.extents.push_back(int64_t{1} << random.number(0, 2));
    return grid;
  };
  for (int trial = 0; trial < 4000; ++trial) {
    std::vector<int64_t> extents(static_cast<std::size_t>(random.number(1, 2)));
    for (int64_t &extent : extents)
      extent = random.number(0, 3) == 0 ? random.number(1, 70) : 64;
    const Grid from = evenGrid(), to = evenGrid();
    const Layout source = random.layout(extents, from, true);
    const Layout target = random.layout(extents, to, false);
    SCOPED_TRACE(describe(source) + " -> " + describe(target));
    ASSERT_EQ(transferVolume(source, target), volumeByDefinition(source, target, 64));
  }
}

TEST(Layout, theFirstRankHasTheLargestBlock) {
  RandomLayouts random(7);
  for (int trial = 0; trial < 1000; ++trial) {
    const Layout layout = random.layout(random.extents(), 24, true);
    SCOPED_TRACE(describe(layout));
    ASSERT_EQ(layout.largestSize(), layout.localSize(layout.grid.firstRank));
    for (int64_t rank = 0; rank < 24; ++rank)
      ASSERT_LE(layout.localSize(rank), layout.largestSize());
    for (std::size_t axis = 0; axis < layout.axes.size(); ++axis) {
      Layout collected = layout;
      collected.axes[axis] = copied();
      ASSERT_EQ(layout.largestSize(axis), collected.largestSize());
    }
  }
}

/// How many other ranks each rank sends to.
std::vector<int64_t> receiversOf(const Layout &source, const Layout &target, int64_t ranks) {
  std::vector<int64_t> count(static_cast<std::size_t>(ranks), 0);
  for (int64_t from = 0; from < ranks; ++from)
    for (const Transfer &transfer : outgoingTransfers(source, target, from))
      count[static_cast<std::size_t>(from)] += transfer.to != from;
  return count;
}

TEST(Transfers, receiversOfTheSameSpreadOverTheReplicas) {
  const Layout source = makeLayout({8}, {4}, {copied()});
  const Layout target = makeLayout({8}, {8}, {copied()}, 4);
  EXPECT_EQ(receiversOf(source, target, 12), (Index{2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Transfers, receiversOfPartsSpreadOverTheReplicas) {
  const Layout source = makeLayout({8}, {4}, {copied()});
  const Layout target = makeLayout({8}, {8}, {split(0)}, 4);
  EXPECT_EQ(receiversOf(source, target, 12), (Index{2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Transfers, receiversThatAlternateSpreadOverTheReplicas) {
  // Ranks of even number want the first half, which ranks 0..3 have in two replicas.
  const Layout source = makeLayout({8}, {4, 2}, {split(0), copied()});
  const Layout target = makeLayout({8}, {4, 2}, {copied(), split(0)}, 8);
  EXPECT_EQ(receiversOf(source, target, 16),
            (Index{2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Transfers, receiversSpreadOverAllAxesOfReplicas) {
  const Layout source = makeLayout({8}, {2, 2}, {copied(), copied()});
  const Layout target = makeLayout({8}, {4}, {copied()}, 4);
  EXPECT_EQ(receiversOf(source, target, 8), (Index{1, 1, 1, 1, 0, 0, 0, 0}));
}

TEST(Transfers, receiversOfOneCopySpreadOverTheOthers) {
  // The first four ranks want the first half of the rows, and would ask ranks 0 and 1 alone.
  const Layout source = makeLayout({8, 8}, {2, 4}, {copied(), split(0)});
  const Layout target = makeLayout({8, 8}, {2, 4}, {split(0), split(1)});
  EXPECT_EQ(receiversOf(source, target, 8), (Index{1, 2, 1, 2, 2, 1, 2, 1}));
}

TEST(Transfers, chunksAreCollectedWithinEachCopy) {
  const Layout source = makeLayout({6}, {2, 3}, {copied(), split(0, 1)});
  const Layout target = makeLayout({6}, {2, 3}, {copied(), copied()});
  for (int64_t from = 0; from < 6; ++from)
    for (const Transfer &transfer : outgoingTransfers(source, target, from))
      EXPECT_EQ(transfer.to / 3, from / 3) << from << " -> " << transfer.to;
}

TEST(Transfers, thousandsOfRanks) {
  // A 4096 x 4096 matrix from rows of blocks to columns; every rank has one element of each other.
  const Layout rows = makeLayout({4096, 4096}, {4096}, {split(0)});
  const Layout columns = makeLayout({4096, 4096}, {4096}, {split(1)});
  EXPECT_EQ(transferVolume(rows, columns), int64_t{4096} * 4095);
  const std::vector<Transfer> incoming = incomingTransfers(rows, columns, 17);
  ASSERT_EQ(incoming.size(), 4096U);
  EXPECT_EQ(incoming[4000], (Transfer{4000, 17, {{4000, 4001}, {17, 18}}}));
  EXPECT_EQ(outgoingTransfers(rows, columns, 17)[5], (Transfer{17, 5, {{17, 18}, {5, 6}}}));
  EXPECT_EQ(transferMessages(rows, columns), int64_t{4096} * 4095);
  // Without a look at each of them.
  const int64_t ranks = 65536;
  EXPECT_EQ(transferMessages(makeLayout({ranks}, {ranks}, {partial()}),
                             makeLayout({ranks}, {ranks}, {split(0)})),
            ranks * (ranks - 1));
}

TEST(Layout, outermostRanksHaveTheLargestAndTheSmallestBlocks) {
  test::RandomLayouts layouts(31);
  for (int round = 0; round < 3000; ++round) {
    const Layout layout = layouts.layout(layouts.extents(), 60, true);
    const Grid &grid = layout.grid;
    std::vector<bool> every;
    for (std::size_t axis = 0; axis < grid.extents.size(); ++axis)
      every.push_back(layouts.number(0, 3) == 0);
    const std::vector<int64_t> outermost = outermostRanks(grid, every);
    EXPECT_EQ(std::set<int64_t>(outermost.begin(), outermost.end()).size(), outermost.size());
    for (std::size_t p = 0; p < layout.extents.size(); ++p) {
      std::set<int64_t> all, some;
      for (int64_t rank = grid.firstRank; rank < grid.firstRank + grid.size(); ++rank)
        if (layout.holds(rank))
          all.insert(layout.range(p, rank).size());
      for (const int64_t rank : outermost)
        if (layout.holds(rank))
          some.insert(layout.range(p, rank).size());
      EXPECT_EQ(all, some);
    }
    std::set<std::vector<int64_t>> atEvery, found; // Coordinates on the axes to be gone through.
    const auto onEvery = [&](int64_t rank) {
      std::vector<int64_t> place = grid.coordinates(rank);
      for (std::size_t axis = 0; axis < every.size(); ++axis)
        place[axis] = every[axis] ? place[axis] : 0;
      return place;
    };
    for (int64_t rank = grid.firstRank; rank < grid.firstRank + grid.size(); ++rank)
      atEvery.insert(onEvery(rank));
    for (const int64_t rank : outermost)
      found.insert(onEvery(rank));
    EXPECT_EQ(atEvery, found);
  }
}

} // namespace
