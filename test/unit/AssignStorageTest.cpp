//===- AssignStorageTest.cpp - buffers share memory by lifetime -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/AssignStorage.h"

#include "RandomLayout.h"

#include "compiler/frontend/ReadEin.h"
#include "compiler/order/GreedyOrder.h"
#include "compiler/order/Normalise.h"
#include "compiler/plan/Algorithms.h"
#include "compiler/plan/Plan.h"
#include "compiler/support/Diagnostics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>

namespace {

using namespace einsumc;

/// Runs the moves and nodes of a program on a memory that knows of every line which buffer wrote it
/// last.
class Replay {
public:
  Replay(const Tree &tree, const TensorBuffers &buffers, const Storage &storage)
      : tree(tree), buffers(buffers), storage(storage) {
    for (std::size_t b = 0; b < storage.places.size(); ++b) {
      const StoragePlace &place = storage.places[b];
      if (place.isShared)
        lines.resize(std::max(lines.size(), (place.offset + place.bytes + 63) / 64), -1);
    }
  }

  void run() {
    for (const NodeBuffers &node : buffers.nodes) {
      move(node.before);
      read(node.operands, "the operands of " + tree.node(node.node).name);
      write(node.result);
      for (const std::optional<BufferId> &chunks : node.chunks)
        if (chunks)
          write(*chunks);
      read(node.operands, "the operands beside the result of " + tree.node(node.node).name);
      const std::set<BufferId> spent = spentBy(node);
      for (const BufferId buffer : spent)
        forLines(buffer, [](BufferId &owner) { owner = kChunks; });
      move(node.after);
      std::vector<BufferId> compared{home(node.node)};
      for (const Operand &operand : tree.node(node.node).operands)
        if (!spent.contains(home(operand.node)))
          compared.push_back(home(operand.node));
      read(compared, "what is compared at the end of " + tree.node(node.node).name);
    }
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).isOutput)
        read({buffers.outputs[static_cast<std::size_t>(id)]}, "an output");
  }

  int spentHomes = 0;

private:
  static constexpr BufferId kChunks = -2; ///< of others, left in an operand's place

  /// Operands in whose place the node leaves others' chunks. Inputs have lines of their own.
  std::set<BufferId> spentBy(const NodeBuffers &node) {
    std::set<BufferId> spent;
    if (node.stepping)
      for (const Traveller &traveller : node.stepping->travellers)
        if (traveller.role != 2 && traveller.isSpent) {
          const BufferId buffer = node.operands[traveller.role];
          EXPECT_TRUE(storage.places[static_cast<std::size_t>(buffer)].isShared) << "an input";
          EXPECT_EQ(std::ranges::count(node.operands, buffer), 1) << "the other operand is read";
          spentHomes += buffer == home(buffers.buffers[static_cast<std::size_t>(buffer)].tensor);
          spent.insert(buffer);
        }
    return spent;
  }

  BufferId home(NodeId tensor) const { return buffers.homes[static_cast<std::size_t>(tensor)]; }

  template <class Visit> void forLines(BufferId buffer, Visit &&visit) {
    const StoragePlace &place = storage.places[static_cast<std::size_t>(buffer)];
    for (std::size_t line = place.offset / 64; line * 64 < place.offset + place.bytes; ++line)
      if (place.isShared)
        visit(lines[line]);
  }

  void move(const std::vector<Move> &moves) {
    for (const Move &move : moves) {
      write(move.to);
      read({move.from}, "the source of a move");
    }
  }
  void write(BufferId buffer) {
    forLines(buffer, [&](BufferId &owner) { owner = buffer; });
  }
  void read(const std::vector<BufferId> &ids, const std::string &what) {
    for (const BufferId buffer : ids)
      forLines(buffer, [&](const BufferId &owner) {
        ASSERT_EQ(owner, buffer) << what << ": "
                                 << buffers.buffers[static_cast<std::size_t>(buffer)].name;
      });
  }

  const Tree &tree;
  const TensorBuffers &buffers;
  const Storage &storage;
  std::vector<BufferId> lines;
};

