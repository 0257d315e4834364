//===- Arguments.h - the command line of emitted programs -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_ARGUMENTS_H
#define EINSUMC_RUNTIME_ARGUMENTS_H

#include "DefaultThreads.h"

#include "einsumc/Program.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace einsumc {

/// Wrong usage, seen by every rank: exit status 2.
class UsageError : public CollectiveError {
public:
  using CollectiveError::CollectiveError;
};

/// What docs/programs.md documents.
struct Arguments {
  std::map<int, std::string> inputs;  ///< files by tensor
  std::map<int, std::string> outputs; ///< files by tensor
  uint64_t seed = 0;
  int repeat = 1;
  int threads = 0;   ///< 0: the default of Session
  int waitLimit = 0; ///< seconds; 0: none
  CommunicationCore communicationCore = CommunicationCore::Auto;
  InPlace inPlace = InPlace::Host;
  bool verify = false;
  bool describe = false;
  std::string statistics; ///< a file, or empty
  std::string trace;      ///< a file, or empty
  std::string message;    ///< when not empty: to be printed instead of running (--help, --version)
};

/// Parses the arguments that follow the program's name.
/// \throws UsageError
Arguments parseArguments(const ProgramDescription &description, std::vector<std::string> words);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_ARGUMENTS_H
