//===- NodeEstimate.h - about what a node takes on a number of ranks --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_NODEESTIMATE_H
#define EINSUMC_PLAN_NODEESTIMATE_H

#include "compiler/ir/Machine.h"
#include "compiler/plan/RankGroups.h"
#include "compiler/plan/TransferCost.h"

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace einsumc {

/// How operands come to a node that other nodes made.
enum class Supply : uint8_t {
  InPlace, ///< where the node needs them: as if all nodes agreed
  Spread,  ///< evenly spread over the ranks: as if none did
};

/// By a few candidates of each node. Inputs are read where they are needed; results that go to more
/// ranks are evenly spread before and after.
class NodeEstimate final : public GroupEstimate {
public:
  /// \param isFree whether a node may be computed on a part of the ranks
  NodeEstimate(const Tree &tree, const Machine &machine, Supply supply,
               std::function<bool(NodeId)> isFree)
      : tree(tree), machine(machine), supply(supply), mayBeMoved(std::move(isFree)) {}

  double node(NodeId node, int64_t ranks) override;
  double move(NodeId tensor, int64_t from, int64_t to) override;
  bool isFree(NodeId node) override { return mayBeMoved(node); }

private:
  const TransferCost &transfersOn(int64_t ranks);
  double supplySeconds(NodeId tensor, const Placement &need, bool areChunks, int64_t ranks);

  const Tree &tree;
  const Machine &machine;
  const Supply supply;
  const std::function<bool(NodeId)> mayBeMoved;
  std::map<int64_t, TransferCost> transfers; ///< by ranks
  std::map<std::pair<NodeId, int64_t>, double> known;
};

} // namespace einsumc

#endif // EINSUMC_PLAN_NODEESTIMATE_H
