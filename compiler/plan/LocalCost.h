//===- LocalCost.h - what a node's computation takes on one rank ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_LOCALCOST_H
#define EINSUMC_PLAN_LOCALCOST_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/Schedule.h"

#include <array>
#include <cstdint>
#include <vector>

namespace einsumc {

/// One dim of a local contraction or unary node.
struct WorkDim {
  DimClass dimClass = DimClass::C;
  int64_t extent = 1;
  /// Elements between neighbours along the dim in A, B and C; 0 where the tensor lacks it.
  std::array<int64_t, 3> strides = {};
  /// Whether A, B and C may have more indices of the dim than there are here, so that neighbours
  /// beyond it are further away than its stride and extent say.
  std::array<bool, 3> isPart = {};
  bool operator==(const WorkDim &) const = default;
};

/// What one rank computes for a node, as the estimate sees it.
struct LocalWork {
  std::vector<WorkDim> dims; ///< in any order
  ElementType type = ElementType::F32;
  bool isUnary = false; ///< there is no B
  /// Elements of the tensors that the work is a part of, which lie where so many have room; 0: it
  /// is all of the work.
  double footprint = 0;
};

/// How a contraction is computed.
enum class NestKernel : uint8_t {
  Stream, ///< one call a tile with at most one dim a role, read and written in place
  /// Blocks of many dims, copied where they must be into one order of the dims, along vectors.
  Reorder,
  Block, ///< products of blocks of many dims, cut into tiles of the size of registers and caches
};

/// Whether the threads have the work of their tasks, one perhaps more than the others, or equal
/// shares. So schedules are compared: their parts differ by a few elements, by which one or the
/// other would be chosen.
enum class TeamShares : uint8_t { OfTasks, Equal };

/// The estimate, in seconds.
struct LocalCost {
  double kernelSeconds = 0; ///< arithmetic, calls, and writing the result
  double packSeconds = 0;   ///< copies into blocks, and reading across cache lines
  double memorySeconds = 0; ///< every tensor once through the memory or cache that holds it
  double lineSeconds = 0;   ///< the rest of the cache lines of which the result is written in parts
  double imbalance = 1;     ///< how many times the threads' mean work the one with the most has
  bool swapped = false;     ///< B plays L, the operand whose m LIBXSMM wants contiguous
  NestKernel kernel = NestKernel::Block; ///< of a contraction

  double seconds() const;
};

/// Estimates the work with the machine's rates: a node that streams (see isStreaming and
/// goesAlongRows) by its bytes, unless it may be blocks that take less; any other by the blocks of
/// Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 34, 2008),
/// section 4: arithmetic at the tile kernels' efficiency, calls, packing as often as a block is
/// packed again, and the writing of the result. Of the two ways of giving A and B their roles it
/// takes the cheaper.
LocalCost localCost(const LocalWork &work, const Machine &machine,
                    TeamShares shares = TeamShares::OfTasks);

/// What so many iterations of a contraction take at least.
double leastSeconds(double iterations, ElementType type, const Machine &machine);

/// The work of a node with whole extents and the tree's row-major orders (one rank).
/// \pre the node is no input, and tree.isBinary()
LocalWork localWork(const Tree &tree, NodeId node);

/// The work on a box of the node's iteration dims, with blocks of just that part in the tree's
/// orders.
/// \pre as above
LocalWork localWork(const Tree &tree, NodeId node, const Box &part);

/// The part of a node that the busiest rank computes under a schedule, as far as its extents go.
Box busiestPart(const Tree &tree, NodeId node, const NodeSchedule &schedule);

} // namespace einsumc

#endif // EINSUMC_PLAN_LOCALCOST_H
