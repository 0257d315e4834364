//===- FuzzEinsum.cpp - any text as --einsum, --sizes and --path ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/ReadEinsum.h"
#include "test/fuzz/RoundTrip.h"

#include <cstddef>
#include <cstdint>

/// The first line is the einsum, the second the sizes, the third, if there is one, the path.
// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  using namespace einsumc;
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto [einsum, rest] = text.split('\n');
  auto [sizes, path] = rest.split('\n');
  bool hasPath = rest.contains('\n');
  Diagnostics diagnostics(llvm::nulls());
  std::optional<Tree> tree = readEinsum(einsum, sizes, hasPath ? std::optional(path) : std::nullopt,
                                        ElementType::F64, diagnostics);
  fuzz::checkResult(tree, diagnostics);
  return 0;
}
