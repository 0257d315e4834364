//===- NodeEstimate.h - about what a node takes on a number of ranks --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_NODEESTIMATE_H
#define EINSUMC_PLAN_NODEESTIMATE_H

#include "compiler/ir/Machine.h"
#include "compiler/plan/RankGroups.h"

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace einsumc {

/// By lower bounds of cuts of the work (`roughSeconds`); each operand that another node makes takes
/// messages, too, and results that go to more ranks are evenly spread.
class NodeEstimate final : public GroupEstimate {
public:
  /// \param isFree whether a node may be computed on a part of the ranks
  NodeEstimate(const Tree &tree, const Machine &machine, std::function<bool(NodeId)> isFree);

  double node(NodeId node, int64_t ranks) override;
  double move(NodeId tensor, int64_t from, int64_t to) override;
  bool isFree(NodeId node) override { return mayBeMoved(node); }

private:
  /// Without messages, of one of the nodes that are first of those alike.
  double computing(NodeId node, int64_t ranks);

  const Tree &tree;
  const Machine &machine;
  const std::function<bool(NodeId)> mayBeMoved;
  std::vector<NodeId> firstAlike; ///< by node: the first that is alike
  std::map<std::pair<NodeId, int64_t>, double> known;
};

} // namespace einsumc

#endif // EINSUMC_PLAN_NODEESTIMATE_H
