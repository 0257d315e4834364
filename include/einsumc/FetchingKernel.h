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

template <class T> class RowFetcher;
struct VectorInPieces;

/// Where the results of a FetchingKernel go.
struct FetchingFormat {
  /// Above 0: a block of C is computed in scratch, with its indices along m next to each other and
  /// its columns so many elements apart, and then copied. 0: in C, where the dims of m from the
  /// first on, which is contiguous, continue each other as far as possible.
  int64_t scratchColumn = 0;
  bool pastCaches = false; ///< as in BlockFormat
};

/// Elements next to each other in each row of A, from \p toA on.
struct PieceOfRows {
  int64_t toA, count;
};

/// Computes C[m,n] = (accumulate ? C[m,n] : 0) + sum over k of A[m,k] * B[k,n] for a large A of
/// which each element meets few columns of B: copying A into blocks would take as long as the
/// product. A is read where it lies, tile by tile, and during the products of a group of tiles
/// the rows of the next one are fetched into the caches, a few lines at a time. B is packed and
/// used as a whole. With an extent of 0 there is nothing to compute, and C is left alone.
template <class T> class FetchingKernel {
public:
  /// \param m the dims of m from the fastest in A to the slowest, each of which steps over all that
  /// those before it reach. A is contiguous along the first, which there must be.
  /// \param n, k the other dims, all indices of which a block has
  FetchingKernel(std::initializer_list<BlockDim> m, std::initializer_list<BlockDim> n,
                 std::initializer_list<BlockDim> k, const FetchingFormat &format);

  /// Copies B, whose first element is \p source, into panels of tiles::fetchingPanel columns, the
  /// last of which may have less to use but has as much room. \p target has room for
  /// tiles::fetchingPanels elements.
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
  /// The elements of a block that are next to each other in A, and in C if that is written in
  /// place.
  struct Runs {
    int64_t length = 1;
    std::size_t dims = 0; ///< of the first so many dims
    /// Whether tiles go on from one run to the next: where vectors that end with each run would be
    /// so much less full, and are used often enough to be put together each time.
    bool areJoined = false;
    int64_t joined = 0; ///< elements of all runs
  };
  /// Indices of m that follow each other in a block.
  struct Tile {
    int64_t rows = 0;
    int64_t index = 0;        ///< of the first row in the block
    int64_t toA = 0, toC = 0; ///< to the first row
  };
  /// Tiles that follow each other in rows of A, or one tile in several pieces of them.
  struct Group {
    static constexpr int64_t kMostTiles = 4, kMostPieces = 14;

    void addPiece(const PieceOfRows &piece) {
      PieceOfRows *const last = pieceCount > 0 ? &pieces[pieceCount - 1] : nullptr;
      if (last && last->toA + last->count == piece.toA)
        last->count += piece.count;
      else
        pieces[pieceCount++] = piece;
    }

    std::array<Tile, kMostTiles> tiles;
    std::array<PieceOfRows, kMostPieces> pieces; ///< of all tiles
    int64_t tileCount = 0;
    std::size_t pieceCount = 0;
  };
  /// Room for two groups that follow each other.
  struct Groups {
    Group &begin() {
      next = 1 - next;
      all[next].tileCount = 0;
      all[next].pieceCount = 0;
      return all[next];
    }

    std::array<Group, 2> all;
    std::size_t next = 0;
  };
  /// A part of the sums of a group: what is fetched at a time.
  struct Part {
    const Group *group = nullptr;
    int64_t firstK = 0, k = 0;
    bool isFetched = false; ///< while another one was computed
  };
  /// How the sums of a block are cut.
  struct Parts {
    int64_t sums = 1;       ///< of each, at most
    bool areByRows = false; ///< each of all groups before the next, else all of a group
    int64_t tiles = 1;      ///< of a group, at most
  };
  /// What a call works on.
  struct Operands {
    const T *a, *b;
    T *c, *scratch;
    T *buffer; ///< for a tile of C that then goes past the caches
    T *rows;   ///< for rows of A, if they are copied
    bool accumulate;
  };
  /// Where tiles are computed.
  enum class Place : uint8_t { C, CPastCaches, Buffer, Scratch };
  enum class Copy : uint8_t { FromC, ToC };

  template <class Body>
  void forEachBlock(std::initializer_list<int64_t> m, Body &&body) const noexcept;
  template <class Body>
  void forEachGroup(const Block &block, const Runs &runs, int64_t mostTiles, Groups &groups,
                    Body &&body) const noexcept;
  Runs runsOf(const Block &block) const noexcept;
  Parts partsOf(const Runs &runs) const noexcept;
  void findVectors(const Group &group, VectorInPieces *vectors) const noexcept;
  bool isInScratch() const { return format.scratchColumn > 0; }
  Place placeOf(const T *c, const Part &part, const Tile &tile, bool accumulate) const noexcept;
  void multiply(const Operands &operands, const Part &part, const Part &next) const noexcept;
  void multiplyTile(const Operands &operands, const Part &part, const Tile &tile,
                    const Tile *toWrite, RowFetcher<T> &fetcher) const noexcept;
  void writeTile(T *c, const T *tile, int64_t rows) const noexcept;
  void copyScratch(const Operands &operands, const Block &block, Copy direction) const noexcept;

  std::vector<BlockDim> dimsM, dimsN, dimsK;
  FetchingFormat format;
  bool areColumnsAligned = false;                    ///< in C, if the first one is
  int64_t columnDistance = -1;                       ///< in C, if all have the same
  std::vector<int64_t> rowsOfA;                      ///< by k: where a row begins
  std::vector<int64_t> columnsOfC, columnsOfScratch; ///< by n: where a column begins
  int64_t sumsOfLongTile = 1;                        ///< in a short part of a tile of the most rows
  bool copiesRows = false; ///< each block in registers, for all columns but its first
};

} // namespace einsumc

#endif // EINSUMC_FETCHINGKERNEL_H
