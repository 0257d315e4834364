//===- RunConfig.h - how --run compiles and launches a program --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_RUNCONFIG_H
#define EINSUMC_TOOLS_RUNCONFIG_H

#include <filesystem>
#include <string>
#include <vector>

namespace einsumc {

/// The programs and arguments with which an emitted program becomes a running one:
///   mpiCxx compileFlags... prog.cpp -o prog linkFlags...
///   mpiExec mpiExecFlags... -n P prog ...
/// Every element is one argument: pass them to the operating system as they are, without a shell.
struct RunConfig {
  std::string mpiCxx;
  std::string mpiExec;
  std::vector<std::string> mpiExecFlags;
  std::vector<std::string> compileFlags;
  std::vector<std::string> linkFlags;
};

/// The configuration for the einsumc at \p executable: headers and libeinsumc.a are those of the
/// build tree when it is the one that CMake built there, else those of the install tree that it
/// lies in, wherever that was moved.
/// \param executable a path without symbolic links, such as the target of /proc/self/exe.
RunConfig runConfigOf(const std::filesystem::path &executable);

} // namespace einsumc

#endif // EINSUMC_TOOLS_RUNCONFIG_H
