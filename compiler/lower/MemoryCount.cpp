//===- MemoryCount.cpp - what schedules of a tree need ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/MemoryCount.h"

#include "compiler/lower/Lower.h"

#include "llvm/Support/Parallel.h"

#include <vector>

namespace einsumc {

MemoryNeed MemoryCount::of(const Tree &tree, const Schedule &schedule) {
  const TensorBuffers buffers = buffersOf(tree, schedule);
  const Storage storage = assignStorage(tree, schedule, buffers);
  return memoryNeed(tree, schedule,
                    {buffers, storage, scratchOf(tree, schedule, buffers), machine.threads},
                    messages);
}

std::vector<int64_t> MemoryCount::scratchOf(const Tree &tree, const Schedule &schedule,
                                            const TensorBuffers &buffers) {
  std::vector<int64_t> scratchOfNodes(buffers.nodes.size(), 0);
  llvm::parallelFor(0, buffers.nodes.size(), [&](std::size_t n) {
    const NodeBuffers &node = buffers.nodes[n];
    if (tree.node(node.node).kind == NodeKind::Product)
      scratchOfNodes[n] = scratch.of(keyOf(tree, schedule, buffers, node), [&] {
        return lowerNode(tree, machine, schedule, buffers, node).scratchBytes;
      });
  });
  return scratchOfNodes;
}

ShapeKey MemoryCount::keyOf(const Tree &tree, const Schedule &schedule,
                            const TensorBuffers &buffers, const NodeBuffers &node) {
  ShapeKey key = shapeOf(tree, node.node);
  addSchedule(tree, node.node, schedule.nodes[static_cast<std::size_t>(node.node)], key);
  const auto add = [&](BufferId id) {
    addPlacement(buffers.buffers[static_cast<std::size_t>(id)].placement, key);
  };
  for (const BufferId operand : node.operands)
    add(operand);
  add(node.result);
  return key;
}

} // namespace einsumc
