//===- Lower.cpp - a schedule as buffers, moves and loop nests --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/Lower.h"

#include <array>
#include <utility>

namespace einsumc {

namespace {

class Lowering {
public:
  Lowering(const Tree &tree, const Machine &machine, const Schedule &schedule)
      : tree(tree), machine(machine), schedule(schedule) {}

  LoweredProgram run() {
    TensorBuffers buffers = buffersOf(tree, schedule);
    program.storage = assignStorage(tree, schedule, buffers);
    program.buffers = std::move(buffers.buffers);
    program.homes = std::move(buffers.homes);
    program.outputs = std::move(buffers.outputs);
    for (NodeBuffers &node : buffers.nodes)
      lowerNode(std::move(node));
    return std::move(program);
  }

private:
  void lowerNode(NodeBuffers node) {
    LoweredNode lowered;
    static_cast<NodeBuffers &>(lowered) = std::move(node);
    const NodeId id = lowered.node;
    const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(id)];
    std::vector<Layout> stored;
    for (const BufferId operand : lowered.operands)
      stored.push_back(layoutOfBuffer(operand));
    stored.push_back(layoutOfBuffer(lowered.result));
    if (tree.node(id).kind == NodeKind::Product)
      lowered.nest = chooseNest(tree, id, on, {stored[0], stored[1], stored[2]}, machine);
    else
      lowered.dims = fuseDims(tree, id, on, stored);
    program.nodes.push_back(std::move(lowered));
  }

  Layout layoutOfBuffer(BufferId id) const {
    return layoutOf(tree, program.buffers[static_cast<std::size_t>(id)]);
  }

  const Tree &tree;
  const Machine &machine;
  const Schedule &schedule;
  LoweredProgram program;
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
