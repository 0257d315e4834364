//===- RankGroups.h - which ranks compute independent parts of a tree at the same time --------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_RANKGROUPS_H
#define EINSUMC_PLAN_RANKGROUPS_H

#include "compiler/ir/Tree.h"
#include "compiler/plan/RankTimes.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace einsumc {

/// About what nodes and moves of results take, by numbers of ranks.
class GroupEstimate {
public:
  virtual ~GroupEstimate() = default;
  /// Seconds of a node on at most so many ranks.
  virtual double node(NodeId node, int64_t ranks) = 0;
  /// Seconds that it takes to spread a result from some ranks over more.
  virtual double move(NodeId tensor, int64_t from, int64_t to) = 0;
  /// Whether the node may be computed on a part of the ranks.
  virtual bool isFree(NodeId node) = 0;
};

/// By node: the ranks that may compute it, of so many. Parts of the tree that do not depend on each
/// other get ranks of their own where that is estimated to take less time than one after the other
/// on all, and so do the parts of these (proportional mapping: A. Pothen and C. Sun, "A mapping
/// algorithm for parallel sparse Cholesky factorization", SIAM J. Sci. Comput. 14, 1993); numbers
/// of ranks beside the proportional one are tried too. What tensors with several users depend on
/// comes before their users. Without such parts all nodes get all ranks.
std::vector<RankRange> rankGroups(const Tree &tree, int64_t ranks, GroupEstimate &estimate);

/// All groups that `rankGroups` might say, with any numbers of ranks in each and in all, and with
/// either part on the first ranks; nothing if these are more than \p most.
std::vector<std::vector<RankRange>> allRankGroups(const Tree &tree, int64_t ranks,
                                                  GroupEstimate &estimate, std::size_t most);

} // namespace einsumc

#endif // EINSUMC_PLAN_RANKGROUPS_H
