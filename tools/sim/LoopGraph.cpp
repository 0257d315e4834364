//===- LoopGraph.cpp - a stepping loop as activities ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "LoopGraph.h"

#include <map>
#include <optional>
#include <utility>

namespace einsumc::sim {

namespace {

using Id = EventEngine::Id;

class Builder {
public:
  Builder(EventEngine &engine, const Stepping &stepping, double elementBytes,
          LoopTransport &transport, const std::function<Id(int64_t)> &begin)
      : engine(engine), stepping(stepping), elementBytes(elementBytes), transport(transport),
        begin(begin) {}

  std::vector<LoopPart> run(const std::function<double(const Box &, std::size_t step)> &seconds) {
    for (const int64_t rank : transport.ranks()) {
      indexOf.emplace(rank, parts.size());
      tables.emplace_back(stepping, rank);
      parts.push_back({.rank = rank, .steps = {}, .transfers = {}});
      addSteps(seconds);
    }
    for (traveller = 0; traveller < stepping.travellers.size(); ++traveller)
      if (stepping.work.grid.extents[stepping.travellers[traveller].axis] > 1)
        addTraveller();
    return std::move(parts);
  }

private:
  void addSteps(const std::function<double(const Box &, std::size_t step)> &seconds) {
    LoopPart &part = parts.back();
    Id before = begin(part.rank);
    for (std::size_t s = 0; s < tables.back().steps(); ++s) {
      const Id step = engine.addDelay(seconds(tables.back().work(s), s));
      engine.after(step, before);
      part.steps.push_back(before = step);
    }
  }

  const Traveller &current() const { return stepping.travellers[traveller]; }
  bool isResult() const { return current().role == 2; }
  std::size_t indexFor(int64_t rank) const { return indexOf.at(transport.standInFor(rank)); }
  double bytesOf(const Box &box) const { return static_cast<double>(volume(box)) * elementBytes; }

  void addTraveller() {
    const std::size_t count = parts.size();
    atStep.assign(count, {});
    lastOf.assign(count, std::nullopt);
    lastSentBy.assign(count, std::nullopt);
    for (std::size_t r = 0; r < count; ++r)
      atStep[r].resize(parts[r].steps.size());
    collectives.clear();
    lendsItsPlace = !isResult() && chunkMemory(stepping, traveller).homeSlots > 0;
    if (current().movement == StepMovement::Stream)
      addStream();
    else
      for (std::size_t r = 0; r < count; ++r)
        for (const Passage &passage : transport.passages(tables[r], traveller))
          add(r, passage);
    for (std::size_t r = 0; r < count; ++r)
      connect(r);
  }

  /// A root serves its ranks step by step.
  void addStream() {
    std::map<std::pair<int64_t, std::size_t>, Passage> inTurn;
    for (std::size_t r = 0; r < parts.size(); ++r)
      for (const Passage &passage : transport.passages(tables[r], traveller))
        inTurn[{passage.step, r}] = passage;
    for (const auto &[turn, passage] : inTurn) {
      add(turn.second, passage);
      const std::size_t root = indexFor(passage.peer);
      inOrder(lastSentBy[root], *atStep[turn.second][static_cast<std::size_t>(turn.first)]);
    }
  }

  void add(std::size_t r, const Passage &passage) {
    const auto step = static_cast<std::size_t>(passage.step);
    const double bytes = bytesOf(passage.box);
    if (current().movement == StepMovement::Bcast)
      return join(r, step, passage.peer, bytes);
    const bool leaves = isResult() && !rotatesResult(stepping);
    const int64_t from = leaves ? parts[r].rank : passage.peer;
    const int64_t to = leaves ? passage.peer : parts[r].rank;
    const Id id = transport.message(traveller, step, from, to, bytes);
    engine.after(id, begin(transport.standInFor(passage.peer)));
    place(r, step, id);
  }

  /// Takes part in the collective of a step; the first of a line adds it.
  void join(std::size_t r, std::size_t step, int64_t owner, double bytes) {
    std::vector<int64_t> line = stepping.work.grid.coordinates(parts[r].rank);
    line[current().axis] = 0;
    const auto [found, isNew] =
        collectives.try_emplace({stepping.work.grid.rankAt(line), step}, Id{0});
    if (isNew) {
      found->second = transport.collective(traveller, step, parts[r].rank, bytes);
      engine.after(found->second, begin(transport.standInFor(owner)));
    }
    place(r, step, found->second);
  }

