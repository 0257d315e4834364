//===- CommandLine.h - LLVM's command-line library without LLVM's own options -----------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SUPPORT_COMMANDLINE_H
#define EINSUMC_SUPPORT_COMMANDLINE_H

namespace einsumc {

/// LLVM's libraries register dozens of options of their own, which are none of our users' business
/// (and some have the names of ours): all go but those that print help and the version. To be
/// called before the program's own options exist.
void removeForeignOptions();

} // namespace einsumc

#endif // EINSUMC_SUPPORT_COMMANDLINE_H
