//===- Launch.h - compiles and runs an emitted program ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_LAUNCH_H
#define EINSUMC_TOOLS_LAUNCH_H

#include "Options.h"

#include <string>

namespace einsumc {

/// Compiles the C++ text in a folder of its own, launches it on the ranks of the options with
/// their arguments, and removes the folder. No shell sees any of it. Returns the program's exit
/// status, or 1 with a message if it could not be compiled or launched.
int compileAndLaunch(const std::string &code, const Options &options);

} // namespace einsumc

#endif // EINSUMC_TOOLS_LAUNCH_H
