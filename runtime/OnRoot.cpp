//===- OnRoot.cpp - what one rank does for all ------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "OnRoot.h"

#include <exception>
#include <system_error>

namespace einsumc {

std::string onRoot(const Communicator &comm, const std::function<std::string()> &action) {
  constexpr char kDone = '+', kFailed = '-';
  std::string outcome;
  if (comm.rank() == 0) {
    try {
      outcome = kDone + action();
    } catch (const std::exception &error) {
      outcome = std::string(1, kFailed) + error.what();
    }
  }
  outcome = broadcast(comm, std::move(outcome));
  if (outcome.front() == kFailed)
    throw CollectiveError(outcome.substr(1));
  return outcome.substr(1);
}

void doOnRoot(const Communicator &comm, const std::function<void()> &action) {
  onRoot(comm, [&] {
    action();
    return std::string();
  });
}

std::string systemFailure(const std::string &file, const std::string &verb, int error) {
  return file + ": cannot " + verb + ": " + std::generic_category().message(error);
}

} // namespace einsumc
