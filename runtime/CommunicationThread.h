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
/// It never burns a core. While transfers are under way it looks for them, yields its core some
/// times in between, and then sleeps for times that grow to a fraction of how long the transfers
/// take: over shared memory chunks come within a few yields; over a network, whose transfers want
/// to be looked after often, short sleeps leave the core to the compute threads and yet are waken
/// from at once, which yields among busy threads are not.
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
