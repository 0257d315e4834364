//===- Stepping.cpp - which chunk every rank computes with in every step ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Stepping.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace einsumc {

bool rotatesResult(const Stepping &stepping) {
  const Traveller &traveller = stepping.travellers.front();
  return traveller.role == 2 && traveller.movement == StepMovement::Ring;
}

StepTable::StepTable(const Stepping &stepping, int64_t rank)
    : stepping(stepping), ownRank(rank), coordinates(stepping.work.grid.coordinates(rank)) {
  const std::vector<Step> chunks = chunksInOrder();
  chunkCount = chunks.size();
  auto add = [&](const Step &chunk, int64_t part) {
    table.push_back({blockOf(chunk.range, stepping.pace, part), chunk.owners});
  };
  if (rotatesResult(stepping)) // A chunk's sums come while another part of it is computed.
    for (const Step &chunk : chunks)
      for (int64_t part = 0; part < stepping.pace; ++part)
        add(chunk, part);
  else // Every part goes all the way round: two slots for a part are enough.
    for (int64_t part = 0; part < stepping.pace; ++part)
      for (const Step &chunk : chunks)
        add(chunk, part);
}

int64_t StepTable::coordinate(std::size_t traveller) const {
  return coordinates[stepping.travellers[traveller].axis];
}

int64_t StepTable::extent(std::size_t traveller) const {
  return stepping.work.grid.extents[stepping.travellers[traveller].axis];
}

int64_t StepTable::rankAt(std::size_t traveller, int64_t coordinate) const {
  const std::size_t axis = stepping.travellers[traveller].axis;
  return ownRank + (coordinate - coordinates[axis]) * stepping.work.grid.stride(axis);
}

/// The chunks that this rank computes with, in the order in which it does.
std::vector<StepTable::Step> StepTable::chunksInOrder() const {
  std::vector<Step> chunks = mergedChunks();
  std::ranges::rotate(chunks, chunks.begin() + static_cast<std::ptrdiff_t>(firstChunk(chunks)));
  return chunks;
}

/// The chunks of all travellers: where these are cut into different numbers, the common parts.
std::vector<StepTable::Step> StepTable::mergedChunks() const {
  const std::size_t count = stepping.travellers.size();
  if (stepping.travellers.front().movement == StepMovement::Stream)
    return {{stepping.work.range(stepping.dim, ownRank), std::vector<int64_t>(count, 0)}};
  std::vector<Step> chunks;
  for (std::size_t t = 0; t < count; ++t) {
    std::vector<Step> merged;
    for (int64_t c = 0; c < extent(t); ++c) {
      const Traveller &traveller = stepping.travellers[t];
      const Interval range = traveller.chunks.range(traveller.position, rankAt(t, c));
      if (t == 0) {
        merged.push_back({range, {c}});
        continue;
      }
      for (const Step &chunk : chunks) {
        const Interval common = intersect(chunk.range, range);
        // Where ranks shift chunks, empty ones stay, so that neighbours have the same number of
        // them.
        const bool shifts = extent(t) == 1 || extent(0) == 1 ||
                            (extent(t) == extent(0) && chunk.owners.front() == c);
        if (common.empty() && !shifts)
          continue;
        merged.push_back({common, chunk.owners});
        merged.back().owners.push_back(c);
      }
    }
    chunks = std::move(merged);
  }
  return chunks;
}

/// Ranks begin with different chunks where these come from one rank each, so that none is asked by
/// all at a time: with their own if one tensor travels, else skewed as Cannon's algorithm does it.
std::size_t StepTable::firstChunk(const std::vector<Step> &chunks) const {
  std::size_t first = 0;
  for (std::size_t t = 0; t < stepping.travellers.size(); ++t) {
    const StepMovement movement = stepping.travellers[t].movement;
    if (movement != StepMovement::Ring && movement != StepMovement::Get)
      continue;
    const auto own = std::ranges::find_if(
        chunks, [&](const Step &chunk) { return chunk.owners[t] >= coordinate(t); });
    first += static_cast<std::size_t>(own - chunks.begin());
  }
  // Sums that rotate reach their owner in the last step.
  return chunks.empty() ? 0 : (first + (rotatesResult(stepping) ? 1 : 0)) % chunks.size();
}

bool StepTable::beginsRound(std::size_t step) const {
  return rotatesResult(stepping) ? step < static_cast<std::size_t>(stepping.pace)
                                 : step % chunkCount == 0;
}

