//===- AssignStorage.h - buffers share memory by lifetime -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_IR_ASSIGNSTORAGE_H
#define EINSUMC_IR_ASSIGNSTORAGE_H

#include "compiler/ir/Buffers.h"
#include "compiler/ir/PackStorage.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>
#include <vector>

namespace einsumc {

/// Where a buffer lies and for how long.
struct StoragePlace {
  Layout layout;             ///< of the elements, unless they are chunks
  int64_t slotElements = 0;  ///< as TensorBuffer has it
  int64_t chunkElements = 0; ///< of chunks: so many on every rank
  bool isShared = false;     ///< not of inputs, which have memory of their own for ever
  std::size_t offset = 0;    ///< from the start of the shared storage, in bytes
  std::size_t bytes = 0;     ///< on the rank that has most of it
  Lifetime life;             ///< kForever after the last step: to the end of the run and longer
};

/// The memory for tensors of one rank, in bytes.
struct RankStorage {
  std::size_t inputs = 0;
  std::size_t shared = 0;   ///< of results, copies and chunks
  std::size_t sums = 0;     ///< where slices are added up
  std::size_t unshared = 0; ///< what results, copies and chunks would take without sharing

  /// Of all tensors; sums that are no number of bytes count as the largest one.
  std::size_t bytes() const;
};

/// The memory of all buffers. Time is counted in steps: those of a node are its moves before, the
/// computation, its moves after, and its end, when verification looks at it.
struct Storage {
  static constexpr int kForever = 0x7fffffff;

  std::vector<StoragePlace> places; ///< by BufferId
  std::vector<int> firstSteps;      ///< by position in the order of evaluation
  /// Memory for the sums of slices: so many blocks of the size of a buffer.
  struct SliceSums {
    BufferId buffer = 0;
    int64_t blocks = 0;
  };
  std::vector<SliceSums> sums;
  int64_t elementBytes = 1;
  int64_t busiest = 0; ///< the rank with most

  /// Bytes of a buffer on a rank.
  std::size_t bytesOn(BufferId buffer, int64_t rank) const;
  RankStorage onRank(int64_t rank) const;
  /// The same if the rank had as much of each buffer of its grids as the rank with most.
  RankStorage boundOn(int64_t rank) const;
  /// The buffers that have bytes in common with one, in the order of their lives.
  std::vector<BufferId> sharers(BufferId buffer) const;
  /// The shared buffers that hold nothing of use after a step.
  std::vector<BufferId> deadAfter(int step) const;
  /// The last step of a node: its end.
  int lastStep(std::size_t position, const NodeBuffers &node) const {
    return firstSteps[position] + static_cast<int>(node.before.size() + 1 + node.after.size());
  }
  /// The node (position in the order of evaluation) that a step belongs to.
  std::size_t nodeOfStep(int step) const;

private:
  RankStorage storageOf(llvm::function_ref<std::size_t(BufferId)> bytesOf) const;
};

/// Gives every buffer its memory. Inputs keep theirs, as a program may run again; so does what
/// slices add up to (`countSumBlocks`), in the layout in which an output ends. A result or a copy
/// lives from the step that writes it to the last that reads it and shares the memory of others
/// before and after. What a node computes with never overlaps its result; the tensors that it reads
/// live to the node's end, as does its result, so that the two can be compared; outputs live to the
/// end, where they are wanted.
Storage assignStorage(const Tree &tree, const Schedule &schedule, const TensorBuffers &buffers);

/// Bytes that the busiest rank needs at a time for all tensors and the copies made for nodes, as
/// `assignStorage` places them. Scratch memory of kernels and of messages comes on top.
double storedBytes(const Tree &tree, const Schedule &schedule);

} // namespace einsumc

#endif // EINSUMC_IR_ASSIGNSTORAGE_H
