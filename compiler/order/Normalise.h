//===- Normalise.h - repeated and lone dims become unary nodes --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_ORDER_NORMALISE_H
#define EINSUMC_ORDER_NORMALISE_H

#include "compiler/ir/Tree.h"

namespace einsumc {

/// Puts a unary node before every factor of a product that repeats a dim (its diagonal is taken
/// first) or has a dim that neither the result nor another factor has (it is summed first).
/// Afterwards a product's factors have distinct dims, each needed by the result or another factor.
Tree normalise(const Tree &tree);

} // namespace einsumc

#endif // EINSUMC_ORDER_NORMALISE_H
