//===- WorkCuts.h - the ways to cut a node's work over ranks ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_WORKCUTS_H
#define EINSUMC_PLAN_WORKCUTS_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/Tree.h"

#include <cstdint>
#include <vector>

namespace einsumc {

/// A grid, by the extents of its axes (all above 1), and the dim that each cuts the work along.
struct WorkCut {
  std::vector<int64_t> extents;
  std::vector<DimId> loops;
  bool operator==(const WorkCut &) const = default;
};

/// How many cuts are kept of a node.
struct CutLimits {
  std::size_t dims = 8;  ///< that are cut, of a node that has more
  std::size_t best = 24; ///< cuts in all, a third of them of one combination of classes
  std::size_t eachKind =
      2;                 ///< at least, of every combination of classes of dims; of every size one
  bool allOrders = true; ///< of the axes; false: in the order of the tree's dims alone
};

/// Cuts over up to three axes of every useful number of ranks: all of them, the largest numbers
/// below that are a square, a cube or a power of two, a quarter again and again, and all up to 8.
/// Of these the ones for which a lower bound, of what the busiest rank computes and gets, is least:
/// what it gets of an operand is what its work needs beyond an even share of the
/// tensor (D. Irony, S. Toledo and A. Tiskin, "Communication lower bounds for
/// distributed-memory matrix multiplication", JPDC 64, 2004, count words so).
/// \param lifetimes by dim: how many nodes from this one on it is in a result of; long-lived dims
/// are preferred among equals
std::vector<WorkCut> workCuts(const Tree &tree, NodeId node, const Machine &machine, int64_t ranks,
                              const std::vector<int> &lifetimes, const CutLimits &limits);

/// About what a node takes on at most so many ranks, in seconds: the least of the lower bounds
/// above, of cuts over up to two axes, or what it takes on one rank.
/// \param alone seconds on one rank, by which compute is scaled
double roughSeconds(const Tree &tree, NodeId node, const Machine &machine, int64_t ranks,
                    double alone);

/// The numbers of ranks from 2 on, the most first, that are worth a grid: see `workCuts`.
std::vector<int64_t> usefulSizes(int64_t ranks);

} // namespace einsumc

#endif // EINSUMC_PLAN_WORKCUTS_H
