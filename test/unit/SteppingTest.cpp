//===- SteppingTest.cpp - which chunk every rank computes with in every step ------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Stepping.h"

#include "SteppingCase.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace {

using namespace einsumc;
using namespace einsumc::test;

/// Whether a box lies within another.
bool isWithin(const Box &inner, const Box &outer) { return intersect(inner, outer) == inner; }

/// How often each element of a tensor has been counted.
class Counts {
public:
  explicit Counts(std::vector<int64_t> extents) : extents(std::move(extents)) {}

  void add(const Box &box) {
    forEach(box, [this](int64_t number) { ++counts[number]; });
  }
  /// Whether all elements of a box, and no others, have been counted so often.
  bool areAll(const Box &box, int64_t times) {
    bool all = static_cast<int64_t>(counts.size()) == (times == 0 ? 0 : volume(box));
    forEach(box, [&](int64_t number) {
      const auto found = counts.find(number);
      all = all && (found == counts.end() ? 0 : found->second) == times;
    });
    return all;
  }

private:
  template <class Visit> void forEach(const Box &box, Visit &&visit) const {
    for (int64_t local = 0; local < volume(box); ++local) {
      int64_t rest = local;
      int64_t number = 0;
      int64_t weight = 1;
      for (std::size_t p = box.size(); p-- > 0; rest /= box[p].size()) {
        number += (box[p].begin + rest % box[p].size()) * weight;
        weight *= extents[p];
      }
      visit(number);
    }
  }

  std::vector<int64_t> extents;
  std::map<int64_t, int64_t> counts;
};

/// The tables of all ranks of a case.
class AllRanks {
public:
  explicit AllRanks(const SteppingCase &of) : of(of), stepping(of.stepping) {
    const Grid &grid = stepping.work.grid;
    for (int64_t rank = grid.firstRank; rank < grid.firstRank + grid.size(); ++rank)
      tables.emplace_back(stepping, rank);
  }

  void check() const {
    for (const StepTable &table : tables)
      checkRanges(table);
    for (std::size_t t = 0; t < stepping.travellers.size(); ++t) {
      for (const StepTable &table : tables)
        checkChunks(t, table);
      if (stepping.travellers[t].role != 2)
        checkOperand(t);
      else
        checkResult(t);
      const StepMovement movement = stepping.travellers[t].movement;
      if (movement == StepMovement::Ring || movement == StepMovement::Stream)
        checkMirrored(t);
      if (movement == StepMovement::Bcast)
        checkSameOrder(t);
      checkMemory(t);
    }
    checkTraffic();
  }

private:
  /// The steps of a rank cut its work without gaps and overlaps.
  void checkRanges(const StepTable &table) const {
    std::vector<Interval> ranges;
    for (std::size_t s = 0; s < table.steps(); ++s)
      if (!table.range(s).empty())
        ranges.push_back(table.range(s));
    std::ranges::sort(ranges, {}, &Interval::begin);
    const Interval whole = stepping.work.box(table.rank())[stepping.dim];
    int64_t end = whole.begin;
    for (const Interval &range : ranges) {
      EXPECT_EQ(range.begin, end);
      end = range.end;
    }
    EXPECT_EQ(end, whole.end);
  }

  /// A step's chunk is stored at its owner, and holds what the work needs of it.
  void checkChunks(std::size_t t, const StepTable &table) const {
    const Traveller &traveller = stepping.travellers[t];
    for (std::size_t s = 0; s < table.steps(); ++s) {
      const Box chunk = table.chunk(t, s);
      if (volume(chunk) == 0)
        continue;
      EXPECT_TRUE(isWithin(chunk, traveller.chunks.box(table.owner(t, s))));
      const Box work = table.work(s);
      for (std::size_t p = 0; p < chunk.size(); ++p) {
        const auto dim = static_cast<std::size_t>(of.dims[traveller.role][p]);
        EXPECT_EQ(intersect(chunk[p], work[dim]), work[dim]) << "step " << s;
      }
    }
  }

