//===- EnvironmentTest.cpp - a finalisation of MPI that hangs ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// A program of its own, started on several ranks: it passes if it ends, and with 0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Communicator.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>

/// Instead of the library's: never returns.
extern "C" int MPI_Finalize() {
  PMPI_Finalize();
  while (true)
    pause();
}

int main(int argc, char **argv) {
  {
    einsumc::Environment environment(&argc, &argv);
    environment.endWith(EXIT_SUCCESS, std::chrono::milliseconds(200));
  }
  return EXIT_FAILURE;
}
