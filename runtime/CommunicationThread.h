//===- CommunicationThread.h - drives transfers while others compute --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_COMMUNICATIONTHREAD_H
#define EINSUMC_RUNTIME_COMMUNICATIONTHREAD_H

#include <condition_variable>
#include <mutex>
#include <thread>

namespace einsumc {

/// What a communication thread works on.
class CommunicationJob {
public:
  virtual ~CommunicationJob() = default;

  enum class State : uint8_t {
    Moved,   ///< something was started or has come: go on at once
    Needed,  ///< transfers are under way, and somebody has nothing to do without them
    Waiting, ///< transfers are under way
    Blocked, ///< nothing is under way: until somebody wakes the thread
    Done,
  };
  /// Starts what can be started and looks for what has come. Does not throw.
  virtual State advance() noexcept = 0;
};

/// A thread that works on one job at a time. While it does, it alone calls MPI; it has not begun
/// before `start` and has ended when the job is done, as the job tells its owner.
///
/// It never burns a core. While somebody waits for a transfer it looks for it, yields its core in
/// between, and then sleeps for short times. While all compute, it sleeps for a fraction of the
/// time since something came last, so that what comes is late by no more than that fraction, and
/// for so long at most that a network's buffers neither run full nor empty; it does not take a core
/// from threads that compute more often than it must, since these lose their caches to one another
/// where there are more ranks than cores.
class CommunicationThread {
public:
  CommunicationThread();
  ~CommunicationThread();
  CommunicationThread(const CommunicationThread &) = delete;
  CommunicationThread &operator=(const CommunicationThread &) = delete;

  /// \pre the last job is done
  void start(CommunicationJob &next);
  /// There may be something new to start.
  void wake();

private:
  void work();
  void workOn(CommunicationJob &current);
  /// Sleeps, but not beyond the next wake().
  template <class Duration> void sleep(Duration atMost);

  std::mutex mutex;
  std::condition_variable condition;
  CommunicationJob *job = nullptr; ///< not yet begun
  bool isAwake = false;            ///< wake() since the thread last looked
  bool ends = false;
  std::thread thread;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_COMMUNICATIONTHREAD_H