  /// Every chunk that a rank does not store arrives once, from one that has it.
  void checkOperand(std::size_t t) const {
    for (const StepTable &table : tables) {
      std::vector<Passage> arrivals = table.arrivals(t);
      std::size_t next = 0;
      for (std::size_t s = 0; s < table.steps(); ++s) {
        if (table.isOwn(t, s) || volume(table.chunk(t, s)) == 0)
          continue;
        ASSERT_LT(next, arrivals.size());
        EXPECT_EQ(arrivals[next].step, static_cast<int64_t>(s));
        EXPECT_EQ(arrivals[next].box, table.chunk(t, s));
        ++next;
      }
      EXPECT_EQ(next, arrivals.size());
      for (const Passage &departure : table.departures(t)) {
        if (departure.step == Passage::kHome) {
          EXPECT_TRUE(isWithin(departure.box, stepping.travellers[t].chunks.box(table.rank())));
          continue;
        }
        const auto hasIt = [&](const Passage &arrival) {
          return arrival.step == departure.step && arrival.box == departure.box;
        };
        EXPECT_EQ(std::ranges::count_if(arrivals, hasIt), 1) << "leaves what is not there";
      }
    }
  }

  /// Every rank's contribution to an element reaches the element's owner once.
  void checkResult(std::size_t t) const {
    const Traveller &traveller = stepping.travellers[t];
    const bool streams = traveller.movement == StepMovement::Stream;
    std::map<int64_t, Counts> sums; // By owner.
    for (const StepTable &table : tables)
      sums.emplace(table.rank(), Counts(traveller.chunks.extents));
    for (const StepTable &table : tables)
      for (std::size_t s = 0; s < table.steps(); ++s)
        if (volume(table.chunk(t, s)) > 0)
          sums.at(finalOwner(t, table, s)).add(table.chunk(t, s));
    const int64_t each = streams ? 1 : stepping.work.grid.extents[traveller.axis];
    for (const StepTable &table : tables)
      EXPECT_TRUE(sums.at(table.rank()).areAll(traveller.chunks.box(table.rank()), each));
  }

  /// The rank at which the sums of a step end, as the messages carry them there.
  int64_t finalOwner(std::size_t t, const StepTable &from, std::size_t step) const {
    if (stepping.travellers[t].movement != StepMovement::Ring) {
      const Passage *const departure = departureOf(t, from, step);
      EXPECT_EQ(departure == nullptr, from.isOwn(t, step));
      return departure == nullptr ? from.rank() : departure->peer;
    }
    const StepTable *table = &from;
    for (std::size_t hops = 0; hops <= tables.size(); ++hops) {
      const Passage *const departure = departureOf(t, *table, step);
      if (departure == nullptr)
        return table->rank();
      EXPECT_EQ(departure->box, table->chunk(t, step));
      const StepTable &peer = tableOf(departure->peer);
      const std::vector<Passage> arrivals = peer.arrivals(t);
      const auto arrival = std::ranges::find(arrivals, departure->box, &Passage::box);
      if (arrival == arrivals.end()) {
        ADD_FAILURE() << "sent, but not received";
        return -1;
      }
      EXPECT_EQ(arrival->peer, table->rank());
      step = static_cast<std::size_t>(arrival->step);
      EXPECT_EQ(peer.chunk(t, step), departure->box);
      table = &peer;
    }
    ADD_FAILURE() << "goes round for ever";
    return -1;
  }

  const Passage *departureOf(std::size_t t, const StepTable &table, std::size_t step) const {
    static std::vector<Passage> departures;
    departures = table.departures(t);
    const auto found = std::ranges::find(departures, static_cast<int64_t>(step), &Passage::step);
    return found == departures.end() ? nullptr : &*found;
  }

  /// What one rank sends another, that receives from it in the same order.
  void checkMirrored(std::size_t t) const {
    std::map<std::pair<int64_t, int64_t>, std::vector<Box>> sent, received;
    for (const StepTable &table : tables) {
      for (const Passage &passage : table.departures(t))
        sent[{table.rank(), passage.peer}].push_back(passage.box);
      for (const Passage &passage : table.arrivals(t))
        received[{passage.peer, table.rank()}].push_back(passage.box);
    }
    EXPECT_EQ(sent, received);
  }

  /// All ranks of an axis compute with the same chunks at a time.
  void checkSameOrder(std::size_t t) const {
    const Traveller &traveller = stepping.travellers[t];
    for (const StepTable &table : tables) {
      std::vector<int64_t> place = stepping.work.grid.coordinates(table.rank());
      place[traveller.axis] = 0;
      const StepTable &first = tableOf(stepping.work.grid.rankAt(place));
      ASSERT_EQ(table.steps(), first.steps());
      for (std::size_t s = 0; s < table.steps(); ++s) {
        EXPECT_EQ(table.owner(t, s), first.owner(t, s));
        EXPECT_EQ(table.chunk(t, s), first.chunk(t, s));
      }
    }
  }

