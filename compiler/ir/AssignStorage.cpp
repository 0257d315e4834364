//===- AssignStorage.cpp - buffers share memory by lifetime -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/AssignStorage.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <set>

namespace einsumc {

namespace {

std::size_t sum(std::size_t a, std::size_t b) { return llvm::SaturatingAdd(a, b); }

class Assignment {
public:
  Assignment(const Tree &tree, const Schedule &schedule, const TensorBuffers &buffers)
      : tree(tree), schedule(schedule), buffers(buffers) {
    for (const TensorBuffer &buffer : buffers.buffers) {
      layouts.push_back(layoutOf(tree, buffer.tensor, buffer.placement));
      StoragePlace place;
      place.isShared = tree.node(buffer.tensor).kind != NodeKind::Input ||
                       home(buffer.tensor) != static_cast<BufferId>(storage.places.size());
      // The first rank of a grid has the largest block.
      place.bytes = bytesOn(layouts.size() - 1, buffer.placement.grid.firstRank);
      place.life = {Storage::kForever, -1};
      storage.places.push_back(place);
    }
    if (schedule.slices.empty())
      return;
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).isOutput)
        sums.push_back(
            {static_cast<std::size_t>(buffers.outputs[static_cast<std::size_t>(id)]),
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

  std::size_t bytesOn(std::size_t buffer, int64_t rank) const {
    const TensorBuffer &of = buffers.buffers[buffer];
    const int64_t elements = of.isChunks() ? of.chunkElements : layouts[buffer].localSize(rank);
    return static_cast<std::size_t>(elements * sizeInBytes(tree.elementType()));
  }

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
    std::set<int64_t> firstRanks;
    for (const Layout &layout : layouts)
      firstRanks.insert(layout.grid.firstRank);
    if (firstRanks.size() == 1)
      return addRank(*firstRanks.begin());
    for (int64_t rank = 0; rank < schedule.ranks; ++rank)
      addRank(rank);
  }

  void addRank(int64_t rank) {
    std::size_t inputs = 0, shared = 0, unshared = 0;
    for (std::size_t b = 0; b < storage.places.size(); ++b) {
      const std::size_t bytes = bytesOn(b, rank);
      if (!storage.places[b].isShared) {
        inputs = sum(inputs, bytes);
        continue;
      }
      unshared = sum(unshared, bytes);
      if (bytes > 0)
        shared = std::max(shared, sum(storage.places[b].offset, bytes));
    }
    std::size_t sumsOfSlices = 0;
    for (const SliceSums &of : sums)
      sumsOfSlices =
          sum(sumsOfSlices, llvm::SaturatingMultiply(bytesOn(of.buffer, rank),
                                                     static_cast<std::size_t>(of.blocks)));
    if (sum(sum(inputs, shared), sumsOfSlices) <= storage.peakBytes())
      return;
    storage.inputBytes = inputs;
    storage.sharedBytes = std::min(shared, std::numeric_limits<std::size_t>::max() - inputs);
    storage.sumBytes =
        std::min(sumsOfSlices, std::numeric_limits<std::size_t>::max() - sum(inputs, shared));
    storage.unsharedBytes = unshared;
  }

  const Tree &tree;
  const Schedule &schedule;
  const TensorBuffers &buffers;
  /// Memory for the sums of slices: so many blocks of the size of a buffer.
  struct SliceSums {
    std::size_t buffer;
    int64_t blocks;
  };

  std::vector<Layout> layouts; ///< by BufferId
  std::vector<SliceSums> sums;
  Storage storage;
};

} // namespace

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
  return static_cast<double>(assignStorage(tree, schedule, buffersOf(tree, schedule)).peakBytes());
}

namespace {

/// Bytes that a rank stores of each buffer.
std::vector<double> bytesOn(const Tree &tree, const TensorBuffers &buffers, int64_t rank) {
  std::vector<double> bytes;
  for (const TensorBuffer &of : buffers.buffers)
    bytes.push_back(static_cast<double>(
        sizeInBytes(tree.elementType()) *
        (of.isChunks() ? of.chunkElements
                       : layoutOf(tree, of.tensor, of.placement).localSize(rank))));
  return bytes;
}

} // namespace

std::vector<double> liveBytes(const Tree &tree, const Schedule &schedule) {
  const TensorBuffers buffers = buffersOf(tree, schedule);
  const Storage storage = assignStorage(tree, schedule, buffers);
  // The first ranks of grids have the largest blocks.
  std::set<int64_t> firstRanks;
  for (const TensorBuffer &of : buffers.buffers)
    firstRanks.insert(of.placement.grid.firstRank);
  std::vector<double> live(static_cast<std::size_t>(tree.size()));
  for (const int64_t rank : firstRanks) {
    const std::vector<double> bytes = bytesOn(tree, buffers, rank);
    for (std::size_t i = 0; i < buffers.nodes.size(); ++i) {
      double &most = live[static_cast<std::size_t>(buffers.nodes[i].node)];
      for (int step = storage.firstSteps[i]; step <= storage.lastStep(i, buffers.nodes[i]);
           ++step) {
        auto now = static_cast<double>(storage.sumBytes);
        for (std::size_t b = 0; b < bytes.size(); ++b)
          if (storage.places[b].life.first <= step && step <= storage.places[b].life.last)
            now += bytes[b];
        most = std::max(most, now);
      }
    }
  }
  return live;
}

} // namespace einsumc
