//===- BlockKernel.h - the product of two blocks of tensors -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_BLOCKKERNEL_H
#define EINSUMC_BLOCKKERNEL_H

#include "einsumc/TileKernel.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace einsumc {

/// One dim of a block: `count` of its `extent` indices, or what is left of them in the last block.
/// Neighbours lie `inA`, `inB` and `inC` elements apart in the tensors that have the dim.
struct BlockDim {
  int64_t count = 1;
  int64_t extent = 1;
  int64_t inA = 0, inB = 0, inC = 0;
};

/// How the blocks of A and B lie where the kernel reads them, in elements. The indices of a block
/// along m, n and k are those of its dims, the first the fastest, taken as one.
///
/// A packed block of A is a row of panels, which are read from end to end: each holds, for every k,
/// m indices of the first `panelDims` dims, of the last of these `panelCount` indices at a time,
/// and more of them in a block that has fewer of the others; or `panelRows` indices of m as one.
/// What pads them to `aK` elements may be read, too, whatever it is.
struct BlockFormat {
  int64_t aK = 0, bN = 0; ///< between neighbours along k and n; along m and k they are adjacent
  /// A packed block of B is a row of panels, too, of tiles::kPanelColumns indices of n; bN means
  /// nothing then. Else it is columns along k.
  bool bInPanels = false;
  /// Panels of B take the indices of the first so many dims of n as one, and begin anew for each
  /// index of the others: as many panels later as the largest block has for the first. 0: of all.
  std::size_t bPanelDims = 0;
  std::size_t panelDims = 0; ///< 0: all of A is one panel
  int64_t panelCount = 0;
  int64_t panelRows = 0;                         ///< above 0: panels end in the midst of dims
  int64_t aPanel = 0;                            ///< between panels
  bool aFromMemory = false, bFromMemory = false; ///< tensors too large to be found in a cache
  /// B is read in place, in columns along k, from a tensor too large to be found in a cache.
  bool bFetched = false;
  /// The sums come in several blocks, all but the first of which accumulate.
  bool accumulates = false;
  /// C is written once, without accumulating, and is too large to be found in a cache later: it is
  /// written past them where it is contiguous.
  bool pastCaches = false;
  /// That is by whole lines (`runtime/WholeLines.h`), where rows fill a vector and sums are not
  /// long: C is contiguous along m, all of A is one panel, and B is columns along k.
  bool wholeLines = false;
  /// A block of C is computed in scratch, each product of a batch in the order of C or of tiles
  /// (tiles::kLongBatchBytes), and copied when it is complete.
  bool resultInScratch = false;
  /// Above 0: the sums of a block of C add up in scratch, in columns along m that lie so far apart,
  /// until copySums brings them to C.
  int64_t scratchColumn = 0;
  /// The dims of a batch of products, the first the fastest, whose packed blocks lie so many
  /// elements apart: tensors that are contiguous along them are read in longer pieces.
  std::vector<BlockDim> batch = {};
  int64_t aBatch = 0, bBatch = 0;
};

template <class T> struct PackedBlocks;

