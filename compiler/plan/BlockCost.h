//===- BlockCost.h - the estimate for contractions that the processor limits ------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_BLOCKCOST_H
#define EINSUMC_PLAN_BLOCKCOST_H

#include "compiler/plan/BlockChoice.h"
#include "compiler/plan/WorkDims.h"

namespace einsumc {

/// What a contraction in such blocks takes, with A as L. \pre !isStreaming(dims)
/// \param team threads that share the blocks
LocalCost blockCost(const WorkDims &dims, ElementType type, const Machine &machine,
                    const BlockChoice &blocks, int64_t team);

/// Whether adding tiles to C so often, in runs so short that they go through a buffer, takes longer
/// than adding them up in scratch, from where they are copied once.
/// \pre their loops may be the innermost
bool isWorthSummingInScratch(const WorkDims &dims, ElementType type, const Machine &machine,
                             const BlockChoice &blocks);

} // namespace einsumc

#endif // EINSUMC_PLAN_BLOCKCOST_H