Box StepTable::work(std::size_t step) const {
  Box box = stepping.work.box(ownRank);
  box[stepping.dim] = table[step].range;
  return box;
}

Box StepTable::chunk(std::size_t traveller, std::size_t step) const {
  const Traveller &of = stepping.travellers[traveller];
  Box box = of.chunks.box(owner(traveller, step));
  box[of.position] = table[step].range;
  return box;
}

int64_t StepTable::owner(std::size_t traveller, std::size_t step) const {
  return rankAt(traveller, ownerPlace(traveller, step));
}

int64_t StepTable::source(std::size_t traveller, std::size_t step) const {
  const bool comesFromNeighbour =
      stepping.travellers[traveller].movement == StepMovement::Ring && !beginsRound(step);
  if (isOwn(traveller, step) || !comesFromNeighbour)
    return owner(traveller, step);
  return rankAt(traveller, (coordinate(traveller) + 1) % extent(traveller));
}

std::vector<Passage> StepTable::arrivals(std::size_t traveller) const {
  std::vector<Passage> result;
  auto add = [&](int64_t peer, int64_t step, Box box) {
    if (volume(box) > 0)
      result.push_back({peer, step, std::move(box)});
  };
  if (!isResult(traveller)) {
    for (std::size_t s = 0; s < steps(); ++s)
      if (!isOwn(traveller, s))
        add(source(traveller, s), static_cast<int64_t>(s), chunk(traveller, s));
    return result;
  }
  if (rotatesResult(stepping)) {
    const int64_t next = rankAt(traveller, (coordinate(traveller) + 1) % extent(traveller));
    for (std::size_t s = 0; s < steps(); ++s)
      if (!beginsRound(s))
        add(next, static_cast<int64_t>(s), chunk(traveller, s));
  } else if (stepping.travellers[traveller].movement == StepMovement::Stream &&
             coordinate(traveller) == 0) {
    for (std::size_t s = 0; s < steps(); ++s)
      for (int64_t c = 1; c < extent(traveller); ++c) {
        const StepTable peer(stepping, rankAt(traveller, c));
        add(peer.ownRank, Passage::kHome, peer.chunk(traveller, s));
      }
  }
  return result;
}

std::vector<Passage> StepTable::departures(std::size_t traveller) const {
  std::vector<Passage> result;
  auto add = [&](int64_t peer, int64_t step, Box box) {
    if (volume(box) > 0)
      result.push_back({peer, step, std::move(box)});
  };
  const StepMovement movement = stepping.travellers[traveller].movement;
  if (isResult(traveller)) {
    const int64_t previous =
        rankAt(traveller, (coordinate(traveller) + extent(traveller) - 1) % extent(traveller));
    for (std::size_t s = 0; s < steps(); ++s)
      if (!isOwn(traveller, s))
        add(rotatesResult(stepping) ? previous : owner(traveller, s), static_cast<int64_t>(s),
            chunk(traveller, s));
    return result;
  }
  if (movement != StepMovement::Ring && movement != StepMovement::Stream)
    return result;
  std::vector<StepTable> peers;
  for (int64_t c = 0; c < extent(traveller); ++c)
    if (c != coordinate(traveller))
      peers.emplace_back(stepping, rankAt(traveller, c));
  for (std::size_t s = 0; s < steps(); ++s)
    for (const StepTable &peer : peers)
      if (!peer.isOwn(traveller, s) && peer.source(traveller, s) == ownRank) {
        const bool isHome = peer.owner(traveller, s) == ownRank;
        add(peer.ownRank, isHome ? Passage::kHome : static_cast<int64_t>(s) - 1,
            peer.chunk(traveller, s));
      }
  return result;
}

