//===- FetchingKernel.h - products with an operand that comes from memory ---------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_FETCHINGKERNEL_H
#define EINSUMC_FETCHINGKERNEL_H

#include "einsumc/BlockKernel.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace einsumc {

/// Where the results of a FetchingKernel go.
struct FetchingFormat {
  /// Above 0: a block of C is computed in scratch, with its indices along m next to each other and
  /// its columns so many elements apart, and then copied. 0: in C, where the dims of m from the
  /// first on, which is contiguous, continue each other as far as possible.
  int64_t scratchColumn = 0;
  bool pastCaches = false; ///< as in BlockFormat
};

/// Computes C[m,n] = (accumulate ? C[m,n] : 0) + sum over k of A[m,k] * B[k,n] for a large A of
/// which each element meets few columns of B: copying A into blocks would take as long as the
/// product. A is read where it lies, tile by tile, and during the product of a tile the rows of
/// the next one are fetched into the caches, a few lines at a time. B is packed and used as a
/// whole. With an extent of 0 there is nothing to compute, and C is left alone.
template <class T> class FetchingKernel {
public:
  /// \param m the dims of m from the fastest in A to the slowest. A is contiguous along the first,
  /// which there must be.
  /// \param n, k the other dims, all indices of which a block has
  FetchingKernel(std::initializer_list<BlockDim> m, std::initializer_list<BlockDim> n,
                 std::initializer_list<BlockDim> k, const FetchingFormat &format);

  /// Copies B, whose first element is \p source, into panels of tiles::kFetchingColumns columns,
  /// the last of which has less to use but as much room.
  void packB(T *target, const T *source) const noexcept;

  /// Multiplies a part of A by all of the packed B on the calling thread, in blocks of `count`
  /// indices of each dim of m where the format wants scratch.
  /// \param scratch for a block of C, if the format wants one
  /// \param m the indices of each dim that the part has
  void operator()(const T *a, const T *b, T *c, T *scratch, std::initializer_list<int64_t> m,
                  bool accumulate) const noexcept;

private:
  /// No block has more dims of 2 and above.
  using Counts = std::array<int64_t, 63>;
  /// What is computed before it is copied to C.
  struct Block {
    Counts counts = {}; ///< indices of each dim of m
    int64_t toA = 0, toC = 0;
  };
  /// Rows of A next to each other, and where their results go.
  struct Tile {
    int64_t rows = 0;
    int64_t toA = 0, toC = 0;
    int64_t index = 0; ///< of the first row in the block
  };
  /// A part of a tile's sums: what is fetched at a time.
  struct Part {
    Tile tile;
    int64_t firstK = 0, k = 0;
  };
  /// What a call works on.
  struct Operands {
    const T *a, *b;
    T *c, *scratch;
    T *buffer; ///< for a tile that then goes past the caches
    bool accumulate;
  };
  /// Where tiles are computed.
  enum class Place : uint8_t { C, CPastCaches, Buffer, Scratch };
  enum class Copy : uint8_t { FromC, ToC };

  template <class Body>
  void forEachBlock(std::initializer_list<int64_t> m, Body &&body) const noexcept;
  template <class Body> void forEachTile(const Block &block, Body &&body) const noexcept;
  int64_t runLength(const Counts &counts, std::size_t &dimCount) const noexcept;
  bool isInScratch() const { return format.scratchColumn > 0; }
  Place placeOf(const T *c, const Part &part, bool accumulate) const noexcept;
  void multiply(const Operands &operands, const Part &part, const Part &next) const noexcept;
  void writeTile(T *c, const T *tile, int64_t rows) const noexcept;
  void copyScratch(const Operands &operands, const Block &block, Copy direction) const noexcept;

  std::vector<BlockDim> dimsM, dimsN, dimsK;
  FetchingFormat format;
  bool areColumnsAligned = false;                                ///< in C, if the first one is
  int64_t columnDistance = -1;                                   ///< in C, if all have the same
  std::vector<int64_t> rowsOfA;                                  ///< by k: where a row begins
  std::vector<int64_t> columnsOfB, columnsOfC, columnsOfScratch; ///< by n: where a column begins
  int64_t sumsInPart = 1;                                        ///< at most
};

} // namespace einsumc

#endif // EINSUMC_FETCHINGKERNEL_H
