//===- HostName.cpp - where a rank runs -------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "HostName.h"

#include "einsumc/Communicator.h"

#include <mpi.h>

#include <array>

namespace einsumc {

std::string hostName() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  checkMpi(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  return name.data();
}

} // namespace einsumc
