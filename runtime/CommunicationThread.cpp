//===- CommunicationThread.cpp - drives transfers while others compute ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "CommunicationThread.h"

#include "TeamBinding.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace einsumc {

namespace {

using std::chrono::microseconds;

/// Looks in a row that find nothing before a thread sleeps although somebody waits.
constexpr int kYields = 100;
/// Looks in a row while all compute: with each, a network takes and gives what its buffers hold.
constexpr int kLooks = 8;
/// Sleeps are this part of the time since something moved.
constexpr int kFraction = 4;
constexpr microseconds kShortestSleep(5), kLongestSleep(1000), kLongestWait(50);

/// As the kernel's ABI has it; C libraries declare it only since glibc 2.41.
struct SchedulingAttributes {
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

/// A thread that wakes shall run at once, not when a compute thread's time slice is over, for a
/// moment: it asks for short slices, which Linux grants (since 6.12; before, this has no effect).
/// Its sleeps shall be as short as they are meant: the default slack of 50 us would double them.
void runOftenAndShortly() {
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  SchedulingAttributes attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0U) != 0 ||
      attributes.policy != SCHED_OTHER)
    return;
  constexpr uint64_t kSlice = 100'000; // ns
  attributes.runtime = kSlice;
  syscall(SYS_sched_setattr, 0, &attributes, 0U);
}

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
  TeamBinding::leave();
  runOftenAndShortly();
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
  int looks = 0, yields = 0;
  auto lastMove = std::chrono::steady_clock::now();
  while (true) {
    const State state = current.advance();
    if (state == State::Done)
      return; // The job may be gone.
    if (state == State::Moved) {
      yields = 0;
      lastMove = std::chrono::steady_clock::now();
      continue;
    }
    if (state == State::Blocked) {
      sleep(std::chrono::hours(1));
      yields = 0;
      lastMove = std::chrono::steady_clock::now();
      continue;
    }
    if (state == State::Needed) {
      if (++yields < kYields) {
        sched_yield();
        continue;
      }
    } else {
      yields = 0; // The next who waits is served at once.
      if (++looks % kLooks != 0)
        continue;
    }
    const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - lastMove;
    sleep(std::clamp<std::chrono::nanoseconds>(
        passed / kFraction, kShortestSleep, state == State::Needed ? kLongestWait : kLongestSleep));
  }
}

} // namespace einsumc