/// A DAG of products of square matrices: most read the last result, some an earlier one.
std::string randomProgram(std::mt19937 &random) {
  const auto below = [&](std::size_t n) { return random() % n; };
  std::string text = "dim i = 36, j = 36, k = 36;\ninput X0[i, j];\ninput X1[i, j];\n";
  const std::size_t nodes = 3 + below(12);
  std::size_t count = 2;
  for (std::size_t n = 0; n < nodes; ++n, ++count) {
    const std::string a = "X" + std::to_string(count - 1);
    const std::string b = "X" + std::to_string(below(count));
    const bool isOutput = n + 1 == nodes || below(6) == 0;
    const std::string pin = isOutput && below(2) == 0 ? " at root" : "";
    text += (isOutput ? "output X" : "X") + std::to_string(count) + "[i, k]" + pin + " = " + a +
            "[i, j] * " + b + "[j, k];\n";
  }
  return text;
}

TEST(AssignStorage, whatIsReadIsWhatWasWritten) {
  std::mt19937 random(3);
  int spentHomes = 0;
  for (int round = 0; round < 60; ++round) {
    const std::string text = randomProgram(random);
    const int64_t ranks = int64_t{1} << random() % 4;
    Diagnostics diagnostics(llvm::nulls());
    const std::optional<Tree> read = readEin(diagnostics.addText("a.ein", text), diagnostics);
    ASSERT_TRUE(read) << text;
    const Tree tree = *orderGreedily(normalise(*read), diagnostics);
    PartialSchedule fixed;
    const std::vector<std::string> names = algorithmNames();
    for (NodeId id = 0; id < tree.size(); ++id) {
      if (tree.node(id).kind == NodeKind::Input)
        continue;
      auto candidate = scheduleByName(tree, id, names[random() % names.size()], ranks);
      if (auto *node = std::get_if<NodeSchedule>(&candidate))
        fixed.nodes[id] = *node;
    }
    const Schedule schedule = plan(tree, Machine{}, {ranks, fixed});
    const TensorBuffers buffers = buffersOf(tree, schedule);
    const Storage storage = assignStorage(tree, schedule, buffers);
    SCOPED_TRACE(text);
    Replay replay(tree, buffers, storage);
    replay.run();
    spentHomes += replay.spentHomes;
    const RankStorage most = storage.onRank(storage.busiest);
    EXPECT_LE(most.shared, most.unshared + 64 * buffers.buffers.size());
    if (HasFatalFailure())
      return;
  }
  EXPECT_GT(spentHomes, 0);
}

/// Two products on any ranks, and the product of both.
TEST(AssignStorage, theBusiestRankIsTheFirstWithMost) {
  Diagnostics diagnostics(llvm::nulls());
  const Tree tree = *orderGreedily(
      normalise(*readEin(
          diagnostics.addText("a.ein", "dim i = 37, j = 23, k = 29;\n"
                                       "input A[i, j]; input B[j, k]; input D[k, j];\n"
                                       "T[i, k] = A[i, j] * B[j, k]; U[k, i] = D[k, j] * A[i, j];\n"
                                       "output V[i, k] = T[i, k] * U[k, i];\n"),
          diagnostics)),
      diagnostics);
  constexpr int64_t kRanks = 24;
  test::RandomLayouts layouts(17);
  for (int round = 0; round < 500; ++round) {
    Schedule schedule{kRanks, {}, {}, {}, {}};
    for (NodeId id = 0; id < tree.size(); ++id) {
      const int64_t first = layouts.number(0, kRanks - 1);
      const Grid grid{{layouts.number(1, kRanks - first)}, first};
      schedule.inputs.push_back({grid, {split(static_cast<int>(layouts.number(0, 1)))}});
      schedule.finals.emplace_back();
      schedule.nodes.push_back({grid, {}});
      if (tree.node(id).kind != NodeKind::Input)
        schedule.nodes.back().axes = {{tree.node(id).dims[0], copied(), Movement::None, 1}};
    }
    const Storage storage = assignStorage(tree, schedule, buffersOf(tree, schedule));
    int64_t busiest = 0;
    for (int64_t rank = 0; rank < kRanks; ++rank)
      if (storage.onRank(rank).bytes() > storage.onRank(busiest).bytes())
        busiest = rank;
    EXPECT_EQ(storage.busiest, busiest);
  }
}

} // namespace
