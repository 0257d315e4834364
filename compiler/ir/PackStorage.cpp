//===- PackStorage.cpp - blocks of memory that live at different times ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/PackStorage.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

namespace einsumc {

namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

std::size_t sum(std::size_t a, std::size_t b) { return llvm::SaturatingAdd(a, b); }

/// Bytes from a block's offset to where the next one may begin.
std::size_t padded(std::size_t bytes) {
  return bytes > kMost - kStorageAlignment ? kMost : llvm::alignTo(bytes, kStorageAlignment);
}

/// Puts requests into one range of memory, in the order in which they come.
class Packer {
public:
  explicit Packer(const std::vector<StorageRequest> &requests) : requests(requests) {
    packing.offsets.resize(requests.size());
  }

  StoragePacking run(const std::vector<std::size_t> &order) {
    for (const std::size_t request : order)
      place(request);
    return std::move(packing);
  }

private:
  void place(std::size_t request) {
    const StorageRequest &wanted = requests[request];
    if (wanted.bytes == 0)
      return;
    const std::size_t size = padded(wanted.bytes);
    std::size_t free = 0; // Behind all blocks so far that live at the same time.
    std::size_t best = kMost;
    std::size_t bestGap = kMost;
    for (const std::size_t other : placed) {
      if (!requests[other].life.overlaps(wanted.life))
        continue;
      const std::size_t begin = packing.offsets[other];
      if (begin > free && begin - free >= size && begin - free < bestGap) {
        best = free;
        bestGap = begin - free;
      }
      free = std::max(free, sum(begin, padded(requests[other].bytes)));
    }
    const std::size_t offset = bestGap == kMost ? free : best;
    packing.offsets[request] = offset;
    packing.bytes = std::max(packing.bytes, sum(offset, wanted.bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [&](std::size_t value, std::size_t other) {
                                     return value < packing.offsets[other];
                                   }),
                  request);
  }

  const std::vector<StorageRequest> &requests;
  std::vector<std::size_t> placed; ///< by offset
  StoragePacking packing;
};

/// What the orders sort by, the largest first.
using Key = double (*)(const StorageRequest &);
constexpr Key kKeys[] = {
    [](const StorageRequest &r) { return static_cast<double>(r.bytes); },
    [](const StorageRequest &r) {
      return static_cast<double>(r.bytes) * (static_cast<double>(r.life.last) - r.life.first + 1);
    },
    [](const StorageRequest &r) { return static_cast<double>(r.life.last) - r.life.first; },
    [](const StorageRequest &r) { return -static_cast<double>(r.life.first); },
    [](const StorageRequest &r) { return static_cast<double>(r.life.last); },
};

std::vector<std::size_t> orderBy(Key key, const std::vector<StorageRequest> &requests) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return key(requests[a]) > key(requests[b]);
  });
  return order;
}

} // namespace

std::size_t mostLiveBytes(const std::vector<StorageRequest> &requests) {
  // The most is reached when some block has just come to life.
  std::set<int> births;
  for (const StorageRequest &request : requests)
    births.insert(request.life.first);
  std::size_t most = 0;
  for (const int step : births) {
    std::size_t live = 0;
    for (const StorageRequest &request : requests)
      if (request.life.overlaps({step, step}))
        live = sum(live, request.bytes);
    most = std::max(most, live);
  }
  return most;
}

StoragePacking packStorage(const std::vector<StorageRequest> &requests) {
  const std::size_t bound = mostLiveBytes(requests);
  StoragePacking best;
  for (const Key key : kKeys) {
    StoragePacking packing = Packer(requests).run(orderBy(key, requests));
    if (best.offsets.empty() || packing.bytes < best.bytes)
      best = std::move(packing);
    if (best.bytes <= bound)
      break;
  }
  return best;
}

} // namespace einsumc
