//===- Format.cpp - C++ text in the house style -----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/codegen/Format.h"

#include "clang/Format/Format.h"
#include "clang/Tooling/Core/Replacement.h"
#include "llvm/Support/ErrorHandling.h"

namespace einsumc {

std::string formatCpp(llvm::StringRef code) {
  clang::format::FormatStyle style = clang::format::getLLVMStyle();
  style.ColumnLimit = 100;
  // The text is ours: its includes are in order and its comments broken where they should be.
  style.SortIncludes = clang::format::FormatStyle::SI_Never;
  style.ReflowComments = false;
  const clang::tooling::Replacements changes =
      clang::format::reformat(style, code, {clang::tooling::Range(0, code.size())});
  llvm::Expected<std::string> formatted = clang::tooling::applyAllReplacements(code, changes);
  if (!formatted)
    llvm::report_fatal_error(formatted.takeError());
  return *formatted;
}

} // namespace einsumc