  void place(std::size_t r, std::size_t step, Id id) {
    atStep[r][step] = id;
    parts[r].transfers.push_back(id);
    engine.after(id, begin(parts[r].rank));
    inOrder(lastOf[r], id);
  }

  void inOrder(std::optional<Id> &last, Id id) {
    if (last)
      engine.after(id, *last);
    last = id;
  }

  /// Steps and transfers of one rank wait for each other.
  void connect(std::size_t r) {
    const std::vector<Id> &steps = parts[r].steps;
    if (isResult() && !rotatesResult(stepping))
      return connectResults(r);
    const auto pace = static_cast<std::size_t>(stepping.pace);
    const std::size_t slots = rotatesResult(stepping) ? pace + 1 : 2;
    std::vector<std::size_t> users; // of slots, in turn
    if (lendsItsPlace)
      users.push_back(0);
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (rotatesResult(stepping) && s < pace)
        users.push_back(s); // computed into a slot without an arrival
      const std::optional<Id> &arrival = atStep[r][s];
      if (!arrival)
        continue;
      engine.after(steps[s], *arrival);
      if (users.size() >= slots)
        waitForSlot(r, users[users.size() - slots], *arrival);
      users.push_back(s);
      waitForData(r, s, *arrival);
    }
  }

  /// The chunk of a step is computed, and gone to the neighbour, before its slot is filled again.
  void waitForSlot(std::size_t r, std::size_t user, Id filling) {
    engine.after(filling, parts[r].steps[user]);
    if (current().movement != StepMovement::Ring)
      return;
    const std::size_t next =
        user + (rotatesResult(stepping) ? static_cast<std::size_t>(stepping.pace) : 1);
    const std::size_t before = neighbour(r, -1);
    if (next < atStep[before].size() && atStep[before][next] && *atStep[before][next] != filling)
      engine.after(filling, *atStep[before][next]);
  }

  /// What a ring passes on must have come, or been computed.
  void waitForData(std::size_t r, std::size_t s, Id arrival) {
    if (current().movement != StepMovement::Ring)
      return;
    const std::size_t next = neighbour(r, 1);
    const auto pace = static_cast<std::size_t>(stepping.pace);
    if (rotatesResult(stepping)) {
      if (s >= pace)
        engine.after(arrival, parts[next].steps[s - pace]);
    } else if (s > 0 && s % (parts[r].steps.size() / pace) != 0 && atStep[next][s - 1]) {
      engine.after(arrival, *atStep[next][s - 1]);
    }
  }

  /// Sums leave when they are computed, from two slots.
  void connectResults(std::size_t r) {
    std::vector<std::size_t> users;
    for (std::size_t s = 0; s < parts[r].steps.size(); ++s) {
      if (!atStep[r][s])
        continue;
      engine.after(*atStep[r][s], parts[r].steps[s]);
      if (users.size() >= 2)
        engine.after(parts[r].steps[s], *atStep[r][users[users.size() - 2]]);
      users.push_back(s);
    }
  }

  std::size_t neighbour(std::size_t r, int64_t distance) const {
    const Grid &grid = stepping.work.grid;
    std::vector<int64_t> place = grid.coordinates(parts[r].rank);
    const int64_t extent = grid.extents[current().axis];
    place[current().axis] = (place[current().axis] + distance + extent) % extent;
    return indexFor(grid.rankAt(place));
  }

  EventEngine &engine;
  const Stepping &stepping;
  const double elementBytes;
  LoopTransport &transport;
  const std::function<Id(int64_t)> &begin;
  std::vector<LoopPart> parts;
  std::vector<StepTable> tables;
  std::map<int64_t, std::size_t> indexOf; ///< by rank, into `parts`
  // Of the traveller at hand:
  std::size_t traveller = 0;
  std::vector<std::vector<std::optional<Id>>> atStep; ///< by part and step
  std::vector<std::optional<Id>> lastOf, lastSentBy;  ///< by part
  bool lendsItsPlace = false; ///< where a rank's own chunk lies is one of the slots
  std::map<std::pair<int64_t, std::size_t>, Id> collectives;
};

} // namespace

std::vector<LoopPart> addLoop(EventEngine &engine, const Stepping &stepping, double elementBytes,
                              LoopTransport &transport, const std::function<Id(int64_t)> &begin,
                              const std::function<double(const Box &, std::size_t step)> &seconds) {
  return Builder(engine, stepping, elementBytes, transport, begin).run(seconds);
}

} // namespace einsumc::sim