  void checkMemory(std::size_t t) const {
    const Traveller &traveller = stepping.travellers[t];
    const ChunkMemory memory = chunkMemory(stepping, t);
    if (stepping.work.grid.extents[traveller.axis] == 1) {
      EXPECT_EQ(memory.elements(), 0);
      return;
    }
    int64_t largest = 0;
    for (const StepTable &table : tables)
      for (std::size_t s = 0; s < table.steps(); ++s)
        largest = std::max(largest, volume(table.chunk(t, s)));
    EXPECT_EQ(memory.slotElements, largest);
    const bool rotates = traveller.role == 2 && traveller.movement == StepMovement::Ring;
    EXPECT_LE(memory.slots, rotates ? static_cast<std::size_t>(stepping.pace) + 1 : 2U);
    EXPECT_GE(memory.slots, 1U);
    EXPECT_GE(memory.stride(), memory.slotElements);
    if (traveller.role != 2 && memory.homeSlots > 0)
      checkLentPlace(t, memory);
  }

  /// The own chunk is used up first, and nothing else of the block lies where others' come.
  void checkLentPlace(std::size_t t, const ChunkMemory &memory) const {
    EXPECT_TRUE(stepping.travellers[t].isSpent);
    EXPECT_EQ(memory.homeSlots, 1U);
    EXPECT_EQ(memory.slots, 2U);
    EXPECT_EQ(memory.stageElements, 0);
    for (const StepTable &table : tables) {
      const Box block = stepping.travellers[t].chunks.box(table.rank());
      const Box first = table.chunk(t, 0);
      EXPECT_TRUE(table.isOwn(t, 0));
      if (first == block)
        continue;
      EXPECT_EQ(volume(first), memory.slotElements);
      EXPECT_TRUE(isContiguous(first, block));
      for (std::size_t p = 0; p < block.size(); ++p)
        EXPECT_EQ(first[p].begin, block[p].begin);
      const std::vector<Passage> sent = table.departures(t);
      EXPECT_EQ(std::ranges::count(sent, first, &Passage::box), 1);
    }
  }

  /// Every rank gets (of C: gives away) what the others of the axis store, whatever the movement.
  void checkTraffic() const {
    int64_t expected = 0;
    for (std::size_t t = 0; t < stepping.travellers.size(); ++t)
      for (const StepTable &table : tables)
        expected += elementsOfOthers(t, table.rank());
    EXPECT_EQ(trafficOf(stepping).elements, expected);
  }

  int64_t elementsOfOthers(std::size_t t, int64_t rank) const {
    const Traveller &traveller = stepping.travellers[t];
    std::vector<int64_t> place = stepping.work.grid.coordinates(rank);
    const int64_t own = place[traveller.axis];
    if (traveller.movement == StepMovement::Stream) {
      place[traveller.axis] = 0;
      Box part = traveller.chunks.box(stepping.work.grid.rankAt(place));
      part[traveller.position] = stepping.work.box(rank)[stepping.dim];
      return own == 0 ? 0 : volume(part);
    }
    int64_t elements = 0;
    for (int64_t c = 0; c < stepping.work.grid.extents[traveller.axis]; ++c) {
      place[traveller.axis] = c;
      elements += c == own ? 0 : traveller.chunks.localSize(stepping.work.grid.rankAt(place));
    }
    return elements;
  }

  const StepTable &tableOf(int64_t rank) const {
    return tables[static_cast<std::size_t>(rank - stepping.work.grid.firstRank)];
  }

  const SteppingCase &of;
  const Stepping &stepping;
  std::vector<StepTable> tables;
};

const std::array<std::vector<int>, 3> kPlain{{{kC, kM, kK}, {kC, kK, kN}, {kC, kM, kN}}};

/// B[24 x 10] on a ring of 4 ranks that cut m.
SteppingCase ringOfB(StepMovement movement, int64_t pace) {
  return makeCase(kPlain, {1, 8, 10, 24}, {{4}, 0}, {kM}, kK, pace, {{1, movement, 0}});
}

