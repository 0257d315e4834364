//===- Parallel.cpp - the same for many things, by several threads ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/support/Parallel.h"

#include "llvm/Support/Threading.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace einsumc {

namespace {

std::optional<std::size_t> threadsToUse;

std::size_t mostThreads() {
  constexpr unsigned kMost = 16;
  static const std::size_t ofProcess = llvm::optimal_concurrency(kMost).compute_thread_count();
  return threadsToUse.value_or(ofProcess);
}

} // namespace

void setThreads(std::optional<std::size_t> threads) { threadsToUse = threads; }

void forAll(std::size_t count, llvm::function_ref<void(std::size_t)> body) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++)
      body(i);
  };
  std::vector<std::thread> others;
  const std::size_t threads = std::min(count, mostThreads());
  try {
    while (others.size() + 1 < threads)
      others.emplace_back(work);
  } catch (const std::system_error &) { // Those that have started do.
  }
  work();
  for (std::thread &other : others)
    other.join();
}

} // namespace einsumc
