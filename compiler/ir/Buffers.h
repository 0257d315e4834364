//===- Buffers.h - what every rank stores of a scheduled tree ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_IR_BUFFERS_H
#define EINSUMC_IR_BUFFERS_H

#include "compiler/ir/Schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace einsumc {

/// Index into TensorBuffers::buffers.
using BufferId = int;

/// A tensor, or a copy of it under another placement: every rank stores its block. Or memory for
/// chunks of a tensor that are under way while a node runs.
struct TensorBuffer {
  std::string name; ///< an identifier, unique among the buffers
  NodeId tensor = 0;
  Placement placement;       ///< of chunks: as they are stored where they come from
  int64_t chunkElements = 0; ///< of chunks: so many on every rank
  /// Of an operand whose place serves others' chunks (`ChunkMemory::homeSlots`): room for so many
  /// on every rank of its grid.
  int64_t slotElements = 0;
  bool isChunks() const { return chunkElements > 0; }
};

/// An exchange of messages that fills one buffer from another of the same tensor.
struct Move {
  BufferId from = 0;
  BufferId to = 0;
};

/// What one unary node or contraction reads and writes, in this order.
struct NodeBuffers {
  NodeId node = 0;
  std::vector<Move> before;
  std::vector<BufferId> operands; ///< what the compute reads
  BufferId result = 0;            ///< what the compute writes
  std::optional<Stepping> stepping;
  /// By traveller of the stepping loop; none for one that never leaves its rank.
  std::vector<std::optional<BufferId>> chunks;

  /// Whether a step of the loop may add to what others have left in the result.
  bool addsInSteps() const {
    return stepping && (stepping->sums || stepping->travellers.back().role == 2);
  }
  std::vector<Move> after;
};

/// The buffers of a scheduled tree and who fills them from which.
struct TensorBuffers {
  std::vector<TensorBuffer> buffers;
  std::vector<NodeBuffers> nodes; ///< in the order of evaluation
  std::vector<BufferId> homes;    ///< by NodeId: where later nodes find the tensor
  std::vector<BufferId> outputs;  ///< by NodeId: where an output ends; meaningless for others
};

/// The buffers that a schedule needs: one for each tensor, one for each placement that it passes
/// through on the moves before and after nodes (`movesOf`), and memory for the chunks of stepping
/// loops (`chunkMemory`).
TensorBuffers buffersOf(const Tree &tree, const Schedule &schedule);

/// The layout of a buffer's elements. \pre !buffer.isChunks()
Layout layoutOf(const Tree &tree, const TensorBuffer &buffer);

} // namespace einsumc

#endif // EINSUMC_IR_BUFFERS_H
