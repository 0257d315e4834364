//===- StreamCost.h - the estimate for nodes that memory limits -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_STREAMCOST_H
#define EINSUMC_PLAN_STREAMCOST_H

#include "compiler/plan/WorkDims.h"

namespace einsumc {

/// Elements at a time of kernels that stream through memory.
constexpr int64_t kStream = 2048;
/// The same where an operand is read across its lines, so that these stay in the second-level cache
/// until they are used up: the side of the squares that are transposed.
constexpr int64_t kCrossed = 128;

/// What a contraction takes that streams through its tensors in place. \pre isStreaming(dims)
LocalCost streamCost(const WorkDims &dims, ElementType type, const Machine &machine);

/// What a unary node takes: a copy or a sum.
LocalCost unaryCost(const WorkDims &dims, ElementType type, const Machine &machine);

} // namespace einsumc

#endif // EINSUMC_PLAN_STREAMCOST_H
