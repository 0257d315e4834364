//===- LongWaits.h - waits for other ranks that take long -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// A rank that waits cannot tell a peer that computes for an hour from one whose host is gone: MPI
// libraries notice that late or not at all. So waits have no limit unless the user sets one.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_LONGWAITS_H
#define EINSUMC_RUNTIME_LONGWAITS_H

#include <chrono>
#include <functional>
#include <string>

namespace einsumc {

/// What this process does about waits that take long. Each wait counts from its start or from the
/// last message that it got.
struct LongWaits {
  double noteSeconds = 0;  ///< after so many, and whenever they have doubled, `note`; 0: never
  double limitSeconds = 0; ///< after so many, `end`; 0: never
  std::function<void(const std::string &)> note = {};
  /// Must not return. It may throw where all that is under way can be given up.
  std::function<void(const std::string &)> end = {};
};

/// Puts a policy in force for as long as it lives. One at a time.
class LongWaitsInForce {
public:
  explicit LongWaitsInForce(LongWaits policy);
  ~LongWaitsInForce();
  LongWaitsInForce(const LongWaitsInForce &) = delete;
  LongWaitsInForce &operator=(const LongWaitsInForce &) = delete;
};

/// The clock of one wait.
class WaitClock {
public:
  WaitClock();

  /// To be called now and then while the wait goes on.
  /// \param describe what has not happened: `no message from rank 3`.
  void look(const std::function<std::string()> &describe);

private:
  std::chrono::steady_clock::time_point start;
  double nextNote; ///< seconds from the start
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_LONGWAITS_H