TEST(Stepping, ringStartsWithItsOwnChunk) {
  const SteppingCase ring = ringOfB(StepMovement::Ring, 1);
  const StepTable table(ring.stepping, 2);
  ASSERT_EQ(table.steps(), 4U);
  EXPECT_EQ(table.range(0), (Interval{12, 18}));
  EXPECT_EQ(table.range(1), (Interval{18, 24}));
  EXPECT_EQ(table.range(2), (Interval{0, 6}));
  EXPECT_EQ(table.range(3), (Interval{6, 12}));
  const std::vector<Passage> arrivals = table.arrivals(0);
  ASSERT_EQ(arrivals.size(), 3U);
  for (const Passage &arrival : arrivals)
    EXPECT_EQ(arrival.peer, 3);
  const std::vector<Passage> departures = table.departures(0);
  ASSERT_EQ(departures.size(), 3U);
  EXPECT_EQ(departures[0].step, Passage::kHome);
  EXPECT_EQ(departures[2].step, 2);
}

TEST(Stepping, sumsReachTheirOwnerLast) {
  const SteppingCase ring =
      makeCase(kPlain, {1, 8, 10, 24}, {{4}, 0}, {kK}, kM, 2, {{2, StepMovement::Ring, 0}});
  const StepTable table(ring.stepping, 1);
  ASSERT_EQ(table.steps(), 8U);
  EXPECT_EQ(table.owner(0, 0), 2);
  EXPECT_EQ(table.owner(0, 6), 1);
  EXPECT_EQ(table.owner(0, 7), 1);
  EXPECT_EQ(chunkMemory(ring.stepping, 0).slots, 3U);
}

TEST(Stepping, spentOperandsLendTheirPlace) {
  const auto homeSlots = [](const Grid &grid, std::vector<int> loops, int64_t summed, int64_t pace,
                            const std::vector<Travel> &travels) {
    SteppingCase of =
        makeCase(kPlain, {1, 8, 10, summed}, grid, std::move(loops), kK, pace, travels);
    EXPECT_EQ(chunkMemory(of.stepping, 0).homeSlots, 0U);
    const std::size_t slots = chunkMemory(of.stepping, 0).slots;
    of.stepping.travellers[0].isSpent = true;
    EXPECT_EQ(chunkMemory(of.stepping, 0).slots, slots);
    return chunkMemory(of.stepping, 0).homeSlots;
  };
  const Travel ring{1, StepMovement::Ring, 0};
  EXPECT_EQ(homeSlots({{4}, 0}, {kM}, 24, 1, {ring}), 1U);
  EXPECT_EQ(homeSlots({{4}, 0}, {kM}, 22, 1, {ring}), 1U) << "room for the largest chunk";
  EXPECT_EQ(homeSlots({{4}, 0}, {kM}, 24, 2, {ring}), 1U);
  EXPECT_EQ(homeSlots({{4}, 0}, {kM}, 22, 2, {ring}), 0U) << "the next part is in the way";
  EXPECT_EQ(homeSlots({{2}, 0}, {kM}, 24, 1, {ring}), 0U)
      << "one chunk comes, as the own one is used";
  EXPECT_EQ(homeSlots({{4}, 0}, {kM}, 24, 1, {{1, StepMovement::Bcast, 0}}), 0U);
  EXPECT_EQ(homeSlots({{4}, 0}, {kM}, 24, 1, {{1, StepMovement::Get, 0}}), 0U) << "others fetch it";
  EXPECT_EQ(homeSlots({{2, 2}, 0}, {kM, kN}, 24, 2, {{0, StepMovement::Ring, 1}, ring}), 0U)
      << "the own chunk does not come first";
}

TEST(Stepping, cannonSkewsTheFirstChunks) {
  const SteppingCase cannon = makeCase(kPlain, {1, 6, 6, 6}, {{3, 3}, 0}, {kM, kN}, kK, 1,
                                       {{0, StepMovement::Ring, 1}, {1, StepMovement::Ring, 0}});
  // Rank (1, 2) begins with chunk (1 + 2) mod 3.
  const StepTable table(cannon.stepping, 5);
  ASSERT_EQ(table.steps(), 3U);
  EXPECT_EQ(table.range(0), (Interval{0, 2}));
  EXPECT_EQ(table.owner(0, 0), 3);
  EXPECT_EQ(table.owner(1, 0), 2);
}

