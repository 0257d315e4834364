//===- MpiMain.cpp - main function of the unit tests that communicate -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Communicator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>

using namespace einsumc;

namespace {

/// Prints what failed, with the rank that saw it, and nothing else.
class FailurePrinter : public testing::EmptyTestEventListener {
public:
  explicit FailurePrinter(int rank) : rank(rank) {}

  void OnTestStart(const testing::TestInfo &info) override {
    test = std::string(info.test_suite_name()) + '.' + info.name();
  }

  // GoogleTest holds its lock here: it must not be asked for the current test.
  void OnTestPartResult(const testing::TestPartResult &result) override {
    if (result.failed())
      std::fprintf(stderr, "rank %d: %s: %s:%d: Failure\n%s\n", rank, test.c_str(),
                   result.file_name() ? result.file_name() : "unknown file", result.line_number(),
                   result.message());
  }

private:
  int rank;
  std::string test;
};

void keepQuiet(int rank) {
  testing::TestEventListeners &listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  delete listeners.Release(listeners.default_xml_generator());
  listeners.Append(new FailurePrinter(rank));
}

/// The exit status of every rank: not 0 when one of them failed.
int runTests(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  const Communicator world(MPI_COMM_WORLD);
  if (world.rank() != 0)
    keepQuiet(world.rank());
  int64_t status = RUN_ALL_TESTS();
  maxOverRanks(world, std::span(&status, 1));
  return static_cast<int>(status);
}

} // namespace

int main(int argc, char **argv) {
  try {
    const Environment environment(&argc, &argv);
    return runTests(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
