//===- Movements.h - how the travellers of a node may move ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_MOVEMENTS_H
#define EINSUMC_PLAN_MOVEMENTS_H

#include "compiler/plan/Candidates.h"

#include <vector>

namespace einsumc {

/// The schedules of a node with one cut of its work, on ranks from one on: every way in which the
/// model lets the travellers move that may be of use.
std::vector<NodeSchedule> movementsOf(const Tree &tree, NodeId node, const WorkCut &cut,
                                      int64_t firstRank, const CandidateLimits &limits);

} // namespace einsumc

#endif // EINSUMC_PLAN_MOVEMENTS_H
