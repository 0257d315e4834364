//===- StreamCost.h - the estimate for nodes that memory limits -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_STREAMCOST_H
#define EINSUMC_PLAN_STREAMCOST_H

#include "compiler/plan/WorkDims.h"

namespace einsumc {

/// What a contraction takes that streams through its tensors in place.
/// \pre isStreaming or goesAlongRows
LocalCost streamCost(const WorkDims &dims, ElementType type, const Machine &machine);

/// What a unary node takes: a copy or a sum.
LocalCost unaryCost(const WorkDims &dims, ElementType type, const Machine &machine);

} // namespace einsumc

#endif // EINSUMC_PLAN_STREAMCOST_H
