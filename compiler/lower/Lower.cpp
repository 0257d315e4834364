//===- Lower.cpp - a schedule as buffers, moves and loop nests --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/Lower.h"

#include "compiler/ir/Moves.h"
#include "compiler/support/Text.h"

#include <array>
#include <set>

namespace einsumc {

namespace {

class Lowering {
public:
  Lowering(const Tree &tree, const Machine &machine, const Schedule &schedule)
      : tree(tree), machine(machine), schedule(schedule) {
    for (const Node &node : tree.nodes())
      names.insert(node.name);
    program.homes.resize(static_cast<std::size_t>(tree.size()));
    program.outputs.resize(static_cast<std::size_t>(tree.size()));
  }

  LoweredProgram run() {
    for (NodeId id = 0; id < tree.size(); ++id) {
      const auto index = static_cast<std::size_t>(id);
      if (tree.node(id).kind == NodeKind::Input)
        program.homes[index] = addBuffer(tree.node(id).name, id, homePlacement(tree, schedule, id));
      else
        lowerNode(id);
    }
    return std::move(program);
  }

private:
  BufferId addBuffer(std::string name, NodeId tensor, Placement placement) {
    program.buffers.push_back({std::move(name), tensor, std::move(placement)});
    return static_cast<BufferId>(program.buffers.size()) - 1;
  }

  /// Buffers along a route, with a move into each; the last one's id.
  BufferId addHops(BufferId from, const std::vector<Placement> &hops, const std::string &name,
                   std::vector<Move> &moves) {
    const NodeId tensor = program.buffers[static_cast<std::size_t>(from)].tensor;
    for (const Placement &hop : hops) {
      const BufferId to = addBuffer(uniqueName(name, names), tensor, hop);
      moves.push_back({from, to});
      from = to;
    }
    return from;
  }

  void lowerNode(NodeId id) {
    const auto index = static_cast<std::size_t>(id);
    const Node &node = tree.node(id);
    const NodeSchedule &on = schedule.nodes[index];
    const NodeMoves moves = movesOf(tree, schedule, id);
    LoweredNode lowered;
    lowered.node = id;
    std::vector<Layout> stored;
    for (std::size_t o = 0; o < node.operands.size(); ++o) {
      const NodeId tensor = node.operands[o].node;
      const BufferId home = program.homes[static_cast<std::size_t>(tensor)];
      const BufferId used = addHops(home, moves.operands[o],
                                    tree.node(tensor).name + "_for_" + node.name, lowered.before);
      lowered.operands.push_back(used);
      stored.push_back(layoutOfBuffer(used));
    }
    lowerResult(id, moves, lowered);
    stored.push_back(layoutOfBuffer(lowered.result));
    if (node.kind == NodeKind::Product)
      lowered.nest = chooseNest(tree, id, on, {stored[0], stored[1], stored[2]}, machine);
    else
      lowered.dims = fuseDims(tree, id, on, stored);
    program.nodes.push_back(std::move(lowered));
  }

  /// The buffers of the result: where it is computed, where later nodes find it, where it ends.
  void lowerResult(NodeId id, const NodeMoves &moves, LoweredNode &lowered) {
    const auto index = static_cast<std::size_t>(id);
    const std::string &name = tree.node(id).name;
    const NodeSchedule &on = schedule.nodes[index];
    const bool moved = !moves.result.empty();
    lowered.result = addBuffer(moved ? uniqueName(name + "_partial", names) : name, id,
                               workPlacement(tree, id, on, Role::C));
    BufferId home = lowered.result;
    if (moved) {
      std::vector<Placement> hops = moves.result;
      const Placement last = hops.back();
      hops.pop_back();
      const BufferId before = addHops(home, hops, name + "_reduced", lowered.after);
      home = addBuffer(name, id, last);
      lowered.after.push_back({before, home});
    }
    program.homes[index] = home;
    program.outputs[index] = addHops(home, moves.final, name + "_final", lowered.after);
  }

  Layout layoutOfBuffer(BufferId id) const {
    const TensorBuffer &buffer = program.buffers[static_cast<std::size_t>(id)];
    return layoutOf(tree, buffer.tensor, buffer.placement);
  }

  const Tree &tree;
  const Machine &machine;
  const Schedule &schedule;
  LoweredProgram program;
  std::set<std::string> names;
};

bool canLower(const Tree &tree, const Schedule &schedule, Diagnostics &diagnostics) {
  for (NodeId id = 0; id < tree.size(); ++id)
    for (const AxisSchedule &axis : schedule.nodes[static_cast<std::size_t>(id)].axes)
      if (axis.movement != Movement::None && axis.movement != Movement::Gather) {
        diagnostics.error(tree.node(id).where,
                          "the schedule of '" + tree.node(id).name + "' moves by '" +
                              name(axis.movement) +
                              "', which this version cannot lower; use none or gather");
        break;
      }
  return !diagnostics.hasErrors();
}

} // namespace

std::optional<LoweredProgram> lower(const Tree &tree, const Machine &machine,
                                    const Schedule &schedule, Diagnostics &diagnostics) {
  if (!canLower(tree, schedule, diagnostics))
    return std::nullopt;
  return Lowering(tree, machine, schedule).run();
}

} // namespace einsumc
