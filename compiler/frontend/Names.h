//===- Names.h - helpers for names ------------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_FRONTEND_NAMES_H
#define EINSUMC_FRONTEND_NAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace einsumc {

/// `; did you mean 'x'?` with the candidate that is closest to a misspelt name, or nothing if
/// none is close. The first of several equally close ones is taken. Only the first few thousand
/// candidates are looked at.
std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

/// A decimal number in the one form that names the dim of that number: `7` for `007`.
llvm::StringRef withoutLeadingZeros(llvm::StringRef digits);

} // namespace einsumc

#endif // EINSUMC_FRONTEND_NAMES_H
