//===- MemoryCount.h - what schedules of a tree need ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_LOWER_MEMORYCOUNT_H
#define EINSUMC_LOWER_MEMORYCOUNT_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/ShapeKey.h"
#include "compiler/lower/MemoryNeed.h"

#include <cstdint>
#include <map>
#include <vector>

namespace einsumc {

/// Counts what many schedules of one tree need, as `lower` would, and the scratch and
/// messages of nodes that are alike but once.
class MemoryCount {
public:
  explicit MemoryCount(const Machine &machine) : machine(machine) {}

  /// \pre the schedule is valid for the tree, which is always the same one
  MemoryNeed of(const Tree &tree, const Schedule &schedule);

private:
  /// Bytes a thread, by node.
  std::vector<int64_t> scratchOf(const Tree &tree, const Schedule &schedule,
                                 const TensorBuffers &buffers);
  /// What the scratch of a node follows from: what it computes, its schedule and where its tensors
  /// are.
  static ShapeKey keyOf(const Tree &tree, const Schedule &schedule, const TensorBuffers &buffers,
                        const NodeBuffers &node);

  const Machine machine;
  MessageBytes messages;
  std::map<ShapeKey, int64_t> scratch; ///< by keyOf
};

} // namespace einsumc

#endif // EINSUMC_LOWER_MEMORYCOUNT_H
