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

/// What a contraction in such blocks takes, with A as L.
/// \param team threads that share the blocks
LocalCost blockCost(const WorkDims &dims, ElementType type, const Machine &machine,
                    const BlockChoice &blocks, int64_t team);

/// Whether kernels write tiles where these belong, in C or scratch, as they are contiguous there
/// for long enough; else they do to a buffer. Panels across dims are taken to be such.
bool areTilesInPlace(const WorkDims &dims, ElementType type, const Machine &machine,
                     const BlockChoice &blocks);

} // namespace einsumc

#endif // EINSUMC_PLAN_BLOCKCOST_H
