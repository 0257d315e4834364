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
#include <utility>
#include <vector>

namespace einsumc {

/// Elements that a traveller's line of ranks stores, less those of its first rank: what a rank
/// receives or sends in all steps.
int64_t foreignElements(const Traveller &traveller);

/// The chunks that a rank computes with one after the other.
int64_t mostChunks(const Stepping &stepping);

/// `localCost` of parts of a node's work, each shape once: schedules have many in common.
class PartSeconds {
public:
  PartSeconds(const Tree &tree, NodeId node, const Machine &machine)
      : tree(tree), node(node), machine(machine) {}

  /// \param footprint elements of the tensors that it is a part of; 0: it is all of them
  double of(const Box &part, double footprint = 0);

  const Tree &tree;
  const NodeId node;
  const Machine &machine;

private:
  /// By the footprint and the part's extents.
  std::map<std::pair<double, std::vector<int64_t>>, double> known;
};

/// What ranks compute in the steps of a node. The tensors of a step lie where those of all steps
/// have room: they come and go.
class StepSeconds {
public:
  /// \param stepping the node's loop, if it has one
  StepSeconds(PartSeconds &parts, const Stepping *stepping);

  /// \param step but in the first, the result is read where it is added to
  double of(const Box &work, std::size_t step = 0) const;
  /// What messages take of the threads while these compute: every step's even share.
  double load() const { return loadOfStep; }

private:
  double readSeconds(const Box &work) const;
  double loadOf(const Stepping &stepping) const;

  PartSeconds &parts;
  double footprint = 0;  ///< elements of all steps' tensors
  double loadOfStep = 0; ///< seconds
  bool adds = false;     ///< to what the steps before, or other ranks, have summed up
};

} // namespace einsumc

#endif // EINSUMC_PLAN_STEPSECONDS_H
