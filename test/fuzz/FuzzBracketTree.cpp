//===- FuzzBracketTree.cpp - any text as --tree and --sizes -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/ReadBracketTree.h"
#include "test/fuzz/RoundTrip.h"

#include <cstddef>
#include <cstdint>

/// The first line is the tree, the rest the sizes.
// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  using namespace einsumc;
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto [brackets, sizes] = text.split('\n');
  Diagnostics diagnostics(llvm::nulls());
  std::optional<Tree> tree = readBracketTree(brackets, sizes, ElementType::F32, diagnostics);
  fuzz::checkResult(tree, diagnostics);
  return 0;
}
