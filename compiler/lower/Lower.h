//===- Lower.h - a schedule as buffers, moves and loop nests ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_LOWER_LOWER_H
#define EINSUMC_LOWER_LOWER_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/Schedule.h"
#include "compiler/lower/LocalNest.h"
#include "compiler/support/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace einsumc {

/// Index into LoweredProgram::buffers.
using BufferId = int;

/// A tensor, or a copy of it under another placement: every rank stores its block.
struct TensorBuffer {
  std::string name; ///< an identifier, unique among the buffers
  NodeId tensor = 0;
  Placement placement;
};

/// An exchange of messages that fills one buffer from another of the same tensor.
struct Move {
  BufferId from = 0;
  BufferId to = 0;
};

/// Everything that happens for one unary node or contraction.
struct LoweredNode {
  NodeId node = 0;
  std::vector<Move> before;
  std::vector<BufferId> operands; ///< what the compute reads
  BufferId result = 0;            ///< what the compute writes
  std::vector<FusedDim> dims;     ///< of a unary node: its loops
  std::optional<LocalNest> nest;  ///< of a contraction
  std::vector<Move> after;
};

/// The program that every rank runs.
struct LoweredProgram {
  std::vector<TensorBuffer> buffers;
  std::vector<LoweredNode> nodes; ///< in the order of evaluation
  std::vector<BufferId> homes;    ///< by NodeId: where later nodes find the tensor
  std::vector<BufferId> outputs;  ///< by NodeId: where an output ends; meaningless for others
};

/// Lowers a schedule to what each rank, one of the machine, does. Reports schedules with movements
/// that this version does not lower (ring, bcast, get).
/// \pre the schedule is valid for the tree
std::optional<LoweredProgram> lower(const Tree &tree, const Machine &machine,
                                    const Schedule &schedule, Diagnostics &diagnostics);

/// Prints the program for people: one paragraph a node with its moves, loops, tiles and kernel.
void print(const Tree &tree, const Schedule &schedule, const LoweredProgram &program,
           llvm::raw_ostream &stream);

} // namespace einsumc

#endif // EINSUMC_LOWER_LOWER_H