TEST(Stepping, unequalCutsAreRefined) {
  const SteppingCase summa = makeCase(kPlain, {1, 6, 6, 12}, {{2, 3}, 0}, {kM, kN}, kK, 1,
                                      {{0, StepMovement::Bcast, 1}, {1, StepMovement::Bcast, 0}});
  const StepTable table(summa.stepping, 0);
  ASSERT_EQ(table.steps(), 4U);
  EXPECT_EQ(table.range(0), (Interval{0, 4}));
  EXPECT_EQ(table.range(1), (Interval{4, 6}));
  EXPECT_EQ(table.range(2), (Interval{6, 8}));
  EXPECT_EQ(table.range(3), (Interval{8, 12}));
}

TEST(Stepping, movementsSendTheSameElements) {
  for (const StepMovement movement : {StepMovement::Ring, StepMovement::Bcast, StepMovement::Get})
    for (int64_t pace = 1; pace <= 3; ++pace) {
      const StepTraffic traffic = trafficOf(ringOfB(movement, pace).stepping);
      EXPECT_EQ(traffic.elements, 3 * 240);
      EXPECT_EQ(traffic.messages, 4 * 3 * pace);
    }
}

TEST(Stepping, randomCases) {
  RandomSteppings random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    const SteppingCase stepping = random.next(random.number(1, 16));
    SCOPED_TRACE(std::to_string(trial) + ": " + describe(stepping));
    AllRanks(stepping).check();
    if (testing::Test::HasFailure())
      return; // One case is enough to read.
  }
}

/// What trafficOf and chunkMemory say by lines of ranks, from every rank's own messages and chunks.
void expectFromAllRanks(const Stepping &stepping) {
  StepTraffic traffic;
  const Grid &grid = stepping.work.grid;
  for (std::size_t t = 0; t < stepping.travellers.size(); ++t) {
    const Traveller &traveller = stepping.travellers[t];
    std::vector<int64_t> sizes;
    std::size_t mostForeign = 0;
    bool isStrided = false; // Some chunk is not contiguous where it is stored.
    for (int64_t rank = grid.firstRank; rank < grid.firstRank + grid.size(); ++rank) {
      const StepTable table(stepping, rank);
      std::size_t foreign = 0;
      for (std::size_t s = 0; s < table.steps(); ++s) {
        foreign += table.isOwn(t, s) ? 0 : 1;
        const Box chunk = table.chunk(t, s), stored = traveller.chunks.box(table.owner(t, s));
        sizes.push_back(volume(chunk));
        isStrided = isStrided || (volume(chunk) > 0 && !isContiguous(chunk, stored));
      }
      mostForeign = std::max(mostForeign, foreign);
      for (const Passage &passage : traveller.role == 2 ? table.departures(t) : table.arrivals(t)) {
        traffic.elements += volume(passage.box);
        ++traffic.messages;
      }
    }
    if (grid.extents[traveller.axis] == 1)
      continue;
    const ChunkMemory memory = chunkMemory(stepping, t);
    const auto [smallest, largest] = std::ranges::minmax_element(sizes);
    EXPECT_EQ(memory.slotElements, *largest);
    const bool isRing = traveller.movement == StepMovement::Ring;
    if (traveller.role == 2 && isRing) {
      const bool areAlike = !isStrided && *smallest == *largest && *smallest > 0;
      EXPECT_EQ(memory.homeSlots, areAlike ? static_cast<std::size_t>(stepping.pace) : 0U);
      continue;
    }
    EXPECT_EQ(memory.slots, std::min<std::size_t>(2, mostForeign));
    if (traveller.role != 2 && traveller.movement != StepMovement::Stream) {
      EXPECT_EQ(memory.stages, isStrided);
    }
  }
  EXPECT_EQ(trafficOf(stepping).elements, traffic.elements);
  EXPECT_EQ(trafficOf(stepping).messages, traffic.messages);
}

TEST(Stepping, totalsAreThoseOfAllRanks) {
  RandomSteppings random(20);
  for (int i = 0; i < 2000; ++i) {
    const SteppingCase of = random.next(i % 4 == 0 ? 72 : 12);
    SCOPED_TRACE(describe(of));
    expectFromAllRanks(of.stepping);
  }
}

} // namespace
