//===- JoinedColumns.h - products whose columns follow each other in C ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_JOINEDCOLUMNS_H
#define EINSUMC_RUNTIME_JOINEDCOLUMNS_H

#include "PackedBlocks.h"
#include "SimdVector.h"

#include "einsumc/BlockTiles.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace einsumc {

/// C[r,j,m,n] = sum over k of A[r,m,k] * B[k,j,n], where the rows r of a column and the columns j
/// make up one run of C, which is written past the caches. Its vectors take some lanes from one
/// column and the others from the next: of A and B they have those of both.
/// A has the rows of each m one after the other, B the columns of each n.
template <class T> struct JoinedColumns : PackedBlocks<T> {
  int64_t columns = 0;
  std::array<int64_t, tiles::kMostJoinedColumns> m = {}; ///< where runs begin in C, by m
  std::size_t mCount = 0;
  std::span<const int64_t> n; ///< the same by n
};

/// Computes the product if runs are of whole vectors, it has enough m and n for each of these to be
/// used several times, and sums are so short that A stays in the first-level cache. Returns whether
/// that is so. endStoresPastCaches must follow.
/// \pre rows may be joined (`tiles::mayJoinColumns`), and runs of C begin with a vector
template <class T> bool multiplyJoinedColumns(const JoinedColumns<T> &work) noexcept;

} // namespace einsumc

#endif // EINSUMC_RUNTIME_JOINEDCOLUMNS_H
