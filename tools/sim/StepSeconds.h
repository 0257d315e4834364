//===- StepSeconds.h - what parts of a node's work take to compute ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SIM_STEPSECONDS_H
#define EINSUMC_SIM_STEPSECONDS_H

#include "compiler/plan/LocalCost.h"

#include <cstdint>
#include <map>
#include <vector>

namespace einsumc::sim {

/// `localCost` of boxes of a node's work, each shape once.
class StepSeconds {
public:
  StepSeconds(const Tree &tree, const Machine &machine, NodeId node)
      : tree(tree), machine(machine), node(node) {}

  double of(const Box &work) {
    if (volume(work) == 0 && !work.empty())
      return 0;
    std::vector<int64_t> extents;
    for (const Interval &range : work)
      extents.push_back(range.size());
    const auto [found, isNew] = known.try_emplace(std::move(extents), 0);
    if (isNew)
      found->second = localCost(localWork(tree, node, work), machine).seconds();
    return found->second;
  }

private:
  const Tree &tree;
  const Machine &machine;
  const NodeId node;
  std::map<std::vector<int64_t>, double> known; ///< by extents
};

} // namespace einsumc::sim

#endif // EINSUMC_SIM_STEPSECONDS_H
