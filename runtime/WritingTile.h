//===- WritingTile.h - a tile product that writes the tile before it --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_WRITINGTILE_H
#define EINSUMC_RUNTIME_WRITINGTILE_H

#include "PastCaches.h"
#include "SimdVector.h"

#include "einsumc/BlockTiles.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace einsumc {

/// C[m,n] = sum over k of A[m,k] * B[k,n], with A contiguous along m, B along k, and a C that is
/// contiguous along runs of m. No extent is 0.
template <class T> struct WritingTile {
  const T *a = nullptr;
  int64_t aK = 0;
  /// Rows are padded to whole vectors, which may be read.
  bool hasPadding = false;
  const T *b = nullptr;
  int64_t bN = 0;
  int64_t k = 0;
  T *c = nullptr;
  std::span<const tiles::Run> rows, columns;
  int64_t columnStride = 0; ///< between neighbours of a run of columns in C
};

/// Writes a result past the caches, tile by tile, each while the next one is computed. Columns of a
/// tile that are neighbours in C are brought together on the way.
template <class T> class TileWriter {
public:
  /// The most columns of a tile.
  static constexpr int64_t kMostColumns = tiles::kMostN;

  TileWriter() = default;
  TileWriter(const TileWriter &) = delete;
  TileWriter &operator=(const TileWriter &) = delete;

  /// Whether such tiles can be written.
  /// \param length of all runs of rows; 0: any
  static bool canWrite(std::span<const tiles::Run> rows, std::span<const tiles::Run> columns,
                       int64_t length);

  /// Computes a tile, and writes the one before it. \pre canWrite
  void multiply(const WritingTile<T> &tile) noexcept;
  /// Writes the last tile. simd::endStoresPastCaches must follow before other threads may see it.
  void finish() noexcept;

private:
  static constexpr int64_t kMostVectors = tiles::kPanelVectors;
  static constexpr int64_t kLanes = simd::kLanes<T>, kLine = kCacheLine<T>;
  static constexpr int64_t kVectorsOfLine = kLine / kLanes;
  static constexpr int64_t kMostRows = kMostVectors * kLanes;
  static constexpr std::size_t kMostPieces = 32;

  /// Neighbours in C, or columns of such.
  struct Piece {
    T *to = nullptr;
    const T *from = nullptr; ///< a run of rows in a column, the next of which is kMostRows on
    int64_t count = 0;       ///< elements; vectors once the ends have been written
    int64_t run = 0;
    int64_t row = 0;  ///< the first one in the column
    int64_t jump = 0; ///< between the end of a column's run and the next one's begin in C
  };
  /// A tile, column by column, and where it goes.
  struct Slot {
    alignas(64) T elements[kMostRows * kMostColumns + kLanes];
    Piece pieces[kMostPieces];
    std::size_t count = 0;
  };

  template <int Vectors, int Columns, bool HasTail>
  static void sumBlock(const WritingTile<T> &tile, const T *b, T *to, int tail, TileWriter &writer);
  using Block = void (*)(const WritingTile<T> &tile, const T *b, T *to, int tail,
                         TileWriter &writer);
  template <bool HasTail> static const auto &blocks();

  static void place(const WritingTile<T> &tile, Slot &slot);
  static void writeEnds(Piece &at);
  static void writeColumnEnds(Piece &at);
  static void copyElements(Piece &at, int64_t elements);
  void beginWriting(int64_t steps);
  int64_t write(int64_t left);

  Slot slots[2];
  int current = 0; ///< the slot that waits to be written
  std::size_t piece = 0;
  Piece left; ///< of the piece that is being written
  int64_t pace = 1, atOnce = 1;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_WRITINGTILE_H
