//===- StepSeconds.h - what parts of a node's work take to compute ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_STEPSECONDS_H
#define EINSUMC_PLAN_STEPSECONDS_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/Schedule.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace einsumc {

/// Elements that a traveller's line of ranks stores, less those of its first rank: what a rank
/// receives or sends in all steps.
int64_t foreignElements(const Traveller &traveller);

/// The chunks that a rank computes with one after the other.
int64_t mostChunks(const Stepping &stepping);

/// `localCost` of the boxes that ranks compute of a node, each shape once. The tensors of a step
/// lie where those of all steps have room: they come and go.
class StepSeconds {
public:
  /// \param stepping the node's loop, if it has one
  StepSeconds(const Tree &tree, NodeId node, const Machine &machine, const Stepping *stepping);

  /// \param step but in the first, the result is read where it is added to
  double of(const Box &work, std::size_t step = 0);
  /// What messages take of the threads while these compute: every step's even share.
  double load() const { return loadOfStep; }

private:
  double readSeconds(const Box &work) const;
  double loadOf(const Stepping &stepping) const;

  const Tree &tree;
  const NodeId node;
  const Machine &machine;
  double footprint = 0;  ///< elements of all steps' tensors
  double loadOfStep = 0; ///< seconds
  bool adds = false;     ///< to what the steps before, or other ranks, have summed up
  std::map<std::vector<int64_t>, double> known; ///< by extents
};

} // namespace einsumc

#endif // EINSUMC_PLAN_STEPSECONDS_H
