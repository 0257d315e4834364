//===- FuzzMachine.cpp - any text as a machine file -------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Machine.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

/// A machine is read if and only if no error is reported, and its printed form is read as an equal
/// one.
// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  using namespace einsumc;
  const llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  Diagnostics diagnostics(llvm::nulls());
  const std::optional<Machine> machine =
      readMachine(diagnostics.addText("fuzz.json", text), diagnostics);
  if (machine.has_value() == diagnostics.hasErrors()) {
    llvm::errs() << "a machine and errors, or neither\n";
    std::abort();
  }
  if (!machine)
    return 0;
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  print(*machine, stream);
  Diagnostics again(llvm::errs());
  if (readMachine(again.addText("printed", printed), again) != machine) {
    llvm::errs() << "the printed machine is not read as an equal one:\n" << printed;
    std::abort();
  }
  return 0;
}
