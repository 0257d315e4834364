//===- Format.h - C++ text in the house style -------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CODEGEN_FORMAT_H
#define EINSUMC_CODEGEN_FORMAT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace einsumc {

/// The C++ text laid out by Clang's format library (LLVM style, 100 columns).
std::string formatCpp(llvm::StringRef code);

} // namespace einsumc

#endif // EINSUMC_CODEGEN_FORMAT_H
