//===- StridedCopy.h - copies and sums between strided views ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_STRIDEDCOPY_H
#define EINSUMC_STRIDEDCOPY_H

#include <cstdint>
#include <initializer_list>
#include <span>

namespace einsumc {

namespace copies {

/// Where the fastest dim of a tensor is shorter than a cache line, copies go through runs of so
/// many bytes over several dims, or fewer, as no run has more elements than this.
inline constexpr int64_t kLineBytes = 64, kRunBytes = 4 * kLineBytes, kMostRun = 256;
/// Runs that are written past the caches wherever they begin, if the lines that others have a part
/// of are fetched in time. Of shorter ones these are too many.
inline constexpr int64_t kLongRunBytes = 3 * kLineBytes;
/// The same of runs that are collected in a buffer first: what has just been written in pieces is
/// slow to read.
inline constexpr int64_t kCollectedRunBytes = 8 * kLineBytes;

} // namespace copies

/// One loop of a copy: `extent` steps of `to` elements in the target and `from` in the source.
/// Steps may be 0 or those of a diagonal (the sum of two strides); loops come in any order.
struct CopyLoop {
  int64_t extent = 0;
  int64_t to = 0;
  int64_t from = 0;
};

/// target[sum of to*i] = source[sum of from*i] over all loops, on the calling thread. Loops that
/// continue each other are fused, the order of the loops is chosen for the memory, and transposes
/// go by register tiles. Nothing happens when an extent is 0; no loops copy one element.
/// \pre every `to` of an extent above 1 is not 0, and no target element is written twice.
template <class T>
void copyStrided(T *target, const T *source, std::span<const CopyLoop> loops) noexcept;

/// As copyStrided, into a target that is too large to be found in a cache later: it is written past
/// them where it is contiguous.
template <class T>
void copyPastCaches(T *target, const T *source, std::span<const CopyLoop> loops) noexcept;

/// As copyStrided, from a source that is too large to be found in a cache: of one whose rows become
/// columns long pieces are read at a time.
template <class T>
void copyFromMemory(T *target, const T *source, std::span<const CopyLoop> loops) noexcept;

/// target[sum of to*i] += source[sum of from*i] over all loops, on the calling thread; loops with
/// a `to` of 0 are sums.
template <class T>
void addStrided(T *target, const T *source, std::span<const CopyLoop> loops) noexcept;

/// As copyStrided, shared among the OpenMP team that it opens (none for small copies).
/// \pre not called inside a parallel region
template <class T> void copyParallel(T *target, const T *source, std::span<const CopyLoop> loops);

/// target = sum of source: overwrites (does not add to) the target; loops with a `to` of 0 are
/// summed over (with partial sums that keep the error of long sums small); shared among the OpenMP
/// team, also when only summed loops are long. A summed extent of 0 gives zeros.
/// \pre not called inside a parallel region
template <class T> void sumParallel(T *target, const T *source, std::span<const CopyLoop> loops);

template <class T>
void copyStrided(T *target, const T *source, std::initializer_list<CopyLoop> loops) noexcept {
  copyStrided(target, source, std::span<const CopyLoop>(loops.begin(), loops.size()));
}
template <class T>
void addStrided(T *target, const T *source, std::initializer_list<CopyLoop> loops) noexcept {
  addStrided(target, source, std::span<const CopyLoop>(loops.begin(), loops.size()));
}
template <class T>
void copyParallel(T *target, const T *source, std::initializer_list<CopyLoop> loops) {
  copyParallel(target, source, std::span<const CopyLoop>(loops.begin(), loops.size()));
}
template <class T>
void sumParallel(T *target, const T *source, std::initializer_list<CopyLoop> loops) {
  sumParallel(target, source, std::span<const CopyLoop>(loops.begin(), loops.size()));
}

} // namespace einsumc

#endif // EINSUMC_STRIDEDCOPY_H
