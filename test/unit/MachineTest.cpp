//===- MachineTest.cpp - machine files are read as they were printed --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Machine.h"

#include <gtest/gtest.h>

using namespace einsumc;

namespace {

std::optional<Machine> readBack(const Machine &machine) {
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  print(machine, stream);
  Diagnostics diagnostics(llvm::errs());
  return readMachine(diagnostics.addText("machine.json", printed), diagnostics);
}

TEST(Machine, BuiltInIsReadAsPrinted) { EXPECT_EQ(readBack(Machine{}), Machine{}); }

TEST(Machine, EveryMemberIsReadAsPrinted) {
  Machine machine;
  machine.withinNode = {1e-7, 2e-11, 3e-10};
  machine.betweenNodes = {3e-6, 4e-10, 5e-10};
  machine.flopsF32 = 1.25e11;
  machine.flopsF64 = 6.5e10;
  machine.memoryBandwidth = 2.1e10;
  machine.memory = 123456789;
  machine.ranksPerNode = 3;
  machine.threads = 4;
  machine.vectorBytes = 32;
  machine.caches = {{1 << 15, 1.5e11}, {1 << 20, 9e10}};
  machine.kernelOverhead = 0;
  machine.kernelEfficiency = {{8, 64}, {1, 3, 9}, {{0.1, 0.2, 0.3}, {0.4, 0.5, 1}}};
  machine.pack = {{1e10, 0, 1e-9}, {2e9, 3e-9, 0}, 1.5e9};
  machine.topology = "torus:4x4x2";
  machine.inputCopies = 0;
  machine.comment = "measured \"here\"";
  EXPECT_EQ(readBack(machine), machine);
}

TEST(Machine, MembersLeftOutKeepTheirValues) {
  Diagnostics diagnostics(llvm::errs());
  const std::optional<Machine> machine = readMachine(
      diagnostics.addText("machine.json", R"({"flops": 1e9, "pack": {"scattered": 2}})"),
      diagnostics);
  Machine expected;
  expected.flopsF32 = 1e9;
  expected.flopsF64 = 5e8;
  expected.pack.scattered = 2;
  EXPECT_EQ(machine, expected);
}

} // namespace
