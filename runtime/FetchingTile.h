//===- FetchingTile.h - a tile product that fetches the next tile -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_FETCHINGTILE_H
#define EINSUMC_RUNTIME_FETCHINGTILE_H

#include <cstdint>

namespace einsumc {

/// A part of A, contiguous along m.
template <class T> struct FetchedRows {
  const T *a = nullptr;
  const int64_t *rowsOfA = nullptr; ///< by k: where a row begins
  int64_t m = 0, k = 0;
};

/// What becomes of the sums of a product.
enum class FetchingResult : uint8_t {
  Overwrite,
  Accumulate,
  PastCaches, ///< overwrites C past the caches: its columns begin and end with whole vectors
};

/// C[m,n] = sum over k of A[m,k] * B[k,n], or is added to it, with C contiguous along m
/// and B in panels of tiles::kFetchingColumns columns, row by row. No extent is 0.
template <class T> struct FetchingTile : FetchedRows<T> {
  int64_t n = 0;
  const T *b = nullptr;
  int64_t panel = 0; ///< elements between panels
  T *c = nullptr;
  const int64_t *columnsOfC = nullptr; ///< by n: where a column begins
  FetchingResult result = FetchingResult::Overwrite;
  FetchedRows<T> next; ///< to be fetched meanwhile; k of 0: none
  T *nextC = nullptr;  ///< the next tile's C, with the same columns, if it is to be fetched, too
};

template <class T> void multiplyFetching(const FetchingTile<T> &tile) noexcept;

} // namespace einsumc

#endif // EINSUMC_RUNTIME_FETCHINGTILE_H