namespace {

bool isRoot(const Stepping &stepping, const Traveller &traveller, int64_t rank) {
  return stepping.work.grid.coordinates(rank)[traveller.axis] == 0;
}

/// Calls for the table of every rank.
template <class Visit> void forEachRank(const Stepping &stepping, Visit &&visit) {
  const Grid &grid = stepping.work.grid;
  for (int64_t rank = grid.firstRank; rank < grid.firstRank + grid.size(); ++rank)
    visit(StepTable(stepping, rank));
}

/// The axes along which the ranges of the steps differ from rank to rank, beside travellers' own,
/// which all ranks go through: those that also cut a dim along which a traveller is cut.
std::vector<bool> axesOfRanges(const Stepping &stepping) {
  std::vector<bool> result(stepping.work.grid.extents.size(), false);
  for (const Traveller &of : stepping.travellers)
    for (std::size_t axis = 0; axis < result.size(); ++axis) {
      const AxisPlacement &on = of.chunks.axes[axis];
      if (on.kind == AxisKind::Split && on.position == static_cast<int>(of.position))
        result[axis] = true;
    }
  for (const Traveller &of : stepping.travellers)
    result[of.axis] = false;
  return result;
}

/// What tells a line along a traveller's axis from others, as far as sizes go: the place on those
/// axes, which the ranges of its steps follow from, and the sizes of its blocks.
std::vector<int64_t> kindOfLine(const Stepping &stepping, const Traveller &traveller, int64_t rank,
                                const std::vector<bool> &axes) {
  std::vector<int64_t> kind = stepping.work.grid.coordinates(rank);
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (!axes[axis])
      kind[axis] = 0;
  for (std::size_t position = 0; position < traveller.chunks.extents.size(); ++position)
    kind.push_back(traveller.chunks.range(position, rank).size());
  return kind;
}

/// Calls visit(table, count) for the table of one rank of every kind of lines along a traveller's
/// axis, of which there are so many: the other ranks compute with the same chunks, in another
/// order, or with ones of the same sizes. \pre it does not stream
template <class Visit>
void forEachLine(const Stepping &stepping, const Traveller &traveller, Visit &&visit) {
  struct Lines {
    int64_t rank = 0; ///< of the first
    int64_t count = 0;
  };
  std::map<std::vector<int64_t>, Lines> kinds;
  const std::vector<bool> axes = axesOfRanges(stepping);
  const Grid &grid = stepping.work.grid;
  for (int64_t rank = grid.firstRank; rank < grid.firstRank + grid.size(); ++rank)
    if (isRoot(stepping, traveller, rank))
      ++kinds.try_emplace(kindOfLine(stepping, traveller, rank, axes), Lines{rank, 0})
            .first->second.count;
  for (const auto &[kind, of] : kinds)
    visit(StepTable(stepping, of.rank), of.count);
}

bool streams(const Traveller &traveller) { return traveller.movement == StepMovement::Stream; }

/// Every message once: operands where they arrive, results where they leave.
void addStream(const Stepping &stepping, std::size_t traveller, StepTraffic &traffic) {
  const bool isResult = stepping.travellers[traveller].role == 2;
  forEachRank(stepping, [&](const StepTable &table) {
    for (const Passage &passage :
         isResult ? table.departures(traveller) : table.arrivals(traveller)) {
      traffic.elements += volume(passage.box);
      ++traffic.messages;
    }
  });
}

} // namespace

StepTraffic trafficOf(const Stepping &stepping, std::size_t traveller) {
  StepTraffic traffic;
  const Traveller &of = stepping.travellers[traveller];
  if (streams(of)) {
    addStream(stepping, traveller, traffic);
    return traffic;
  }
  // Each chunk passes to, or comes from, all ranks of its line but its owner.
  const int64_t others = stepping.work.grid.extents[of.axis] - 1;
  forEachLine(stepping, of, [&](const StepTable &table, int64_t lines) {
    for (std::size_t s = 0; s < table.steps(); ++s)
      if (const int64_t elements = volume(table.chunk(traveller, s)); elements > 0) {
        traffic.elements += lines * others * elements;
        traffic.messages += lines * others;
      }
  });
  return traffic;
}

StepTraffic trafficOf(const Stepping &stepping) {
  StepTraffic all;
  for (std::size_t t = 0; t < stepping.travellers.size(); ++t) {
    const StepTraffic traffic = trafficOf(stepping, t);
    all.elements += traffic.elements;
    all.messages += traffic.messages;
  }
  return all;
}

namespace {

/// The chunks of a traveller over all ranks.
struct ChunkSizes {
  int64_t largestStored = 0;
  std::size_t mostForeign = 0; ///< of the chunks that a rank does not own
  int64_t largest = 0;
  int64_t smallest = std::numeric_limits<int64_t>::max();
  bool isStrided = false; ///< some are not contiguous where they are stored

