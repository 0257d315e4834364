//===- Tensor.cpp - the memory of tensors -----------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Tensor.h"

#include "HostMemory.h"
#include "MemoryWindow.h"
#include "einsumc/SharedStorage.h"

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

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__)
constexpr bool kPoisonsByDefault = true;
#else
constexpr bool kPoisonsByDefault = false;
#endif

} // namespace

bool isPoisonWanted() {
  const char *value = std::getenv("EINSUMC_POISON");
  return value == nullptr ? kPoisonsByDefault : std::string_view(value) != "0";
}

void MemoryLedger::add(std::size_t bytes, MemoryUse use) {
  current += bytes;
  peak = std::max(peak, current);
  if (use != MemoryUse::Work) {
    tensors += bytes;
    tensorPeak = std::max(tensorPeak, tensors);
  }
}

void MemoryLedger::remove(std::size_t bytes, MemoryUse use) {
  current -= bytes;
  if (use != MemoryUse::Work)
    tensors -= bytes;
}

Buffer::Buffer() = default;

Buffer::Buffer(MemoryLedger &ledger, std::size_t bytes, MemoryUse use)
    : ledger(&ledger), bytes(bytes), use(use) {
  if (bytes == 0)
    return;
  if (use == MemoryUse::Travellers)
    mapped = HostMemory::make(bytes);
  if (mapped) {
    memory = mapped->data();
  } else {
    memory = static_cast<std::byte *>(::operator new(bytes, alignmentOf(bytes)));
#ifdef MADV_HUGEPAGE
    if (usesHugePages(bytes)) // What follows the last whole page is not ours to ask for.
      madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  }
  ledger.add(bytes, use);
  if (isPoisonWanted())
    std::memset(memory, 0xFF, bytes);
}

Buffer::~Buffer() {
  exposure.reset(); // While there is memory.
  ofHost.reset();
  if (memory == nullptr)
    return;
  if (!mapped)
    ::operator delete(memory, alignmentOf(bytes));
  ledger->remove(bytes, use);
}

Buffer::Buffer(Buffer &&other) noexcept
    : ledger(other.ledger), mapped(std::move(other.mapped)),
      memory(std::exchange(other.memory, nullptr)), bytes(std::exchange(other.bytes, 0)),
      use(other.use), exposure(std::move(other.exposure)), ofHost(std::move(other.ofHost)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  Buffer taken(std::move(other)); // Frees what this buffer held.
  std::swap(ledger, taken.ledger);
  std::swap(mapped, taken.mapped);
  std::swap(memory, taken.memory);
  std::swap(bytes, taken.bytes);
  std::swap(use, taken.use);
  std::swap(exposure, taken.exposure);
  std::swap(ofHost, taken.ofHost);
  return *this;
}

const MemoryWindow &Buffer::window(const Communicator &comm) const {
  if (!exposure)
    exposure = std::make_unique<const MemoryWindow>(comm, std::span(memory, bytes));
  return *exposure;
}

const HostView &Buffer::hostView(const Communicator &host) const {
  if (!ofHost)
    ofHost = std::make_unique<const HostView>(host, std::span(memory, bytes), mapped.get());
  return *ofHost;
}

void ScratchMemory::reserve(std::size_t bytes) {
  if (bytes <= buffer.size())
    return;
  buffer = Buffer(); // Before the new one is there: they need not both fit.
  buffer = Buffer(ledger, bytes);
}

template <class T>
Tensor<T>::Tensor(const Layout &layout, int64_t rank)
    : layoutRef(&layout), block(layout.box(rank)), isHeld(layout.holds(rank)),
      elementCount(isHeld ? volume(block) : 0), stepOf(block.size()) {
  int64_t step = 1;
  for (std::size_t p = block.size(); p-- > 0; step *= block[p].size())
    stepOf[p] = step;
}

template <class T>
Tensor<T>::Tensor(MemoryLedger &ledger, const Layout &layout, int64_t rank, MemoryUse use)
    : Tensor(layout, rank) {
  own = Buffer(ledger, static_cast<std::size_t>(elementCount) * sizeof(T), use);
  elements = reinterpret_cast<T *>(own.data());
}

template <class T>
Tensor<T>::Tensor(const SharedStorage &storage, const Layout &layout, std::size_t offset)
    : Tensor(layout, storage.rank()) {
  shared = &storage.memory();
  place = offset;
  if (elementCount > 0)
    elements = reinterpret_cast<T *>(storage.at(offset));
}

template <class T> Tensor<T>::~Tensor() = default;
template <class T> Tensor<T>::Tensor(Tensor &&) noexcept = default;

template class Tensor<float>;
template class Tensor<double>;

} // namespace einsumc
