//===- CommunicationThread.cpp - drives transfers while others compute ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "CommunicationThread.h"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

namespace einsumc {

namespace {

using std::chrono::microseconds;

/// Looks in a row that find nothing before the thread sleeps.
constexpr int kYields = 100;
constexpr microseconds kFirstSleep(5);
constexpr microseconds kLongestSleep(100);

} // namespace

CommunicationThread::CommunicationThread() : thread([this] { work(); }) {}

CommunicationThread::~CommunicationThread() {
  {
    const std::lock_guard guard(mutex);
    ends = true;
  }
  condition.notify_one();
  thread.join();
}

void CommunicationThread::start(CommunicationJob &next) {
  {
    const std::lock_guard guard(mutex);
    job = &next;
    isAwake = true;
  }
  condition.notify_one();
}

void CommunicationThread::wake() {
  {
    const std::lock_guard guard(mutex);
    isAwake = true;
  }
  condition.notify_one();
}

void CommunicationThread::work() {
  // Short sleeps: the default slack of 50 us would double them.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  while (true) {
    CommunicationJob *current = nullptr;
    {
      std::unique_lock guard(mutex);
      condition.wait(guard, [&] { return ends || job != nullptr; });
      if (job == nullptr)
        return;
      current = job;
      job = nullptr;
    }
    workOn(*current);
  }
}

template <class Duration> void CommunicationThread::sleep(Duration atMost) {
  std::unique_lock guard(mutex);
  condition.wait_for(guard, atMost, [&] { return isAwake; });
  isAwake = false;
}

void CommunicationThread::workOn(CommunicationJob &current) {
  using State = CommunicationJob::State;
  int looks = 0;
  microseconds pause = kFirstSleep;
  while (true) {
    const State state = current.advance();
    switch (state) {
    case State::Done:
      return; // The job may be gone.
    case State::Moved:
      looks = 0;
      pause = kFirstSleep;
      break;
    case State::Waiting:
      if (++looks < kYields) {
        sched_yield();
        break;
      }
      sleep(pause);
      pause = std::min(2 * pause, kLongestSleep);
      break;
    case State::Blocked:
      sleep(std::chrono::hours(1));
      looks = 0;
      break;
    }
  }
}

} // namespace einsumc
