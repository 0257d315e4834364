//===- MemoryCount.cpp - what schedules of a tree need ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/MemoryCount.h"

#include "compiler/lower/Lower.h"
#include "compiler/support/Parallel.h"

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
  struct Missing {
    const NodeBuffers &node;
    int64_t &bytes;
  };
  std::vector<Missing> missing;
  std::vector<const int64_t *> bytesOfNodes; // None of those that need no scratch.
  for (const NodeBuffers &node : buffers.nodes) {
    bytesOfNodes.push_back(nullptr);
    if (tree.node(node.node).kind != NodeKind::Product)
      continue;
    const auto [at, isNew] = scratch.try_emplace(keyOf(tree, schedule, buffers, node), 0);
    if (isNew)
      missing.push_back({node, at->second});
    bytesOfNodes.back() = &at->second;
  }
  forAll(missing.size(), [&](std::size_t m) {
    const auto &[node, bytes] = missing[m];
    bytes = lowerNode(tree, machine, schedule, buffers, node).scratchBytes;
  });
  std::vector<int64_t> result;
  for (const int64_t *bytes : bytesOfNodes)
    result.push_back(bytes ? *bytes : 0);
  return result;
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
