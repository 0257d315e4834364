//===- PackStorage.h - blocks of memory that live at different times --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_IR_PACKSTORAGE_H
#define EINSUMC_IR_PACKSTORAGE_H

#include <cstddef>
#include <vector>

namespace einsumc {

/// The steps of a program in which a block of memory holds something, first and last included.
struct Lifetime {
  int first = 0;
  int last = 0;

  bool overlaps(const Lifetime &other) const { return first <= other.last && other.first <= last; }
  bool operator==(const Lifetime &) const = default;
};

/// Bytes that are needed for a time.
struct StorageRequest {
  std::size_t bytes = 0;
  Lifetime life;
};

/// Where the requests lie in one range of memory.
struct StoragePacking {
  std::vector<std::size_t> offsets; ///< in bytes, one a request, multiples of kStorageAlignment
  std::size_t bytes = 0;            ///< the end of the last request
};

/// A cache line: no two blocks share one.
inline constexpr std::size_t kStorageAlignment = 64;

/// Places blocks so that those that live at the same time do not overlap, in a range about as
/// small as possible: the dynamic storage allocation problem with known lifetimes, which is
/// NP-hard (A. Buchsbaum, H. Karloff, C. Kenyon, N. Reingold, M. Thorup, "OPT versus LOAD in
/// dynamic storage allocation", SIAM J. Comput. 33(3), 2004). Blocks go, one by one, into the
/// smallest gap between those placed before that lives long enough (Y. Pisarchyk, J. Lee,
/// "Efficient memory management for deep neural net inference", 2020, greedy by size), for several
/// orders of the blocks, of which the best is taken. Deterministic. Sizes that add up to more than
/// 2^64 - 1 bytes count as that.
StoragePacking packStorage(const std::vector<StorageRequest> &requests);

/// The most bytes that live at a time: no packing is smaller.
std::size_t mostLiveBytes(const std::vector<StorageRequest> &requests);

} // namespace einsumc

#endif // EINSUMC_IR_PACKSTORAGE_H
