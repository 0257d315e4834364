//===- TeamTasks.h - tasks that the threads of a team share -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TEAMTASKS_H
#define EINSUMC_TEAMTASKS_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace einsumc {

/// Numbered tasks, dealt to the threads of a team in rows of neighbours, as long as each other: a
/// thread works through its own row from the front, so that what neighbours read is near, and then
/// takes the last task of the longest row that is left. A thread that was slower than others (its
/// core has a communication thread to run, or a neighbour's) has fewer of them in the end.
class TaskShares {
public:
  explicit TaskShares(int threads);

  /// Deals tasks anew, outside of a parallel region. Threads with one more than others, or with the
  /// only ones, are spread over the team, and with it over the sockets.
  /// \throws std::length_error from 2^32 tasks on
  void deal(int64_t tasks);
  /// The next task of a thread, from within a region; -1: there is none left.
  int64_t take(int thread) noexcept;

private:
  /// The tasks of a thread that nobody has taken: from the first, in the upper half of the bits, to
  /// before the last. On a cache line of its own.
  struct alignas(64) Row {
    std::atomic<uint64_t> tasks = 0;
  };

  std::unique_ptr<Row[]> rows;
  int count;
};

/// The tasks of a nest of loops, the first the slowest.
template <std::size_t Loops> class TeamTasks {
public:
  struct Loop {
    int64_t extent, step;
  };
  using Indices = std::array<int64_t, Loops>;

  /// Deals the tasks, as TaskShares::deal.
  TeamTasks(TaskShares &shares, const std::array<Loop, Loops> &loops)
      : shares(shares), loops(loops) {
    int64_t tasks = 1;
    for (const Loop &loop : loops)
      tasks *= steps(loop);
    shares.deal(tasks);
  }

  /// Where the loops of the next task of a thread are, if one is left.
  std::optional<Indices> take(int thread) const noexcept {
    int64_t task = shares.take(thread);
    if (task < 0)
      return std::nullopt;
    Indices indices;
    for (std::size_t l = Loops; l-- > 0; task /= steps(loops[l]))
      indices[l] = task % steps(loops[l]) * loops[l].step;
    return indices;
  }

private:
  static int64_t steps(const Loop &loop) { return (loop.extent + loop.step - 1) / loop.step; }

  TaskShares &shares;
  std::array<Loop, Loops> loops;
};

} // namespace einsumc

#endif // EINSUMC_TEAMTASKS_H
