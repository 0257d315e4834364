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

/// Looks in a row that find nothing before a thread sleeps although somebody waits.
constexpr int kYields = 100;
/// Sleeps are this part of the time since something moved.
constexpr int kFraction = 4;
constexpr microseconds kShortestSleep(5), kLongestSleep(1000), kLongestWait(50);

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
  auto lastMove = std::chrono::steady_clock::now();
  while (true) {
    const State state = current.advance();
    if (state == State::Done)
      return; // The job may be gone.
    if (state == State::Moved) {
      looks = 0;
      lastMove = std::chrono::steady_clock::now();
      continue;
    }
    if (state == State::Blocked) {
      sleep(std::chrono::hours(1));
      looks = 0;
      lastMove = std::chrono::steady_clock::now();
      continue;
    }
    if (state == State::Needed && ++looks < kYields) {
      sched_yield();
      continue;
    }
    const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - lastMove;
    sleep(std::clamp<std::chrono::nanoseconds>(
        passed / kFraction, kShortestSleep, state == State::Needed ? kLongestWait : kLongestSleep));
  }
}

} // namespace einsumc
