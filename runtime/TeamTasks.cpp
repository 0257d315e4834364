//===- TeamTasks.cpp - tasks that the threads of a team share ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/TeamTasks.h"

#include <stdexcept>
#include <string>

namespace einsumc {
namespace {

constexpr int kHalf = 32; // Of the bits of a row.

constexpr uint64_t rowOf(uint64_t first, uint64_t end) { return first << kHalf | end; }
constexpr uint64_t firstOf(uint64_t row) { return row >> kHalf; }
constexpr uint64_t endOf(uint64_t row) { return row & ((uint64_t{1} << kHalf) - 1); }
constexpr uint64_t lengthOf(uint64_t row) { return endOf(row) - firstOf(row); }

} // namespace

// Who takes a task needs nothing from who took others: the order of what threads do to rows does
// not matter, and parallel regions begin and end with barriers.
static constexpr auto kRelaxed = std::memory_order_relaxed;

TaskShares::TaskShares(int threads)
    : rows(std::make_unique<Row[]>(static_cast<std::size_t>(threads))), count(threads) {}

void TaskShares::deal(int64_t tasks) {
  if (tasks >> kHalf != 0)
    throw std::length_error("a nest of loops has too many tasks: " + std::to_string(tasks));
  const auto begin = [&](int thread) { return static_cast<uint64_t>(tasks * thread / count); };
  for (int thread = 0; thread < count; ++thread)
    rows[static_cast<std::size_t>(thread)].tasks.store(rowOf(begin(thread), begin(thread + 1)),
                                                       kRelaxed);
}

int64_t TaskShares::take(int thread) noexcept {
  if (thread < count) {
    std::atomic<uint64_t> &own = rows[static_cast<std::size_t>(thread)].tasks;
    uint64_t row = own.load(kRelaxed);
    while (lengthOf(row) > 0)
      if (own.compare_exchange_weak(row, rowOf(firstOf(row) + 1, endOf(row)), kRelaxed))
        return static_cast<int64_t>(firstOf(row));
  }
  while (true) {
    std::atomic<uint64_t> *longest = nullptr;
    uint64_t longestRow = 0;
    for (int other = 0; other < count; ++other) {
      std::atomic<uint64_t> &tasks = rows[static_cast<std::size_t>(other)].tasks;
      const uint64_t row = tasks.load(kRelaxed);
      if (lengthOf(row) > lengthOf(longestRow)) {
        longest = &tasks;
        longestRow = row;
      }
    }
    if (longest == nullptr)
      return -1;
    const uint64_t last = endOf(longestRow) - 1;
    if (longest->compare_exchange_strong(longestRow, rowOf(firstOf(longestRow), last), kRelaxed))
      return static_cast<int64_t>(last);
  }
}

} // namespace einsumc
