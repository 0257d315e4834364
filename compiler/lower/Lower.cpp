//===- Lower.cpp - a schedule as buffers, moves and loop nests --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/Lower.h"

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
    lowered.shape = computeShape(tree, id, on, stored, lowered.stepping);
    if (tree.node(id).kind == NodeKind::Product)
      lowered.nest = chooseNest(tree, id, lowered.shape, lowered.addsInSteps(), machine);
    else
      lowered.dims = fuseDims(tree, id, lowered.shape);
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

} // namespace

LoweredProgram lower(const Tree &tree, const Machine &machine, const Schedule &schedule) {
  return Lowering(tree, machine, schedule).run();
}

} // namespace einsumc
