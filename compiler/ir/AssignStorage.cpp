//===- AssignStorage.cpp - buffers share memory by lifetime -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/AssignStorage.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace einsumc {

namespace {

std::size_t sum(std::size_t a, std::size_t b) { return llvm::SaturatingAdd(a, b); }

class Assignment {
public:
  Assignment(const Tree &tree, const Schedule &schedule, const TensorBuffers &buffers)
      : tree(tree), schedule(schedule), buffers(buffers) {
    storage.elementBytes = sizeInBytes(tree.elementType());
    for (const TensorBuffer &buffer : buffers.buffers) {
      const auto id = static_cast<BufferId>(storage.places.size());
      StoragePlace place;
      place.layout = layoutOf(tree, buffer.tensor, buffer.placement);
      place.chunkElements = buffer.chunkElements;
      place.slotElements = buffer.slotElements;
      place.isShared =
          tree.node(buffer.tensor).kind != NodeKind::Input || home(buffer.tensor) != id;
      place.life = {Storage::kForever, -1};
      storage.places.push_back(std::move(place));
      // The first rank of a grid has the largest block.
      storage.places.back().bytes = storage.bytesOn(id, buffer.placement.grid.firstRank);
    }
    if (schedule.slices.empty())
      return;
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).isOutput)
        storage.sums.push_back(
            {buffers.outputs[static_cast<std::size_t>(id)],
             countSumBlocks(partsOf(schedule.slices), sliceRoles(tree, schedule.slices, id))});
  }

  Storage run() {
    findLifetimes();
    pack();
    findPeak();
    return std::move(storage);
  }

private:
  BufferId home(NodeId tensor) const { return buffers.homes[static_cast<std::size_t>(tensor)]; }

  /// A buffer is written or read in a step.
  void use(BufferId buffer, int step) {
    Lifetime &life = storage.places[static_cast<std::size_t>(buffer)].life;
    life.first = std::min(life.first, step);
    life.last = std::max(life.last, step);
  }

  void findLifetimes() {
    int step = 0;
    auto passMoves = [&](const std::vector<Move> &moves) {
      for (const Move &move : moves) {
        use(move.from, step);
        use(move.to, step++);
      }
    };
    for (const NodeBuffers &node : buffers.nodes) {
      storage.firstSteps.push_back(step);
      passMoves(node.before);
      for (const BufferId operand : node.operands)
        use(operand, step);
      for (const std::optional<BufferId> &chunks : node.chunks)
        if (chunks)
          use(*chunks, step);
      use(node.result, step++);
      passMoves(node.after);
      for (const Operand &operand : tree.node(node.node).operands)
        use(home(operand.node), step);
      use(home(node.node), step++);
      if (tree.node(node.node).isOutput)
        use(buffers.outputs[static_cast<std::size_t>(node.node)], Storage::kForever);
    }
  }

  void pack() {
    std::vector<StorageRequest> requests;
    for (const StoragePlace &place : storage.places)
      if (place.isShared)
        requests.push_back({place.bytes, place.life});
    const StoragePacking packing = packStorage(requests);
    std::size_t next = 0;
    for (StoragePlace &place : storage.places)
      if (place.isShared)
        place.offset = packing.offsets[next++];
      else
        place.life = {0, Storage::kForever};
  }

  /// The first rank of all grids has the largest block of everything; where grids begin at
  /// different ranks, any may be the busiest.
  void findPeak() {
    std::set<int64_t> firstRanks, ends; // Of grids.
    for (const StoragePlace &place : storage.places) {
      const Grid &grid = place.layout.grid;
      firstRanks.insert(grid.firstRank);
      ends.insert(grid.firstRank + grid.size());
    }
    storage.busiest = firstRanks.empty() ? 0 : *firstRanks.begin();
    if (firstRanks.size() <= 1)
      return;
    // Between these all ranks are on the same grids.
    std::set<int64_t> begins = firstRanks;
    begins.insert({0, schedule.ranks});
    begins.merge(ends);
    std::size_t most = 0;
    for (auto begin = begins.begin(); std::next(begin) != begins.end(); ++begin)
      findPeak(*begin, *std::next(begin), most);
  }

  /// The same of some ranks, all on the same grids. No rank has more of a buffer than its place
  /// was made for, so that most need not be looked at.
  /// \param most bytes of the busiest rank so far
  void findPeak(int64_t begin, int64_t end, std::size_t &most) {
    const std::size_t bound = storage.boundOn(begin).bytes();
    for (int64_t rank = begin; rank < end && most < bound; ++rank)
      if (const std::size_t bytes = storage.onRank(rank).bytes(); bytes > most) {
        most = bytes;
        storage.busiest = rank;
      }
  }

  const Tree &tree;
  const Schedule &schedule;
  const TensorBuffers &buffers;
  Storage storage;
};

} // namespace

