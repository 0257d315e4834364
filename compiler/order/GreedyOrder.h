//===- GreedyOrder.h - products of many factors become contractions of two --------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_ORDER_GREEDYORDER_H
#define EINSUMC_ORDER_GREEDYORDER_H

#include "compiler/ir/Tree.h"
#include "compiler/support/Diagnostics.h"

#include <optional>

namespace einsumc {

/// Splits every product of more than two factors into contractions of two: repeatedly the pair of
/// factors whose result is smallest against its operands (size(out) - size(a) - size(b), the
/// greedy rule of Daniel G. A. Smith and Johnnie Gray, opt_einsum, JOSS 2018), pairs that share a
/// dim before pairs that do not. Reports an intermediate that 64 bits cannot count.
/// \pre tree is normalised
std::optional<Tree> orderGreedily(const Tree &tree, Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_ORDER_GREEDYORDER_H
