//===- Explain.h - why every node got its schedule --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_EXPLAIN_H
#define EINSUMC_TOOLS_EXPLAIN_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/ReadPlan.h"
#include "compiler/ir/Schedule.h"

#include "llvm/Support/raw_ostream.h"

namespace einsumc {

/// Prints for every node the named algorithms that it allows with their predicted time and bytes
/// sent, which one it got, and by which rule; then the totals.
void explain(const Tree &tree, const Machine &machine, const Schedule &schedule,
             const PartialSchedule &fixed, llvm::raw_ostream &out);

} // namespace einsumc

#endif // EINSUMC_TOOLS_EXPLAIN_H
