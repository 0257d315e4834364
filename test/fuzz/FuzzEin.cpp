//===- FuzzEin.cpp - any text as an .ein file -------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "test/fuzz/RoundTrip.h"

#include <cstddef>
#include <cstdint>

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  using namespace einsumc;
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  Diagnostics diagnostics(llvm::nulls());
  std::optional<Tree> tree = readEin(diagnostics.addText("fuzz.ein", text), diagnostics);
  fuzz::checkResult(tree, diagnostics);
  return 0;
}
