//===- Lower.h - a schedule as buffers, moves and loop nests ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_LOWER_LOWER_H
#define EINSUMC_LOWER_LOWER_H

#include "compiler/ir/AssignStorage.h"
#include "compiler/ir/Machine.h"
#include "compiler/lower/LocalNest.h"
#include "compiler/lower/MemoryNeed.h"

#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace einsumc {

/// Everything that happens for one unary node or contraction.
struct LoweredNode : NodeBuffers {
  ComputeShape shape;
  std::vector<FusedDim> dims;    ///< of a unary node: its loops
  std::optional<LocalNest> nest; ///< of a contraction
  int64_t scratchBytes = 0;      ///< that each thread has for the nest
};

/// The program that every rank runs.
struct LoweredProgram {
  std::vector<TensorBuffer> buffers;
  std::vector<LoweredNode> nodes; ///< in the order of evaluation
  std::vector<BufferId> homes;    ///< by NodeId: where later nodes find the tensor
  std::vector<BufferId> outputs;  ///< by NodeId: where an output ends; meaningless for others
  Storage storage;                ///< where the buffers lie, and for how long
  MemoryNeed memory;              ///< of the busiest rank
};

/// Lowers a schedule to what each rank, one of the machine, does.
/// \pre the schedule is valid for the tree
LoweredProgram lower(const Tree &tree, const Machine &machine, const Schedule &schedule);

/// Lowers one node of a schedule. \pre as above
LoweredNode lowerNode(const Tree &tree, const Machine &machine, const Schedule &schedule,
                      const TensorBuffers &buffers, const NodeBuffers &node);

/// The nodes in which a buffer is alive, in words: `from T to Y`, `during T`, `from Y to the end`.
std::string lifeText(const Tree &tree, const LoweredProgram &program, const Lifetime &life);

/// Prints the program for people: one paragraph a node with its moves, loops, tiles and kernel,
/// and one of the memory that the buffers share.
void print(const Tree &tree, const Schedule &schedule, const LoweredProgram &program,
           llvm::raw_ostream &stream);

} // namespace einsumc

#endif // EINSUMC_LOWER_LOWER_H