/// Computes C[m,n] = (accumulate ? C[m,n] : 0) + sum over k of A[m,k] * B[k,n] for blocks of A and
/// B in the caches and a C whose m and n may be many dims. Works tile by tile: in C itself along
/// dims where it is contiguous, else through a buffer on the stack. The kernels of all tiles that
/// can occur are fetched once, by the constructor. With an extent of 0 there is nothing to
/// compute, and C is left alone.
template <class T> class BlockKernel {
public:
  /// By dim of a role or of the batch: the indices that a block has, `count` or the rest.
  using Counts = std::initializer_list<int64_t>;

  /// \param m, n, k the dims of each role, from the fastest in A and B to the slowest
  BlockKernel(std::initializer_list<BlockDim> m, std::initializer_list<BlockDim> n,
              std::initializer_list<BlockDim> k, const BlockFormat &format);

  /// Copies a block of the tensor A, whose first element is \p source, into panels.
  void packA(T *target, const T *source, Counts m, Counts k, Counts batch = {}) const noexcept;
  /// Copies a block of the tensor B into columns along k, or into panels.
  void packB(T *target, const T *source, Counts k, Counts n, Counts batch = {}) const noexcept;

  /// Multiplies two blocks, or those of a batch, on the calling thread.
  /// \param c not used where sums add up in scratch
  /// \param scratch for as many blocks of C as a batch has products, if the format wants one
  void operator()(const T *a, const T *b, T *c, T *scratch, Counts m, Counts n, Counts k,
                  bool accumulate, Counts batch = {}) const noexcept;
  /// Brings a block of C, or those of a batch, to where it belongs, when all of the sums that add
  /// up in scratch are there.
  /// \param accumulate adds it to what C has
  void copySums(T *c, const T *scratch, Counts m, Counts n, bool accumulate,
                Counts batch = {}) const noexcept;

private:
  /// A row of neighbours in C.
  struct Run {
    int64_t at = 0; ///< in the tile
    int64_t toC = 0;
    int64_t length = 0;
  };
  /// A part of a side that one kernel computes.
  struct Tile {
    /// From the start of the block: elements of A; columns of B, with those that pad panels.
    int64_t at = 0;
    int64_t toC = 0;
    std::size_t size = 0; ///< index into the side's sizes
    std::vector<Run> runs;
    int64_t longestRun = 1;
    std::vector<int64_t> offsets; ///< in C, of each index, if they are listed
  };
  using Tiles = std::vector<Tile>;

  /// How a side lies in its packed block, and how tiles are cut from it.
  struct Panels {
    std::size_t dims = 0;                    ///< 0: one panel
    int64_t count = 0, rows = 0, stride = 0; ///< as Tile::at
    int64_t rowStride = 1;                   ///< between the indices in a panel
    int64_t longest = 1, multiple = 1;       ///< of tiles, which are nearly equal if that is 1
    bool inRuns = false;                     ///< tiles end where runs do
    bool listsOffsets = false;
  };

  struct Side {
    explicit Side(std::initializer_list<BlockDim> dims);
    std::vector<BlockDim> dims;
    std::vector<int64_t> inTensor; ///< by dim: distances in C, where `dims` has those in scratch
    int64_t apart = 0; ///< above 0: between all neighbours in scratch, whatever their dims
    std::vector<std::size_t> weights; ///< by dim: what its rest adds to the variant's index
    std::vector<Tiles> variants;
    std::vector<int64_t> sizes; ///< of tiles that occur
    /// By variant: where the runs of columns that follow each other begin in C, if they may be
    /// computed as one column each (JoinedColumns); else none.
    std::vector<std::vector<int64_t>> joinedRuns;

    std::size_t variantOf(Counts counts) const noexcept;
    int64_t count(std::size_t dim, std::size_t variant) const;
    /// Of the first so many dims.
    int64_t elements(std::size_t variant, std::size_t firstDims = SIZE_MAX) const;
    /// Elements from the first on with one distance in C.
    int64_t runLength(std::size_t variant) const;
    /// Whether tiles within runs are long enough, in every variant.
    bool hasLongRuns(int64_t atLeast) const;
    /// Whether those end where panels of so many indices do, in every variant, if these go on only
    /// through the first dims.
    bool doRunsEndPanels(int64_t indices, std::size_t firstDims) const;
    /// Panels of so many indices that the largest block has for the first dims as one.
    int64_t panelsOf(int64_t indices, std::size_t firstDims) const;
    /// The indices that a panel has of the last of its dims: in blocks with fewer of the others as
    /// many more as fill the panels of the largest block.
    int64_t indicesOfPanel(std::size_t panelDims, int64_t panelCount, std::size_t variant) const;
    int64_t strideInC() const { return apart > 0 ? apart : dims.empty() ? 1 : dims.front().inC; }
    int64_t offsetInC(std::size_t variant, int64_t at) const;
    /// Cuts every variant into panels and these into tiles.
    void cut(const Panels &panels);
    void cutPanel(std::size_t variant, int64_t first, int64_t rows, int64_t at,
                  const Panels &panels);
    std::size_t indexOfSize(int64_t size);
    /// Finds the joined runs of columns, which must begin at multiples of a unit of C.
    void joinColumns(int64_t unit);
  };

  /// What is written by whole lines, by variants of the sides.
  struct Lines;

  void packAcross(T *target, const T *source, Counts m, Counts k, Counts batch) const noexcept;
  void packColumnPanels(T *target, const T *source, Counts k, Counts n,
                        Counts batch) const noexcept;
  void multiply(const T *a, const T *b, T *c, std::size_t variantM, std::size_t variantN,
                const Tile &tileK, bool accumulate) const noexcept;
  bool multiplyLines(const T *a, const T *b, T *c, std::size_t variantM, std::size_t variantN,
                     const Tile &tileK) const noexcept;
  void setBlocks(PackedBlocks<T> &blocks, const T *a, const T *b, T *c,
                 const Tile &k) const noexcept;
  bool multiplyJoined(const T *a, const T *b, T *c, const Tile &m, std::size_t variantN,
                      const Tile &k) const noexcept;
  void fetchKernels();
  const TileKernel<T> &kernel(const Tile &m, const Tile &n, const Tile &k,
                              bool accumulate) const noexcept;
  void prefetch(const T *c, const Tile &m, const Tile &n) const noexcept;
  void multiplyThroughBuffer(const T *a, const T *b, T *c, const Tile &m, const Tile &n,
                             const Tile &k, bool accumulate) const noexcept;

  void multiplyPastCaches(const T *a, const T *b, T *c, const Tile &m, const Tile &n,
                          const Tile &k) const noexcept;
  bool isInScratch() const { return format.resultInScratch || format.scratchColumn > 0; }
  void placeInScratch();
  std::shared_ptr<const Lines> placeInLines() const;
  /// How tiles get into C.
  enum class Result : uint8_t { Direct, Buffered, PastCaches };
  Result chooseResult() const;
  /// How tiles get from a buffer to C: by runs along both sides; where these are short, by pieces
  /// of a few rows; by packets of rows if columns are neighbours in C.
  enum class Spread : uint8_t { Runs, Pieces, Packets };
  Spread chooseSpread() const;
  bool shouldGoByBlocks() const;
  /// Whether tiles may end where runs of C do.
  bool mayTilesEndRuns() const;

  Side sideM, sideN;
  Side sideK; ///< one tile a block
  BlockFormat format;
  bool isEmpty = true; ///< there is nothing to compute
  Result result = Result::Direct;
  Spread spread = Spread::Runs;
  std::size_t tilesTogether = 1;      ///< along n, that follow each other for one along m
  int64_t productInScratch = 0;       ///< elements between those of a batch
  std::shared_ptr<const Lines> lines; ///< how C is written by whole lines, if it is
  std::vector<TileKernel<T>> kernels; ///< by size along m, n, k and by accumulate
};

} // namespace einsumc

#endif // EINSUMC_BLOCKKERNEL_H
