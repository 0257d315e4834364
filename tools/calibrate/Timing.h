//===- Timing.h - how long a call takes -------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CALIBRATE_TIMING_H
#define EINSUMC_CALIBRATE_TIMING_H

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace einsumc::measure {

/// Seconds on the clock on the wall, for several threads.
inline double wallSeconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// Seconds that this thread has computed: other programs on the machine do not count.
inline double threadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// How much time a measurement takes.
struct Effort {
  double atLeast = 0.0005; ///< seconds a round
  int rounds = 30;
};

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median time of one call over the rounds, in seconds: predictions are compared with medians
/// of runs, which are disturbed as often.
template <class Call>
double secondsOf(Call &&call, double (*clock)() = threadSeconds, const Effort &effort = {}) {
  const auto time = [&](int64_t calls) {
    const double start = clock();
    for (int64_t i = 0; i < calls; ++i)
      call();
    return clock() - start;
  };
  int64_t calls = 1;
  while (time(calls) < effort.atLeast)
    calls *= 2;
  std::vector<double> times;
  for (int round = 0; round < effort.rounds; ++round)
    times.push_back(time(calls));
  return median(std::move(times)) / static_cast<double>(calls);
}

/// The seconds of a call when all threads of a team make it at the same time, each its own: the
/// mean over the threads.
/// \param makeCall called by each thread, returns what it is to call
template <class MakeCall> double teamSecondsOf(MakeCall makeCall, const Effort &effort = {}) {
  double sum = 0;
  int team = 1;
#pragma omp parallel reduction(+ : sum)
  {
#pragma omp single
    team = omp_get_num_threads();
    auto call = makeCall();
#pragma omp barrier
    sum += secondsOf(call, threadSeconds, effort);
  }
  return sum / team;
}

/// Elements on pages of their own, as the runtime's tensors.
template <class T> class Array {
public:
  explicit Array(int64_t size, T value = T(0.5))
      : memory(
            static_cast<T *>(::operator new(static_cast<std::size_t>(size) * sizeof(T), kPage))) {
    std::fill_n(memory.get(), size, value);
  }
  T *get() const { return memory.get(); }

private:
  static constexpr std::align_val_t kPage{4096};
  struct Free {
    void operator()(T *elements) const { ::operator delete(elements, kPage); }
  };
  std::unique_ptr<T, Free> memory;
};

} // namespace einsumc::measure

#endif // EINSUMC_CALIBRATE_TIMING_H
