//===- ShapeKey.h - what is alike but for names -----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Trees have many nodes that differ in the names of tensors and dims alone. What is found out for
// one of them is known of all.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_IR_SHAPEKEY_H
#define EINSUMC_IR_SHAPEKEY_H

#include "compiler/ir/Schedule.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace einsumc {

/// Numbers that are the same for things that are alike, and for no others of their kind.
using ShapeKey = std::vector<int64_t>;
/// For unordered containers of keys, and of what consists of a few numbers.
struct ShapeHash {
  std::size_t operator()(llvm::ArrayRef<int64_t> parts) const {
    std::size_t hash = 0;
    for (const int64_t part : parts)
      hash = hash * 31 + static_cast<std::size_t>(part);
    return hash;
  }
};

/// The dims of a node's computation in the tree's order, which the order of cuts follows. Keys have
/// dims by their places in it.
std::vector<DimId> dimsInOrder(const Tree &tree, NodeId node);

/// What a node computes: its kind, the extents of its dims, and which of them its tensors have.
ShapeKey shapeOf(const Tree &tree, NodeId node);

void addExtents(const Tree &tree, NodeId tensor, ShapeKey &key);
void addPlacement(const Placement &placement, ShapeKey &key);
/// The node's schedule; with its shape it says what every rank computes and moves.
void addSchedule(const Tree &tree, NodeId node, const NodeSchedule &on, ShapeKey &key);

} // namespace einsumc

#endif // EINSUMC_IR_SHAPEKEY_H
