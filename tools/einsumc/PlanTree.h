//===- PlanTree.h - from a tree of contractions to its schedule -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_PLANTREE_H
#define EINSUMC_TOOLS_PLANTREE_H

#include "Options.h"

#include "compiler/lower/MemoryCount.h"
#include "compiler/plan/Plan.h"

#include <memory>

namespace einsumc {

/// A tree with its schedule.
struct PlannedTree {
  Tree declared; ///< of one slice
  Tree tree;     ///< the same with the orders of dims in which intermediates are stored
  PlanOptions options;
  Schedule schedule;
  std::shared_ptr<MemoryCount> count; ///< which the planner used

  MemoryNeed memoryNeed() const { return count->of(tree, schedule); }
  /// That the busiest rank needs.
  double bytes() const { return static_cast<double>(memoryNeed().bytes()); }
};

/// The tree of one slice, as it is declared and with the orders that are given or chosen.
std::pair<Tree, Tree> orderedSlice(const Tree &whole, const Machine &machine,
                                   const PartialSchedule &given, const Options &options);

/// Plans a tree. Where it does not fit the memory that a rank may use, no slices are given, it may
/// be sliced and a program is wanted, it is sliced, and a note says so; where no slices help
/// enough, it is in those with which it needs the least.
PlannedTree planTree(const Tree &whole, const Machine &machine, const PartialSchedule &given,
                     const Options &options);

} // namespace einsumc

#endif // EINSUMC_TOOLS_PLANTREE_H
