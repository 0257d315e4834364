//===- StepProgram.cpp - the steps and transfers of one rank ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "StepProgram.h"

#include "BoxView.h"
#include "StepShapes.h"

#include <map>
#include <optional>
#include <utility>

namespace einsumc {

template <class T> class StepProgram<T>::Builder {
public:
  Builder(StepProgram &program, const Stepping &stepping, const StepTable &table,
          const std::array<const Tensor<T> *, 3> &tensors, const SharedStorage &storage,
          const std::vector<std::size_t> &chunks, int tag)
      : program(program), lists(program.lists), stepping(stepping), table(table), tensors(tensors),
        storage(storage), chunks(chunks), tag(tag) {}

  void run() {
    makeSteps();
    for (std::size_t t = 0; t < stepping.travellers.size(); ++t) {
      if (stepping.work.grid.extents[stepping.travellers[t].axis] == 1)
        continue; // Everything is here.
      if (const LineMemory &inPlace = program.means[t].inPlace; inPlace.line != nullptr) {
        computeInPlace(lists, stepping, table, t, inPlace, tag + static_cast<int>(t));
        continue;
      }
      memory = chunkMemory(stepping, t);
      slotOf.assign(table.steps(), std::nullopt);
      arrivalOf.assign(table.steps(), std::nullopt);
      departureOf.assign(table.steps(), std::nullopt);
      if (stepping.travellers[t].role == kResult)
        addResult(t);
      else
        addOperand(t);
    }
    program.shapeList = numberShapes(lists.steps);
  }

private:
  using Kind = StepTransfer::Kind;

  void makeSteps() {
    Box whole = stepping.work.box(table.rank());
    program.isIdle = volume(whole) == 0;
    bool isFirst = true;
    for (std::size_t s = 0; s < table.steps(); ++s) {
      Step<T> step;
      step.work = table.work(s);
      step.a = home(0);
      step.b = home(1);
      step.c = home(kResult);
      const bool isEmpty = volume(step.work) == 0;
      step.adds = stepping.sums && !isFirst;
      isFirst = isFirst && isEmpty;
      lists.steps.push_back(std::move(step));
    }
  }

  BlockView<T> home(std::size_t role) const {
    return {tensors[role]->data(), tensors[role]->box()};
  }

  StepTransfer transferOf(std::size_t traveller, Kind kind, int64_t peer, Box box) const {
    StepTransfer transfer;
    transfer.kind = kind;
    transfer.peer = static_cast<int>(peer);
    transfer.peerRank = transfer.peer;
    transfer.tag = tag + static_cast<int>(traveller);
    transfer.group = program.means[traveller].group.get();
    transfer.window = program.means[traveller].exposure.window;
    transfer.box = std::move(box);
    return transfer;
  }

  /// Where a box of what the rank stores begins.
  std::byte *atHome(std::size_t traveller, const Box &box) const {
    const Tensor<T> &tensor = *tensors[stepping.travellers[traveller].role];
    return reinterpret_cast<std::byte *>(tensor.data() + BoxView(box, tensor.box()).offset);
  }

  std::byte *slot(std::size_t traveller, std::size_t index) const {
    if (index < memory.homeSlots) {
      const std::size_t role = stepping.travellers[traveller].role;
      if (role != kResult) // Here also where this rank's own block is empty.
        return tensors[role]->memory().data() + tensors[role]->offset();
      return atHome(traveller, table.chunk(traveller, table.steps() - memory.homeSlots + index));
    }
    index -= memory.homeSlots;
    return storage.at(chunks[traveller] +
                      index * static_cast<std::size_t>(memory.stride()) * sizeof(T));
  }

  /// Gives a transfer the chunk where it is stored, or, if it is strided there, the staging slot.
  void useHome(std::size_t traveller, StepTransfer &transfer) {
    const Tensor<T> &tensor = *tensors[stepping.travellers[traveller].role];
    if (isContiguous(transfer.box, tensor.box())) {
      transfer.data = atHome(traveller, transfer.box);
      return;
    }
    transfer.data = slot(traveller, memory.slots);
    transfer.home = reinterpret_cast<std::byte *>(tensor.data());
    transfer.homeBlock = tensor.box();
    if (lastStaged)
      transfer.after.push_back(*lastStaged);
    lastStaged = lists.transfers.size(); // The index that it is about to get.
  }

  /// The next slot in turn for a step's chunk; what fills it waits for those who use it now.
  void useSlot(std::size_t traveller, std::size_t step, StepTransfer &transfer) {
    slotOf[step] = (slotUsers.size() + firstSlot(traveller)) % memory.slots;
    transfer.data = slot(traveller, *slotOf[step]);
    if (slotUsers.size() >= memory.slots) {
      const std::size_t user = slotUsers[slotUsers.size() - memory.slots];
      transfer.afterStep = static_cast<int64_t>(user);
      waitsForSend.emplace_back(lists.transfers.size(), user);
    }
    slotUsers.push_back(step);
    const std::size_t role = stepping.travellers[traveller].role;
    lists.viewOf(role, step) = {reinterpret_cast<T *>(transfer.data), transfer.box};
  }

  /// The slot to begin with: with slots of the result's, such that the last chunk, the own one,
  /// gets them.
  std::size_t firstSlot(std::size_t traveller) const {
    if (memory.homeSlots == 0 || stepping.travellers[traveller].role != kResult)
      return 0;
    return memory.slots - (table.steps() - memory.homeSlots) % memory.slots;
  }

  void resetSlots() {
    slotUsers.clear();
    waitsForSend.clear();
    lastStaged.reset();
  }

  /// What refills a slot waits for the sends from it, which were planned after.
  void connectSends() {
    for (const auto &[transfer, user] : waitsForSend)
      if (departureOf[user])
        lists.transfers[transfer].after.push_back(*departureOf[user]);
  }

  void addOperand(std::size_t t) {
    resetSlots();
    switch (stepping.travellers[t].movement) {
    case StepMovement::Ring:
    case StepMovement::Stream:
      addReceives(t);
      addSends(t);
      connectSends();
      return;
    case StepMovement::Bcast:
      return addBroadcasts(t);
    case StepMovement::Get:
      return addFetches(t);
    }
  }

  void addReceives(std::size_t t) {
    const std::size_t lane = lists.newLane();
    if (memory.homeSlots > 0) // The own chunk is the first user of the slot where it is stored.
      slotUsers.push_back(0);
    for (const Passage &arrival : table.arrivals(t)) {
      StepTransfer transfer = transferOf(t, Kind::Receive, arrival.peer, arrival.box);
      const auto step = static_cast<std::size_t>(arrival.step);
      useSlot(t, step, transfer);
      transfer.step = arrival.step;
      lists.count(arrival.box);
      arrivalOf[step] = lists.add(std::move(transfer), lane);
    }
  }

  void addSends(std::size_t t) {
    const std::size_t lane = lists.newLane();
    for (const Passage &departure : table.departures(t)) {
      StepTransfer transfer = transferOf(t, Kind::Send, departure.peer, departure.box);
      if (departure.step == Passage::kHome) {
        useHome(t, transfer);
        const std::size_t index = lists.add(std::move(transfer), lane);
        if (memory.homeSlots > 0 && departure.box == table.chunk(t, 0))
          departureOf[0] = index;
        continue;
      }
      const auto step = static_cast<std::size_t>(departure.step);
      transfer.data = slot(t, *slotOf[step]);
      transfer.after.push_back(*arrivalOf[step]);
      departureOf[step] = lists.add(std::move(transfer), lane);
    }
  }

  void addBroadcasts(std::size_t t) {
    const std::size_t lane = lists.newLane();
    for (std::size_t s = 0; s < table.steps(); ++s) {
      const Box chunk = table.chunk(t, s);
      if (volume(chunk) == 0)
        continue;
      StepTransfer transfer = transferOf(t, Kind::Bcast, ownerCoordinate(t, s), chunk);
      transfer.isRoot = table.isOwn(t, s);
      transfer.peerRank = static_cast<int>(table.owner(t, s));
      if (transfer.isRoot) {
        useHome(t, transfer);
        // Not many steps ahead: the others have no slots for what would come.
        transfer.afterStep = static_cast<int64_t>(s) - 2;
      } else {
        useSlot(t, s, transfer);
        transfer.step = static_cast<int64_t>(s);
        lists.count(chunk);
      }
      lists.add(std::move(transfer), lane);
    }
  }

  void addFetches(std::size_t t) {
    expose(t);
    const std::size_t lane = lists.newLane();
    const std::size_t begins = lists.add(transferOf(t, Kind::Barrier, 0, {}), lane);
    std::vector<std::size_t> fetches;
    for (const Passage &arrival : table.arrivals(t)) {
      StepTransfer transfer = transferOf(t, Kind::Fetch, arrival.peer, arrival.box);
      useSlot(t, static_cast<std::size_t>(arrival.step), transfer);
      transfer.peerOffset = offsetInWindow(t, arrival.peer, arrival.box);
      transfer.step = arrival.step;
      transfer.after.push_back(begins);
      lists.count(arrival.box);
      fetches.push_back(lists.add(std::move(transfer), lane));
    }
    StepTransfer ends = transferOf(t, Kind::Barrier, 0, {});
    ends.after = fetches;
    lists.add(std::move(ends), lane);
  }

  void addResult(std::size_t t) {
    resetSlots();
    switch (stepping.travellers[t].movement) {
    case StepMovement::Ring:
      return addRotatingSums(t);
    case StepMovement::Bcast:
      return addReductions(t);
    case StepMovement::Get:
      return addOneSidedSums(t);
    case StepMovement::Stream:
      return addReturns(t);
    }
  }

  void addRotatingSums(std::size_t t) {
    const std::size_t receives = lists.newLane();
    std::map<std::size_t, Box> arriving;
    for (const Passage &arrival : table.arrivals(t))
      arriving.emplace(static_cast<std::size_t>(arrival.step), arrival.box);
    for (std::size_t s = 0; s < table.steps(); ++s) {
      const Box chunk = table.chunk(t, s);
      if (volume(chunk) == 0)
        continue;
      const bool arrives = arriving.contains(s);
      StepTransfer transfer = transferOf(t, Kind::Receive, nextRank(t), chunk);
      const Tensor<T> &tensor = *tensors[kResult];
      const bool isHomeSlot = memory.homeSlots > 0;
      if (!isHomeSlot && table.isOwn(t, s) && isContiguous(chunk, tensor.box())) {
        transfer.data = atHome(t, chunk);
      } else {
        useSlot(t, s, transfer);
        if (table.isOwn(t, s) &&
            !isHomeSlot) { // From the slot to its place, then the step adds there.
          transfer.home = reinterpret_cast<std::byte *>(tensor.data());
          transfer.homeBlock = tensor.box();
          lists.steps[s].c = home(kResult);
        }
      }
      lists.steps[s].adds = arrives;
      transfer.step = static_cast<int64_t>(s);
      if (arrives)
        arrivalOf[s] = lists.add(std::move(transfer), receives);
    }
    const std::size_t sends = lists.newLane();
    for (const Passage &departure : table.departures(t)) {
      const auto step = static_cast<std::size_t>(departure.step);
      StepTransfer transfer = transferOf(t, Kind::Send, departure.peer, departure.box);
      transfer.data = slot(t, *slotOf[step]);
      transfer.afterStep = departure.step;
      lists.count(departure.box);
      departureOf[step] = lists.add(std::move(transfer), sends);
    }
    connectSends();
  }

  void addReductions(std::size_t t) {
    const std::size_t lane = lists.newLane();
    const Tensor<T> &tensor = *tensors[kResult];
    for (std::size_t s = 0; s < table.steps(); ++s) {
      const Box chunk = table.chunk(t, s);
      lists.steps[s].adds = false;
      if (volume(chunk) == 0)
        continue;
      StepTransfer transfer = transferOf(t, Kind::Reduce, ownerCoordinate(t, s), chunk);
      transfer.isRoot = table.isOwn(t, s);
      transfer.peerRank = static_cast<int>(table.owner(t, s));
      if (transfer.isRoot && isContiguous(chunk, tensor.box())) {
        transfer.data = atHome(t, chunk);
      } else {
        refillAfter(t, s, transfer);
        if (transfer.isRoot) {
          transfer.home = reinterpret_cast<std::byte *>(tensor.data());
          transfer.homeBlock = tensor.box();
        }
      }
      if (!transfer.isRoot)
        lists.count(chunk);
      transfer.afterStep = static_cast<int64_t>(s);
      lists.add(std::move(transfer), lane);
    }
  }

  void addOneSidedSums(std::size_t t) {
    expose(t);
    const std::size_t lane = lists.newLane();
    const std::size_t begins = lists.add(transferOf(t, Kind::Barrier, 0, {}), lane);
    std::vector<std::size_t> additions;
    for (std::size_t s = 0; s < table.steps(); ++s) {
      const Box chunk = table.chunk(t, s);
      lists.steps[s].adds = false;
      if (volume(chunk) == 0)
        continue;
      StepTransfer transfer = transferOf(t, Kind::Add, table.owner(t, s), chunk);
      refillAfter(t, s, transfer);
      transfer.peerOffset = offsetInWindow(t, table.owner(t, s), chunk);
      transfer.afterStep = static_cast<int64_t>(s);
      transfer.after.push_back(begins);
      if (!table.isOwn(t, s))
        lists.count(chunk);
      additions.push_back(lists.add(std::move(transfer), lane));
    }
    StepTransfer flush = transferOf(t, Kind::Flush, 0, {});
    flush.after = additions;
    StepTransfer ends = transferOf(t, Kind::Barrier, 0, {});
    ends.after.push_back(lists.add(std::move(flush), lane));
    lists.add(std::move(ends), lane);
  }

  /// What streams back: each part to the root when it is computed.
  void addReturns(std::size_t t) {
    const std::size_t receives = lists.newLane();
    for (const Passage &arrival : table.arrivals(t)) {
      StepTransfer transfer = transferOf(t, Kind::Receive, arrival.peer, arrival.box);
      useHome(t, transfer);
      lists.add(std::move(transfer), receives);
    }
    const std::size_t sends = lists.newLane();
    for (const Passage &departure : table.departures(t)) {
      const auto step = static_cast<std::size_t>(departure.step);
      StepTransfer transfer = transferOf(t, Kind::Send, departure.peer, departure.box);
      refillAfter(t, step, transfer);
      transfer.afterStep = departure.step;
      lists.count(departure.box);
      lists.add(std::move(transfer), sends);
    }
  }

  /// A slot that a step computes into and that is then read by a transfer, the next one of its
  /// lane: the step waits for the one that read the slot last.
  void refillAfter(std::size_t t, std::size_t step, StepTransfer &transfer) {
    if (slotUsers.size() >= memory.slots) {
      const std::size_t last = slotUsers[slotUsers.size() - memory.slots];
      StepTransfer &reader = lists.transfers[*departureOf[last]];
      reader.step = static_cast<int64_t>(step);
    }
    useSlot(t, step, transfer);
    waitsForSend.clear();
    departureOf[step] = lists.transfers.size(); // The index that it is about to get.
  }

  /// Where a part of a chunk begins in the window of its owner.
  std::size_t offsetInWindow(std::size_t t, int64_t owner, const Box &part) const {
    return program.means[t].exposure.offset +
           static_cast<std::size_t>(elementsBefore(t, owner, part)) * sizeof(T);
  }

  /// Of the parts before it of what its owner exposes.
  int64_t elementsBefore(std::size_t t, int64_t owner, const Box &part) const {
    const Traveller &traveller = stepping.travellers[t];
    const Box chunk = traveller.chunks.box(owner);
    Box before = part;
    before[traveller.position] = {chunk[traveller.position].begin, part[traveller.position].begin};
    return volume(before);
  }

  /// What this rank stores, in the window.
  void expose(std::size_t t) {
    const Tensor<T> &tensor = *tensors[stepping.travellers[t].role];
    for (std::size_t s = 0; s < table.steps(); ++s) {
      const Box part = table.chunk(t, s);
      if (!table.isOwn(t, s) || volume(part) == 0)
        continue;
      T *const place = memory.stages ? reinterpret_cast<T *>(slot(t, memory.slots)) : tensor.data();
      program.exposedList.push_back({part, place + elementsBefore(t, table.rank(), part), &tensor,
                                     stepping.travellers[t].role == kResult, memory.stages});
    }
  }

  int64_t coordinateOf(std::size_t t, int64_t rank) const {
    return stepping.work.grid.coordinates(rank)[stepping.travellers[t].axis];
  }
  int64_t ownerCoordinate(std::size_t t, std::size_t s) const {
    return coordinateOf(t, table.owner(t, s));
  }
  int64_t nextRank(std::size_t t) const {
    const Grid &grid = stepping.work.grid;
    std::vector<int64_t> place = grid.coordinates(table.rank());
    int64_t &coordinate = place[stepping.travellers[t].axis];
    coordinate = (coordinate + 1) % grid.extents[stepping.travellers[t].axis];
    return grid.rankAt(place);
  }

  StepProgram &program;
  StepLists<T> &lists;
  const Stepping &stepping;
  const StepTable &table;
  const std::array<const Tensor<T> *, 3> &tensors;
  const SharedStorage &storage;
  const std::vector<std::size_t> &chunks;
  const int tag;
  // Of the traveller at hand:
  ChunkMemory memory;
  std::vector<std::optional<std::size_t>> slotOf, arrivalOf, departureOf; ///< by step
  std::vector<std::size_t> slotUsers; ///< steps, in the order in which they use slots
  std::vector<std::pair<std::size_t, std::size_t>> waitsForSend; ///< transfer, step
  std::optional<std::size_t> lastStaged;
};

template <class T>
StepProgram<T>::StepProgram(const Session &session, const Stepping &stepping,
                            const std::array<const Tensor<T> *, 3> &tensors,
                            const SharedStorage &storage, const std::vector<std::size_t> &chunks,
                            int tag) {
  for (std::size_t t = 0; t < stepping.travellers.size(); ++t)
    means.push_back(
        meansOf(session, stepping, t, *tensors[stepping.travellers[t].role], storage, chunks[t]));
  if (stepping.work.grid.contains(session.rank()))
    Builder(*this, stepping, StepTable(stepping, session.rank()), tensors, storage, chunks, tag)
        .run();
}

/// Collective.
template <class T>
typename StepProgram<T>::Means
StepProgram<T>::meansOf(const Session &session, const Stepping &stepping, std::size_t t,
                        const Tensor<T> &tensor, const SharedStorage &storage,
                        std::size_t chunks) const {
  const Grid &grid = stepping.work.grid;
  const Traveller &traveller = stepping.travellers[t];
  Means result;
  if (grid.extents[traveller.axis] == 1)
    return result; // Everything is here. Open MPI has no windows on one rank (ompi issue 10726).
  if (HostRanks *const host = session.neighbours(); host != nullptr &&
                                                    canStayInPlace(stepping, traveller) &&
                                                    host->hasLine(grid, traveller.axis)) {
    const HostView &view = tensor.memory().hostView(host->comm());
    if (const Communicator *const line = host->line(grid, traveller.axis);
        line != nullptr && view.isComplete())
      result.inPlace = {host, line, &view, tensor.offset()};
    if (view.isComplete() && host->comm().size() == session.comm().size())
      return result; // All lines are on this host.
  }
  const bool isOneSided = traveller.movement == StepMovement::Get;
  if (traveller.movement == StepMovement::Bcast || isOneSided)
    result.group = splitAlong(session.comm(), grid, traveller.axis, session.rank(),
                              grid.contains(session.rank()));
  if (isOneSided) {
    const ChunkMemory memory = chunkMemory(stepping, t);
    const std::size_t stage =
        chunks + static_cast<std::size_t>(memory.elementsBeforeStage()) * sizeof(T);
    result.exposure = memory.stages
                          ? Exposure{&storage.memory().window(session.comm()), stage}
                          : Exposure{&tensor.memory().window(session.comm()), tensor.offset()};
  }
  return result;
}

template class StepProgram<float>;
template class StepProgram<double>;

} // namespace einsumc
