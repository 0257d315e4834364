//===- Tensor.cpp - the memory of tensors -----------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace einsumc {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Large blocks lie on huge pages where the system has them: a permutation of a large tensor
/// touches more small ones than any TLB knows.
bool usesHugePages(std::size_t bytes) { return bytes >= 2 * kHugePage; }

std::align_val_t alignmentOf(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  return std::align_val_t{usesHugePages(bytes) ? kHugePage : kLine};
}

bool isPoisonWanted() {
  const char *value = std::getenv("EINSUMC_POISON");
  return value != nullptr && std::string_view(value) != "0";
}

} // namespace

void MemoryLedger::add(std::size_t bytes) {
  current += bytes;
  peak = std::max(peak, current);
}

Buffer::Buffer(MemoryLedger &ledger, std::size_t bytes) : ledger(&ledger), bytes(bytes) {
  if (bytes == 0)
    return;
  memory = static_cast<std::byte *>(::operator new(bytes, alignmentOf(bytes)));
#ifdef MADV_HUGEPAGE
  if (usesHugePages(bytes)) // What follows the last whole page is not ours to ask for.
    madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  ledger.add(bytes);
  if (isPoisonWanted())
    std::memset(memory, 0xFF, bytes);
}

Buffer::~Buffer() {
  if (memory == nullptr)
    return;
  ::operator delete(memory, alignmentOf(bytes));
  ledger->remove(bytes);
}

Buffer::Buffer(Buffer &&other) noexcept
    : ledger(other.ledger), memory(std::exchange(other.memory, nullptr)),
      bytes(std::exchange(other.bytes, 0)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  Buffer taken(std::move(other)); // Frees what this buffer held.
  std::swap(ledger, taken.ledger);
  std::swap(memory, taken.memory);
  std::swap(bytes, taken.bytes);
  return *this;
}

template <class T>
Tensor<T>::Tensor(MemoryLedger &ledger, const Layout &layout, int64_t rank)
    : layoutRef(&layout), block(layout.box(rank)), isHeld(layout.holds(rank)),
      buffer(ledger, isHeld ? static_cast<std::size_t>(volume(block)) * sizeof(T) : 0),
      stepOf(block.size()) {
  int64_t step = 1;
  for (std::size_t p = block.size(); p-- > 0; step *= block[p].size())
    stepOf[p] = step;
}

template <class T> Tensor<T>::~Tensor() = default;
template <class T> Tensor<T>::Tensor(Tensor &&) noexcept = default;

template class Tensor<float>;
template class Tensor<double>;

} // namespace einsumc
