//===- RoundTrip.h - what must be true of every tree that a reader makes ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TEST_FUZZ_ROUNDTRIP_H
#define EINSUMC_TEST_FUZZ_ROUNDTRIP_H

#include "compiler/frontend/ReadEin.h"
#include "compiler/ir/Tree.h"
#include "compiler/support/Diagnostics.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <optional>
#include <string>

namespace einsumc::fuzz {

inline std::string printed(const Tree &tree) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  print(tree, stream);
  return text;
}

/// Ends the process unless the printed tree is read as the same tree, without a diagnostic.
inline void checkRoundTrip(const Tree &tree) {
  std::string text = printed(tree);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  Diagnostics diagnostics(stream);
  std::optional<Tree> again = readEin(diagnostics.addText("printed", text), diagnostics);
  if (again && *again == tree && printed(*again) == text && messages.empty())
    return;
  llvm::errs() << "the printed tree is not read as the same tree:\n" << text << messages;
  std::abort();
}

/// A reader returns a tree if and only if it has reported no error.
inline void checkResult(const std::optional<Tree> &tree, const Diagnostics &diagnostics) {
  if (tree.has_value() == diagnostics.hasErrors()) {
    llvm::errs() << (tree ? "a tree in spite of errors\n" : "no tree, and no error\n");
    std::abort();
  }
  if (tree)
    checkRoundTrip(*tree);
}

} // namespace einsumc::fuzz

#endif // EINSUMC_TEST_FUZZ_ROUNDTRIP_H
