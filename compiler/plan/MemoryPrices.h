//===- MemoryPrices.h - the cheapest choices that fit the memory ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_MEMORYPRICES_H
#define EINSUMC_PLAN_MEMORYPRICES_H

#include "compiler/plan/ChoiceTables.h"

#include <functional>

namespace einsumc {

/// The choices that take the least time of those found that need no more memory than there is.
/// Nodes where bytes are too many raise their price until all fit; then all prices are lowered
/// together as far as they still do, and, to be thorough, each tensor's other choices are tried (H.
/// Everett, "Generalized Lagrange multiplier method for solving problems of optimum allocation of
/// resources", Operations Research 11, 1963). Where nothing fits, the choices that need the least.
/// \param bytes what choices need, exactly
std::vector<std::size_t>
cheapestWithin(const ChoiceTables &tables, double memory,
               const std::function<double(const std::vector<std::size_t> &)> &bytes,
               bool isThorough);

} // namespace einsumc

#endif // EINSUMC_PLAN_MEMORYPRICES_H
