//===- MemoryCount.cpp - what schedules of a tree need ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/MemoryCount.h"

#include "compiler/lower/Lower.h"

#include <vector>

namespace einsumc {

MemoryNeed MemoryCount::of(const Tree &tree, const Schedule &schedule) {
  const TensorBuffers buffers = buffersOf(tree, schedule);
  const Storage storage = assignStorage(tree, schedule, buffers);
  std::vector<int64_t> scratchOfNodes;
  for (const NodeBuffers &node : buffers.nodes)
    scratchOfNodes.push_back(scratchOf(tree, schedule, buffers, node));
  return memoryNeed(tree, schedule, {buffers, storage, scratchOfNodes, machine.threads}, messages);
}

int64_t MemoryCount::scratchOf(const Tree &tree, const Schedule &schedule,
                               const TensorBuffers &buffers, const NodeBuffers &node) {
  if (tree.node(node.node).kind != NodeKind::Product)
    return 0;
  ShapeKey key = shapeOf(tree, node.node);
  addSchedule(tree, node.node, schedule.nodes[static_cast<std::size_t>(node.node)], key);
  const auto add = [&](BufferId id) {
    addPlacement(buffers.buffers[static_cast<std::size_t>(id)].placement, key);
  };
  for (const BufferId operand : node.operands)
    add(operand);
  add(node.result);
  const auto [found, isNew] = scratch.try_emplace(std::move(key), 0);
  if (isNew)
    found->second = lowerNode(tree, machine, schedule, buffers, node).scratchBytes;
  return found->second;
}

} // namespace einsumc
