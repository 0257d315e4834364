//===- MemoryNeed.cpp - the memory that a program takes on a rank -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/MemoryNeed.h"

#include "einsumc/ExchangePlan.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <set>

namespace einsumc {

namespace {

std::size_t sum(std::size_t a, std::size_t b) { return llvm::SaturatingAdd(a, b); }

class Counter {
public:
  Counter(const Tree &tree, const Schedule &schedule, const MemoryUsers &users,
          MessageBytes &messages)
      : tree(tree), schedule(schedule), users(users), messages(messages) {}

  MemoryNeed run() {
    MemoryNeed need;
    need.threads = users.threads;
    for (const int64_t scratch : users.scratch)
      need.scratchPerThread = std::max(need.scratchPerThread, static_cast<std::size_t>(scratch));
    for (const int64_t rank : busyRanks()) {
      const RankStorage tensors = users.storage.onRank(rank);
      const std::size_t sent = messagesOn(rank);
      if (!need.nodes.empty() && sum(tensors.bytes(), sent) <= need.withoutScratch())
        continue;
      need.rank = rank;
      need.tensors = tensors;
      need.messages = sent;
      need.nodes.resize(users.buffers.nodes.size());
    }
    countNodes(need);
    return need;
  }

private:
  std::set<int64_t> busyRanks() const {
    constexpr int64_t kFew = 8;
    std::set<int64_t> ranks = {users.storage.busiest};
    for (int64_t rank = 0; schedule.ranks <= kFew && rank < schedule.ranks; ++rank)
      ranks.insert(rank);
    for (const StoragePlace &place : users.storage.places) {
      const int64_t first = place.layout.grid.firstRank;
      const int64_t last = first + place.layout.grid.size() - 1;
      ranks.insert({first, std::min(first + 1, last), last});
    }
    return ranks;
  }

  template <class Visit> static void forMoves(const NodeBuffers &node, Visit &&visit) {
    for (const std::vector<Move> *moves : {&node.before, &node.after})
      for (const Move &move : *moves)
        visit(move);
  }

  std::size_t messagesOf(const NodeBuffers &node, int64_t rank) {
    std::size_t most = 0;
    forMoves(node, [&](const Move &move) {
      most = std::max(most, messages.of(tree, users.buffers, move, rank));
    });
    return most;
  }

  std::size_t messagesOn(int64_t rank) {
    std::size_t most = 0;
    for (const NodeBuffers &node : users.buffers.nodes)
      most = std::max(most, messagesOf(node, rank));
    return most;
  }

  void countNodes(MemoryNeed &need) {
    const Storage &storage = users.storage;
    std::vector<std::size_t> bytes;
    for (std::size_t b = 0; b < storage.places.size(); ++b)
      bytes.push_back(storage.bytesOn(static_cast<BufferId>(b), need.rank));
    for (std::size_t n = 0; n < need.nodes.size(); ++n) {
      const NodeBuffers &node = users.buffers.nodes[n];
      MemoryNeed::Node &of = need.nodes[n];
      of.node = node.node;
      of.messages = messagesOf(node, need.rank);
      of.scratch = llvm::SaturatingMultiply(static_cast<std::size_t>(users.scratch[n]),
                                            static_cast<std::size_t>(need.threads));
      for (int step = storage.firstSteps[n]; step <= storage.lastStep(n, node); ++step)
        countStep(step, bytes, of);
    }
  }

  /// \param bytes by BufferId
  void countStep(int step, const std::vector<std::size_t> &bytes, MemoryNeed::Node &most) const {
    std::size_t results = 0, chunks = 0;
    for (std::size_t b = 0; b < bytes.size(); ++b) {
      const StoragePlace &place = users.storage.places[b];
      if (!place.isShared || !place.life.overlaps({step, step}))
        continue;
      std::size_t &part = place.chunkElements > 0 ? chunks : results;
      part = sum(part, bytes[b]);
    }
    if (sum(results, chunks) <= sum(most.results, most.chunks))
      return;
    most.results = results;
    most.chunks = chunks;
  }

  const Tree &tree;
  const Schedule &schedule;
  const MemoryUsers &users;
  MessageBytes &messages;
};

} // namespace

std::size_t MemoryNeed::withoutScratch() const { return sum(tensors.bytes(), messages); }

const MemoryNeed::Node &MemoryNeed::at(NodeId node) const {
  return *llvm::find_if(nodes, [&](const Node &of) { return of.node == node; });
}

std::size_t MemoryNeed::scratch() const {
  return llvm::SaturatingMultiply(scratchPerThread, static_cast<std::size_t>(threads));
}

std::size_t MemoryNeed::bytes() const { return sum(withoutScratch(), scratch()); }

std::size_t MessageBytes::of(const Tree &tree, const TensorBuffers &buffers, const Move &move,
                             int64_t rank) {
  const TensorBuffer &from = buffers.buffers[static_cast<std::size_t>(move.from)];
  const TensorBuffer &to = buffers.buffers[static_cast<std::size_t>(move.to)];
  ShapeKey key = {rank};
  addExtents(tree, from.tensor, key);
  addPlacement(from.placement, key);
  addPlacement(to.placement, key);
  const auto [found, isNew] = known.try_emplace(std::move(key), 0);
  if (isNew)
    found->second = planExchange(layoutOf(tree, from), layoutOf(tree, to), rank).stagedElements *
                    static_cast<std::size_t>(sizeInBytes(tree.elementType()));
  return found->second;
}

MemoryNeed memoryNeed(const Tree &tree, const Schedule &schedule, const MemoryUsers &users,
                      MessageBytes &messages) {
  return Counter(tree, schedule, users, messages).run();
}

void print(const Tree &tree, const MemoryNeed &need, llvm::raw_ostream &stream) {
  const auto number = [](std::size_t bytes) { return static_cast<unsigned long long>(bytes); };
  const std::size_t inputs = sum(need.tensors.inputs, need.tensors.sums);
  stream << "# bytes of rank " << need.rank << ", the busiest, while a node runs\n"
         << "#      inputs     results      chunks    messages     scratch       total\n";
  for (const MemoryNeed::Node &node : need.nodes)
    stream << llvm::format(
                  "# %11llu %11llu %11llu %11llu %11llu %11llu  ", number(inputs),
                  number(node.results), number(node.chunks), number(node.messages),
                  number(node.scratch),
                  number(sum(sum(sum(inputs, node.results), sum(node.chunks, node.messages)),
                             node.scratch)))
           << tree.node(node.node).name << "\n";
  stream << "# set aside: " << need.tensors.inputs << " for inputs, ";
  if (need.tensors.sums > 0)
    stream << need.tensors.sums << " for sums of slices, ";
  stream << need.tensors.shared << " shared by results and chunks, " << need.messages
         << " for messages, " << need.scratchPerThread << " for scratch of "
         << (need.threads == 1 ? "the thread"
                               : "each of " + std::to_string(need.threads) + " threads")
         << "; in all " << need.bytes() << "\n";
}

} // namespace einsumc
