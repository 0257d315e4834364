//===- CommandLine.cpp - LLVM's command-line library without LLVM's own options ---------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/support/CommandLine.h"

#include "llvm/Support/CommandLine.h"

#include <vector>

namespace einsumc {

void removeForeignOptions() {
  std::vector<llvm::cl::Option *> foreign;
  for (const auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (!name.starts_with("help") && name != "version")
      foreign.push_back(option);
  for (llvm::cl::Option *option : foreign)
    option->removeArgument();
}

} // namespace einsumc
