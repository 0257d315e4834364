//===- Describe.h - what a program is, without running it -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_DESCRIBE_H
#define EINSUMC_RUNTIME_DESCRIBE_H

#include "einsumc/Program.h"

#include <string>

namespace einsumc {

/// The text of --describe: where the program runs, its tensors, nodes and plan. Collective; works
/// on any number of ranks.
std::string describe(const ProgramDescription &description, const Session &session);

/// A placement as the plan writes it: `grid [4,2], S(0) B`.
std::string formatLayout(const Layout &layout);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_DESCRIBE_H
