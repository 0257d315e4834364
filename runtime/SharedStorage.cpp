//===- SharedStorage.cpp - memory that tensors use one after the other ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/SharedStorage.h"

#include <algorithm>

namespace einsumc {

namespace {

std::size_t bytesOn(int64_t rank, std::size_t elementBytes,
                    std::initializer_list<SharedStorage::Place> places) {
  std::size_t bytes = 0;
  for (const SharedStorage::Place &place : places) {
    int64_t elements = 0;
    if (place.layout == nullptr || place.layout->grid.contains(rank))
      elements = place.elements;
    if (place.layout != nullptr)
      elements = std::max(elements, place.layout->localSize(rank));
    const auto block = static_cast<std::size_t>(elements) * elementBytes;
    if (block > 0)
      bytes = std::max(bytes, place.offset + block);
  }
  return bytes;
}

} // namespace

SharedStorage::SharedStorage(MemoryLedger &ledger, int64_t rank, std::size_t elementBytes,
                             std::initializer_list<Place> places, MemoryUse use)
    : ownRank(rank), buffer(ledger, bytesOn(rank, elementBytes, places), use) {}

} // namespace einsumc
