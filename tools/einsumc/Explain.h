//===- Explain.h - why every node got its schedule --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_EXPLAIN_H
#define EINSUMC_TOOLS_EXPLAIN_H

#include "compiler/ir/Machine.h"
#include "compiler/plan/Plan.h"

#include "llvm/Support/raw_ostream.h"

namespace einsumc {

/// Prints for every node the best algorithms that were thought about, with the predicted seconds of
/// the node (compute, own transfers, moves of operands to where it needs them), bytes a rank sends
/// and stores, and seconds of the whole tree, and a sentence on what decided; then the totals. In
/// colour on a terminal that has it.
void explain(const Tree &tree, const Machine &machine, const PlanOptions &options,
             const Schedule &schedule, llvm::raw_ostream &out);

} // namespace einsumc

#endif // EINSUMC_TOOLS_EXPLAIN_H
