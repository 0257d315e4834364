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
/// \param machine whose threads share the loops
void streamNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest);

/// The blocks and loops of a node that moves more than it computes, and whose tensors have their
/// dims in different orders.
/// \param dims of the nest, L being A
void reorderNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest);

/// Adds the loops over a class, the slowest dim of the role's tensor outermost.
/// \param counts by dim: indices of a step
void addLoops(const WorkDims &dims, DimClass dimClass, Role role, const DimCounts &counts,
              std::vector<NestLoop> &loops);

/// The loops of a node that moves more than it computes; the threads share those over its result
/// or, where these have too few iterations, its sums.
/// \param counts by dim: indices of a step
void shareLoops(const WorkDims &dims, const Machine &machine, const DimCounts &counts,
                LocalNest &nest);

/// Whether the result of a nest whose loops are there is written once and too large to be found in
/// a cache later.
bool isResultPastCaches(const WorkDims &dims, ElementType type, const LocalNest &nest);

/// The sides and loops of a node that computes more than it moves: blocks for the caches, packed.
/// \param dims of the nest, L being A
/// \param machine whose caches and registers the blocks are made for
void blockNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest);

} // namespace einsumc

#endif // EINSUMC_LOWER_NESTS_H
