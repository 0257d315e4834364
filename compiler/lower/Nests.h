//===- Nests.h - the two kinds of loop nests --------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_LOWER_NESTS_H
#define EINSUMC_LOWER_NESTS_H

#include "compiler/lower/LocalNest.h"
#include "compiler/plan/WorkDims.h"

namespace einsumc {

/// The sides and loops of a node that moves more than it computes: its tensors are streamed
/// through, in place.
/// \param dims of the nest, L being A
void streamNest(const WorkDims &dims, LocalNest &nest);

/// The sides and loops of a node that computes more than it moves: blocks for the caches, packed.
/// \param dims of the nest, L being A
/// \param elementBytes of the tensors
/// \param machine whose caches and registers the blocks are made for
void blockNest(const WorkDims &dims, int64_t elementBytes, const Machine &machine, LocalNest &nest);

} // namespace einsumc

#endif // EINSUMC_LOWER_NESTS_H
