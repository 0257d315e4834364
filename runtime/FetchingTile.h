//===- FetchingTile.h - a tile product that fetches the next tiles ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_FETCHINGTILE_H
#define EINSUMC_RUNTIME_FETCHINGTILE_H

#include "RowFetcher.h"
#include "SimdVector.h"

#include <cstdint>

namespace einsumc {

/// The most vectors of m that a block in registers has. It has room for six columns then, so that
/// each vector is used often enough.
inline constexpr int kVectorsOfBlock = simd::kSums / 6;
/// Whether rows of A may be copied: blocks of more sums use a row for as long as the next one takes
/// to come from the second-level cache.
inline constexpr bool kMayCopyRows = simd::kSums <= 12;

/// Where a vector of A lies, in one piece or two.
struct VectorInPieces {
  int64_t toA;    ///< from `a` to the first lane
  int64_t others; ///< to where it would be if it were in the same piece as the last lane
  int count;      ///< lanes in the first piece
};

/// What becomes of the sums of a product.
enum class FetchingResult : uint8_t {
  Overwrite,
  Accumulate,
  PastCaches, ///< overwrites C past the caches: its columns begin and end with whole vectors
};

/// C[m,n] = sum over k of A[m,k] * B[k,n], or is added to it, with C contiguous along m, A too
/// or in pieces, and B in panels of tiles::fetchingPanel columns, row by row: what the last one has
/// instead of columns may be read, too, and tiles::kBehindPanels elements behind it. No extent is
/// 0.
template <class T> struct FetchingTile {
  int64_t m = 0, n = 0, k = 0;
  const T *a = nullptr;
  const int64_t *rowsOfA = nullptr; ///< by k: where a row begins
  /// If A lies in pieces: by vectors along m, the last of which is in one piece unless it is whole.
  const VectorInPieces *vectors = nullptr;
  const T *b = nullptr;
  int64_t panel = 0, rowOfPanel = 0; ///< elements between panels, and between rows of one
  T *c = nullptr;
  const int64_t *columnsOfC = nullptr; ///< by n: where a column begins
  FetchingResult result = FetchingResult::Overwrite;
  /// Room for k times kVectorsOfBlock vectors, where the rows of A are copied by the first columns
  /// for the others, as a block takes them; null if these read them in place, too.
  T *copy = nullptr;
  bool isFetched = false;           ///< whether A was fetched by another product
  RowFetcher<T> *fetcher = nullptr; ///< of what is to be fetched meanwhile
};

template <class T> void multiplyFetching(const FetchingTile<T> &tile) noexcept;

} // namespace einsumc

#endif // EINSUMC_RUNTIME_FETCHINGTILE_H