std::size_t RankStorage::bytes() const { return sum(sum(inputs, shared), sums); }

std::size_t Storage::bytesOn(BufferId buffer, int64_t rank) const {
  const StoragePlace &place = places[static_cast<std::size_t>(buffer)];
  int64_t elements = place.chunkElements;
  if (elements == 0)
    elements = std::max(place.layout.localSize(rank),
                        place.layout.grid.contains(rank) ? place.slotElements : 0);
  return static_cast<std::size_t>(elements * elementBytes);
}

RankStorage Storage::onRank(int64_t rank) const {
  return storageOf([&](BufferId buffer) { return bytesOn(buffer, rank); });
}

RankStorage Storage::boundOn(int64_t rank) const {
  return storageOf([&](BufferId buffer) {
    const StoragePlace &place = places[static_cast<std::size_t>(buffer)];
    return place.chunkElements > 0 || place.layout.grid.contains(rank) ? place.bytes : 0;
  });
}

RankStorage Storage::storageOf(llvm::function_ref<std::size_t(BufferId)> bytesOf) const {
  RankStorage of;
  for (std::size_t b = 0; b < places.size(); ++b) {
    const std::size_t bytes = bytesOf(static_cast<BufferId>(b));
    if (!places[b].isShared) {
      of.inputs = sum(of.inputs, bytes);
      continue;
    }
    of.unshared = sum(of.unshared, bytes);
    if (bytes > 0)
      of.shared = std::max(of.shared, sum(places[b].offset, bytes));
  }
  for (const SliceSums &sliced : sums)
    of.sums = sum(of.sums, llvm::SaturatingMultiply(bytesOf(sliced.buffer),
                                                    static_cast<std::size_t>(sliced.blocks)));
  return of;
}

std::vector<BufferId> Storage::sharers(BufferId buffer) const {
  const StoragePlace &place = places[static_cast<std::size_t>(buffer)];
  std::vector<BufferId> result;
  for (std::size_t b = 0; b < places.size(); ++b)
    if (place.isShared && places[b].isShared && static_cast<BufferId>(b) != buffer &&
        places[b].offset < sum(place.offset, place.bytes) &&
        place.offset < sum(places[b].offset, places[b].bytes))
      result.push_back(static_cast<BufferId>(b));
  std::stable_sort(result.begin(), result.end(), [&](BufferId a, BufferId b) {
    return places[static_cast<std::size_t>(a)].life.first <
           places[static_cast<std::size_t>(b)].life.first;
  });
  return result;
}

std::vector<BufferId> Storage::deadAfter(int step) const {
  std::vector<BufferId> dead;
  for (std::size_t b = 0; b < places.size(); ++b)
    if (places[b].isShared && places[b].life.last == step)
      dead.push_back(static_cast<BufferId>(b));
  return dead;
}

std::size_t Storage::nodeOfStep(int step) const {
  const auto next = std::upper_bound(firstSteps.begin(), firstSteps.end(), step);
  return static_cast<std::size_t>(next - firstSteps.begin()) - 1;
}

Storage assignStorage(const Tree &tree, const Schedule &schedule, const TensorBuffers &buffers) {
  return Assignment(tree, schedule, buffers).run();
}

double storedBytes(const Tree &tree, const Schedule &schedule) {
  const Storage storage = assignStorage(tree, schedule, buffersOf(tree, schedule));
  return static_cast<double>(storage.onRank(storage.busiest).bytes());
}

} // namespace einsumc
