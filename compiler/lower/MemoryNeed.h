//===- MemoryNeed.h - the memory that a program takes on a rank -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_LOWER_MEMORYNEED_H
#define EINSUMC_LOWER_MEMORYNEED_H

#include "compiler/ir/AssignStorage.h"
#include "compiler/ir/ShapeKey.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace einsumc {

/// What a program takes on its busiest rank, in bytes: what its `peak_bytes` measures.
struct MemoryNeed {
  /// What is of use while a node runs, at the time when it is most.
  struct Node {
    NodeId node = 0;
    std::size_t results = 0; ///< and copies that are made of tensors
    std::size_t chunks = 0;  ///< under way in a stepping loop
    std::size_t messages = 0;
    std::size_t scratch = 0; ///< of all threads

    std::size_t bytes() const { return results + chunks + messages + scratch; }
  };
  /// \pre the node is computed: it is no input
  const Node &at(NodeId node) const;
  std::vector<Node> nodes; ///< in the order of evaluation

  int64_t rank = 0;    ///< the busiest
  int64_t threads = 1; ///< whose scratch it is
  /// Set aside for all nodes.
  RankStorage tensors;
  std::size_t messages = 0;         ///< of the exchange with most
  std::size_t scratchPerThread = 0; ///< of the node with most

  std::size_t scratch() const;
  std::size_t withoutScratch() const;
  std::size_t bytes() const;
};

/// The memory for messages of exchanges that are no part of tensors. Knows those it has counted.
class MessageBytes {
public:
  /// On a rank, for a move of buffers of a tree, always the same one.
  std::size_t of(const Tree &tree, const TensorBuffers &buffers, const Move &move, int64_t rank);

private:
  std::map<ShapeKey, std::size_t> known; ///< by rank, extents and placements
};

/// What a schedule comes to, as far as memory is concerned.
struct MemoryUsers {
  const TensorBuffers &buffers;
  const Storage &storage;
  llvm::ArrayRef<int64_t> scratch; ///< bytes a thread, by position in the order of evaluation
  int64_t threads = 1;
};

/// The need of the busiest rank. On many ranks it is one of those that are first, second and last
/// on some grid: where tensors are gathered, scattered, or have the largest blocks.
MemoryNeed memoryNeed(const Tree &tree, const Schedule &schedule, const MemoryUsers &users,
                      MessageBytes &messages);

/// Prints the memory as comments of a plan: a line a node, and what is set aside for all of them.
void print(const Tree &tree, const MemoryNeed &need, llvm::raw_ostream &stream);

} // namespace einsumc

#endif // EINSUMC_LOWER_MEMORYNEED_H
