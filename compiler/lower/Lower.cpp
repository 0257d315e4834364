//===- Lower.cpp - a schedule as buffers, moves and loop nests --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/Lower.h"

#include "compiler/lower/NestScratch.h"

#include <utility>

namespace einsumc {

LoweredNode lowerNode(const Tree &tree, const Machine &machine, const Schedule &schedule,
                      const TensorBuffers &buffers, const NodeBuffers &node) {
  LoweredNode lowered;
  static_cast<NodeBuffers &>(lowered) = node;
  std::vector<Layout> stored;
  const auto addLayout = [&](BufferId id) {
    stored.push_back(layoutOf(tree, buffers.buffers[static_cast<std::size_t>(id)]));
  };
  for (const BufferId operand : node.operands)
    addLayout(operand);
  addLayout(node.result);
  lowered.shape = computeShape(tree, node.node, schedule.nodes[static_cast<std::size_t>(node.node)],
                               stored, node.stepping);
  if (tree.node(node.node).kind != NodeKind::Product) {
    lowered.dims = fuseDims(tree, node.node, lowered.shape);
    return lowered;
  }
  lowered.nest = chooseNest(tree, node.node, lowered.shape, node.addsInSteps(), machine);
  lowered.scratchBytes = planScratch(*lowered.nest).total * sizeInBytes(tree.elementType());
  return lowered;
}

LoweredProgram lower(const Tree &tree, const Machine &machine, const Schedule &schedule) {
  LoweredProgram program;
  TensorBuffers buffers = buffersOf(tree, schedule);
  program.storage = assignStorage(tree, schedule, buffers);
  std::vector<int64_t> scratch;
  for (const NodeBuffers &node : buffers.nodes) {
    program.nodes.push_back(lowerNode(tree, machine, schedule, buffers, node));
    scratch.push_back(program.nodes.back().scratchBytes);
  }
  MessageBytes messages;
  program.memory =
      memoryNeed(tree, schedule, {buffers, program.storage, scratch, machine.threads}, messages);
  program.buffers = std::move(buffers.buffers);
  program.homes = std::move(buffers.homes);
  program.outputs = std::move(buffers.outputs);
  return program;
}

} // namespace einsumc
