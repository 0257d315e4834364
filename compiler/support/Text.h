//===- Text.h - helpers for text --------------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SUPPORT_TEXT_H
#define EINSUMC_SUPPORT_TEXT_H

#include "llvm/ADT/StringRef.h"

#include <set>
#include <string>
#include <vector>

namespace einsumc {

/// The parts with a separator between them.
std::string join(const std::vector<std::string> &parts, llvm::StringRef separator);

/// Whether the text is an identifier of the language: [A-Za-z_][A-Za-z0-9_]*, ASCII only.
bool isIdentifier(llvm::StringRef text);

/// Makes \p wanted unique against \p taken by appending `_1`, `_2`, ..., adds it, returns it.
std::string uniqueName(llvm::StringRef wanted, std::set<std::string> &taken);

/// The text with every character that could end a comment line, start an escape or confuse a
/// terminal (control characters, backslash, non-ASCII bytes, trigraph question marks) replaced by
/// `?`, so that it can stand in a C++ comment.
std::string commentSafe(llvm::StringRef text);

/// The text as a C++ string literal, quotes included, every character preserved.
std::string cppStringLiteral(llvm::StringRef text);

/// `1.5 GiB`-style text of a number of bytes, exact below 1 KiB.
std::string bytesText(double bytes);

} // namespace einsumc

#endif // EINSUMC_SUPPORT_TEXT_H