  void add(const Box &chunk) {
    largest = std::max(largest, volume(chunk));
    smallest = std::min(smallest, volume(chunk));
  }
  void addStored(const Box &chunk, const Box &stored) {
    if (volume(chunk) > 0)
      isStrided = isStrided || !isContiguous(chunk, stored);
  }
};

/// A root has the chunks of all where it stores the tensor.
ChunkSizes streamedSizes(const Stepping &stepping, std::size_t traveller) {
  const Traveller &of = stepping.travellers[traveller];
  ChunkSizes sizes;
  forEachRank(stepping, [&](const StepTable &table) {
    std::size_t foreign = 0;
    const Box stored = of.chunks.box(table.rank());
    sizes.largestStored = std::max(sizes.largestStored, volume(stored));
    for (std::size_t s = 0; s < table.steps(); ++s) {
      const Box chunk = table.chunk(traveller, s);
      foreign += table.isOwn(traveller, s) ? 0 : 1;
      sizes.add(chunk);
      if (isRoot(stepping, of, table.rank()))
        sizes.addStored(chunk, stored);
    }
    sizes.mostForeign = std::max(sizes.mostForeign, foreign);
  });
  return sizes;
}

/// The lines along a traveller's axis that are looked at.
enum class WhichLines : uint8_t {
  First, ///< from the grid's first rank
  All    ///< that is, those of the outermost ranks: others cut blocks of the same sizes
};

ChunkSizes sizesOf(const Stepping &stepping, std::size_t traveller, WhichLines which) {
  const Traveller &of = stepping.travellers[traveller];
  const Grid &grid = stepping.work.grid;
  ChunkSizes sizes;
  std::vector<int64_t> ranks = {grid.firstRank};
  if (which == WhichLines::All) {
    ranks = outermostRanks(grid);
    std::erase_if(ranks, [&](int64_t rank) { return !isRoot(stepping, of, rank); });
  }
  for (const int64_t rank : ranks) {
    const StepTable table(stepping, rank);
    std::vector<Box> stored; // The line begins with the table's rank.
    for (int64_t c = 0; c < grid.extents[of.axis]; ++c) {
      stored.push_back(of.chunks.box(rank + c * grid.stride(of.axis)));
      sizes.largestStored = std::max(sizes.largestStored, volume(stored.back()));
    }
    std::vector<std::size_t> owned(stored.size(), 0);
    Box chunk;
    for (std::size_t s = 0; s < table.steps(); ++s) {
      const auto owner = static_cast<std::size_t>(table.ownerPlace(traveller, s));
      ++owned[owner];
      chunk = stored[owner];
      chunk[of.position] = table.range(s);
      sizes.add(chunk);
      sizes.addStored(chunk, stored[owner]);
    }
    sizes.mostForeign =
        std::max(sizes.mostForeign, table.steps() - *std::ranges::min_element(owned));
  }
  return sizes;
}

ChunkMemory memoryOf(const Stepping &stepping, std::size_t traveller, WhichLines which) {
  const Traveller &of = stepping.travellers[traveller];
  const bool isResult = of.role == 2;
  ChunkMemory memory;
  if (stepping.work.grid.extents[of.axis] == 1)
    return memory;
  const ChunkSizes sizes =
      streams(of) ? streamedSizes(stepping, traveller) : sizesOf(stepping, traveller, which);
  memory.slotElements = sizes.largest;
  memory.stages = sizes.isStrided;
  if (isResult && of.movement == StepMovement::Ring) {
    // The parts of a chunk that wait or are sent, and the one that is received or computed.
    memory.slots = static_cast<std::size_t>(stepping.pace) + 1;
    if (!memory.stages && sizes.smallest == sizes.largest && sizes.smallest > 0)
      memory.homeSlots = memory.slots - 1;
  } else {
    memory.slots = std::min<std::size_t>(2, sizes.mostForeign);
    // A lone ring begins with the own chunk. Behind the first of several parts lie the next ones,
    // so that it must not be smaller than others'.
    const bool isFirst = of.movement == StepMovement::Ring && stepping.travellers.size() == 1;
    const bool hasRoom = stepping.pace == 1 || sizes.smallest == sizes.largest;
    if (of.isSpent && isFirst && hasRoom && !memory.stages && memory.slots == 2)
      memory.homeSlots = 1;
  }
  // Sums that are no one-sided transfers reach their owner in a slot.
  if (isResult && (of.movement == StepMovement::Ring || of.movement == StepMovement::Bcast))
    memory.stages = false;
  if (memory.stages)
    memory.stageElements = of.movement == StepMovement::Get ? sizes.largestStored : memory.stride();
  return memory;
}

} // namespace

ChunkMemory chunkMemory(const Stepping &stepping, std::size_t traveller) {
  return memoryOf(stepping, traveller, WhichLines::All);
}

ChunkMemory chunkMemoryOfFirstLine(const Stepping &stepping, std::size_t traveller) {
  return memoryOf(stepping, traveller, WhichLines::First);
}

} // namespace einsumc
