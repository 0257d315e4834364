//===- BlockAccess.h - which operands of blocks are packed, and in which order ----------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_BLOCKACCESS_H
#define EINSUMC_PLAN_BLOCKACCESS_H

#include "compiler/plan/BlockChoice.h"
#include "compiler/plan/BlockCounts.h"
#include "compiler/plan/WorkDims.h"

namespace einsumc {

/// Chooses which operands are packed and the tensors whose order of dims blocks have.
/// \param mayPackRight else R is packed only if it cannot be read in place
/// \param blocks has the number of blocks along k
void chooseAccess(const WorkDims &dims, const BlockCounts &counts, int64_t elementBytes,
                  bool mayPackRight, BlockChoice &blocks);

} // namespace einsumc

#endif // EINSUMC_PLAN_BLOCKACCESS_H
