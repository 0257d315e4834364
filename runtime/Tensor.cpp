//===- Tensor.cpp - the memory of tensors -----------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace einsumc {

namespace {

constexpr std::align_val_t kAlignment{64};

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
  memory = static_cast<std::byte *>(::operator new(bytes, kAlignment));
  ledger.add(bytes);
  if (isPoisonWanted())
    std::memset(memory, 0xFF, bytes);
}

Buffer::~Buffer() {
  if (memory == nullptr)
    return;
  ::operator delete(memory, kAlignment);
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
