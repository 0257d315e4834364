//===- InPlaceSteps.cpp - steps that compute with chunks where they are stored ----------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "InPlaceSteps.h"

#include <optional>
#include <utility>

namespace einsumc {

namespace {

template <class T> class InPlaceSteps {
public:
  InPlaceSteps(StepLists<T> &lists, const Stepping &stepping, const StepTable &table, std::size_t t,
               const LineMemory &memory, int tag)
      : lists(lists), table(table), t(t), traveller(stepping.travellers[t]), memory(memory),
        tag(tag), rotates(traveller.role == kResult && rotatesResult(stepping)) {}

  void run() {
    const std::size_t lane = lists.newLane();
    lists.add(meeting(), lane);
    std::optional<int64_t> first; // step that touches what another rank stores
    for (std::size_t s = 0; s < table.steps(); ++s) {
      const Box chunk = table.chunk(t, s);
      if (table.isOwn(t, s) || volume(chunk) == 0)
        continue;
      const int64_t owner = table.owner(t, s);
      lists.viewOf(traveller.role, s) = {blockOf(owner), traveller.chunks.box(owner), chunk};
      first = first.value_or(static_cast<int64_t>(s));
    }
    lists.transfers[lists.lanes[lane].front()].step = first.value_or(-1);
    if (rotates) {
      handOn(); // What a rank stores is complete when it has had its own turn, the last one.
    } else {
      StepTransfer end = meeting();
      end.afterStep = static_cast<int64_t>(table.steps()) - 1;
      lists.add(std::move(end), lane);
    }
    for (const Passage &passage :
         traveller.role == kResult ? table.departures(t) : table.arrivals(t))
      lists.count(passage.box, true);
  }

private:
  /// Of the ranks of the line.
  StepTransfer meeting() const {
    StepTransfer transfer;
    transfer.kind = StepTransfer::Kind::Barrier;
    transfer.group = memory.line;
    return transfer;
  }

  StepTransfer token(StepTransfer::Kind kind, int64_t peer) const {
    StepTransfer transfer;
    transfer.kind = kind;
    transfer.peer = static_cast<int>(peer);
    transfer.peerRank = transfer.peer;
    transfer.tag = tag;
    transfer.box = {{0, 0}};
    return transfer;
  }

  /// A step adds to a chunk when the rank before has, the first one of each begins it.
  void handOn() {
    for (std::size_t s = 0; s < table.steps(); ++s)
      lists.steps[s].adds = false;
    const std::size_t receives = lists.newLane(), sends = lists.newLane();
    std::optional<std::size_t> last; // One is looked for at a time: they come in order.
    for (const Passage &arrival : table.arrivals(t)) {
      lists.steps[static_cast<std::size_t>(arrival.step)].adds = true;
      StepTransfer transfer = token(StepTransfer::Kind::Receive, arrival.peer);
      transfer.step = arrival.step;
      if (last)
        transfer.after.push_back(*last);
      last = lists.add(std::move(transfer), receives);
    }
    for (const Passage &departure : table.departures(t)) {
      StepTransfer transfer = token(StepTransfer::Kind::Send, departure.peer);
      transfer.afterStep = departure.step;
      lists.add(std::move(transfer), sends);
    }
  }

  /// Where another rank's block begins.
  T *blockOf(int64_t owner) const {
    std::byte *const buffer = memory.view->data(*memory.host->placeOf(owner));
    return reinterpret_cast<T *>(buffer + memory.offset);
  }

  StepLists<T> &lists;
  const StepTable &table;
  const std::size_t t;
  const Traveller &traveller;
  const LineMemory &memory;
  const int tag;
  const bool rotates;
};

} // namespace

template <class T>
void computeInPlace(StepLists<T> &lists, const Stepping &stepping, const StepTable &table,
                    std::size_t t, const LineMemory &memory, int tag) {
  InPlaceSteps<T>(lists, stepping, table, t, memory, tag).run();
}

template void computeInPlace(StepLists<float> &, const Stepping &, const StepTable &, std::size_t,
                             const LineMemory &, int);
template void computeInPlace(StepLists<double> &, const Stepping &, const StepTable &, std::size_t,
                             const LineMemory &, int);

} // namespace einsumc
