//===- WholeLines.h - products that leave the registers by whole lines of C -------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_WHOLELINES_H
#define EINSUMC_RUNTIME_WHOLELINES_H

#include "PackedBlocks.h"
#include "SimdVector.h"

#include "einsumc/BlockTiles.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace einsumc {

/// The columns of a block of C that is written past the caches: runs of so many rows, which begin
/// anywhere in a vector. Columns that begin at the same element of one, maybe far apart, are
/// computed together, by the vectors of C that lie in them, whose rows of A need not be aligned;
/// then the vectors that end one column and begin the next, which have rows and factors of both. So
/// all vectors of C but those at the ends of its runs leave the registers as a whole, while the
/// next are computed.
class ColumnsInLines {
public:
  struct Column {
    int64_t inB = 0, toC = 0; ///< its number, and where it begins
    int64_t next = 0;         ///< the number of the one that follows it, or its own
    bool isFollowed = false;
  };
  /// Columns that begin at the same element of a vector.
  struct Group {
    std::size_t first = 0, count = 0;
    bool comesNext = false; ///< whether the next group has all columns that follow these
  };

  /// \param begins where the columns of B begin in C
  /// \param lanes elements of a vector
  ColumnsInLines(std::span<const int64_t> begins, int64_t rows, int64_t lanes, int64_t groupSize);

  /// Of all columns, of those that follow none, and of those that none follows.
  std::span<const Group> groups() const { return ofAll; }
  std::span<const Group> heads() const { return ofHeads; }
  std::span<const Group> tails() const { return ofTails; }
  std::span<const Column> columns(const Group &group) const {
    return std::span(inGroups).subspan(group.first, group.count);
  }

private:
  std::vector<Group> groupsOf(std::span<const Column> columns, int64_t lanes, int64_t groupSize);

  std::vector<Column> inGroups;
  std::vector<Group> ofAll, ofHeads, ofTails;
};

/// Columns that are computed together.
template <class T> inline constexpr int64_t kColumnsInLines = simd::kSums / tiles::kVectorsInLines;

/// A run of rows: where it begins in A and C.
struct RowsInLines {
  int64_t inA = 0, toC = 0;
};

/// C[r,j] = sum over k of A[r,k] * B[k,j], for some runs r of rows, all as long, and some columns.
template <class T> struct ProductInLines : PackedBlocks<T> {
  std::span<const RowsInLines> runs = {};
};

/// Computes the product. endStoresPastCaches must follow.
/// \pre there are as many rows as a vector has lanes, and at most tiles::kMostSumsInLines sums
template <class T>
void multiplyInLines(const ProductInLines<T> &work, const ColumnsInLines &columns) noexcept;

} // namespace einsumc

#endif // EINSUMC_RUNTIME_WHOLELINES_H
