//===- Buffers.cpp - what every rank stores of a scheduled tree -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Buffers.h"

#include "compiler/ir/Moves.h"
#include "compiler/support/Text.h"

#include <set>
#include <utility>

namespace einsumc {

namespace {

class BufferList {
public:
  BufferList(const Tree &tree, const Schedule &schedule) : tree(tree), schedule(schedule) {
    for (const Node &node : tree.nodes())
      names.insert(node.name);
    list.homes.resize(static_cast<std::size_t>(tree.size()));
    list.outputs.resize(static_cast<std::size_t>(tree.size()));
  }

  TensorBuffers run() {
    for (NodeId id = 0; id < tree.size(); ++id) {
      const auto index = static_cast<std::size_t>(id);
      if (tree.node(id).kind == NodeKind::Input)
        list.homes[index] = addBuffer(tree.node(id).name, id, homePlacement(tree, schedule, id));
      else
        addNode(id);
    }
    return std::move(list);
  }

private:
  BufferId addBuffer(std::string name, NodeId tensor, Placement placement) {
    list.buffers.push_back({std::move(name), tensor, std::move(placement)});
    return static_cast<BufferId>(list.buffers.size()) - 1;
  }

  /// Buffers along a route, with a move into each; the last one's id.
  BufferId addHops(BufferId from, const std::vector<Placement> &hops, const std::string &name,
                   std::vector<Move> &moves) {
    const NodeId tensor = list.buffers[static_cast<std::size_t>(from)].tensor;
    for (const Placement &hop : hops) {
      const BufferId to = addBuffer(uniqueName(name, names), tensor, hop);
      moves.push_back({from, to});
      from = to;
    }
    return from;
  }

  void addNode(NodeId id) {
    const Node &node = tree.node(id);
    const NodeMoves moves = movesOf(tree, schedule, id);
    NodeBuffers of;
    of.node = id;
    for (std::size_t o = 0; o < node.operands.size(); ++o) {
      const NodeId tensor = node.operands[o].node;
      const BufferId home = list.homes[static_cast<std::size_t>(tensor)];
      of.operands.push_back(addHops(home, moves.operands[o],
                                    tree.node(tensor).name + "_for_" + node.name, of.before));
    }
    addChunks(id, of);
    addResult(id, moves, of);
    list.nodes.push_back(std::move(of));
  }

  void addChunks(NodeId id, NodeBuffers &of) {
    of.stepping = steppingOf(tree, id, schedule.nodes[static_cast<std::size_t>(id)]);
    if (!of.stepping)
      return;
    for (std::size_t t = 0; t < of.stepping->travellers.size(); ++t) {
      const auto role = static_cast<Role>(of.stepping->travellers[t].role);
      const NodeId tensor = tensorOf(tree, id, role);
      const ChunkMemory memory = role == Role::C
                                     ? chunkMemory(*of.stepping, t)
                                     : spend(of, t, list.homes[static_cast<std::size_t>(tensor)]);
      of.chunks.emplace_back();
      if (memory.elements() == 0)
        continue;
      const std::string name = "chunks_of_" + tree.node(tensor).name +
                               (role == Role::C ? "" : "_for_" + tree.node(id).name);
      of.chunks.back() =
          addBuffer(uniqueName(name, names), tensor,
                    workPlacement(tree, id, schedule.nodes[static_cast<std::size_t>(id)], role));
      list.buffers.back().chunkElements = memory.elements();
    }
  }

  /// An operand's place serves others' chunks where it can. A copy is made for the node alone.
  /// Returns what the chunks need.
  ChunkMemory spend(NodeBuffers &of, std::size_t traveller, BufferId home) {
    Traveller &operand = of.stepping->travellers[traveller];
    const BufferId buffer = of.operands[operand.role];
    operand.isSpent = operand.isSpent || buffer != home;
    const ChunkMemory memory = chunkMemory(*of.stepping, traveller);
    operand.isSpent = memory.homeSlots > 0;
    if (operand.isSpent)
      list.buffers[static_cast<std::size_t>(buffer)].slotElements = memory.slotElements;
    return memory;
  }

  /// The buffers of the result: where it is computed, where later nodes find it, where it ends.
  void addResult(NodeId id, const NodeMoves &moves, NodeBuffers &of) {
    const auto index = static_cast<std::size_t>(id);
    const std::string &name = tree.node(id).name;
    const bool moved = !moves.result.empty();
    of.result = addBuffer(moved ? uniqueName(name + "_partial", names) : name, id,
                          workPlacement(tree, id, schedule.nodes[index], Role::C));
    BufferId home = of.result;
    if (moved) {
      std::vector<Placement> hops = moves.result;
      const Placement last = hops.back();
      hops.pop_back();
      const BufferId before = addHops(home, hops, name + "_reduced", of.after);
      home = addBuffer(name, id, last);
      of.after.push_back({before, home});
    }
    list.homes[index] = home;
    list.outputs[index] = addHops(home, moves.final, name + "_final", of.after);
  }

  const Tree &tree;
  const Schedule &schedule;
  TensorBuffers list;
  std::set<std::string> names;
};

} // namespace

TensorBuffers buffersOf(const Tree &tree, const Schedule &schedule) {
  return BufferList(tree, schedule).run();
}

Layout layoutOf(const Tree &tree, const TensorBuffer &buffer) {
  return layoutOf(tree, buffer.tensor, buffer.placement);
}

} // namespace einsumc
