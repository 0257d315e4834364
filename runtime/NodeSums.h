//===- NodeSums.h - weighted sums over a node, on all ranks -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_NODESUMS_H
#define EINSUMC_RUNTIME_NODESUMS_H

#include "LocalSums.h"
#include "einsumc/Program.h"

#include <cstdint>
#include <vector>

namespace einsumc {

/// The sum over all dims in the window of the product of the operands (one or two), each entry of
/// the result times its weight: what the result's entries, so weighted, must add up to. The measure
/// is the sum of the absolute values or squares of the terms. The operands are reduced to the dims
/// that both have first, so the work is that of reading them once. Collective.
/// \param chunk indices of the shared dims that are in memory at once
WeightedSum expectedSum(const Communicator &comm, const std::vector<TensorUse> &operands,
                        const Window &window, const Weights &weights, Measure measure,
                        int64_t chunk);

/// The same sum over what each rank holds of the result, one a rank, replicas too. Collective.
std::vector<WeightedSum> heldSums(const Communicator &comm, const TensorUse &result,
                                  const Window &window, const Weights &weights);

/// Adds up the primary holders of a result.
WeightedSum primarySum(const Layout &layout, const std::vector<WeightedSum> &held);

/// The dims of both operands of a node, each once; none for a node of one operand.
std::vector<int> sharedDims(const std::vector<TensorUse> &operands);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_NODESUMS_H
