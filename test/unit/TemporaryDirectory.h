//===- TemporaryDirectory.h - a directory of the ranks of a test ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TEST_UNIT_TEMPORARYDIRECTORY_H
#define EINSUMC_TEST_UNIT_TEMPORARYDIRECTORY_H

#include "einsumc/Communicator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace einsumc::test {

/// A fresh directory, the same on all ranks, removed at the end. Both are collective.
class TemporaryDirectory {
public:
  explicit TemporaryDirectory(const Communicator &comm) : comm(comm) {
    name = std::filesystem::temp_directory_path() / "einsumc_test_XXXXXX";
    if (comm.rank() == 0 && mkdtemp(name.data()) == nullptr)
      ADD_FAILURE() << "no temporary directory";
    name = broadcast(comm, name);
  }
  ~TemporaryDirectory() {
    barrier(comm);
    if (comm.rank() == 0)
      std::filesystem::remove_all(name);
  }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;

  const std::string &path() const { return name; }

private:
  const Communicator &comm;
  std::string name;
};

} // namespace einsumc::test

#endif // EINSUMC_TEST_UNIT_TEMPORARYDIRECTORY_H
