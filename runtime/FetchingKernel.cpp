//===- FetchingKernel.cpp - products with an operand that comes from memory -------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/FetchingKernel.h"

#include "BlockLoops.h"
#include "CopyLoops.h"
#include "EvenPieces.h"
#include "FetchingTile.h"
#include "PanelParts.h"
#include "PastCaches.h"
#include "RowFetcher.h"
#include "SimdVector.h"

#include "einsumc/BlockTiles.h"
#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>

namespace einsumc {

namespace {

using tiles::kFetchingColumns;

/// The longest tiles along m, and the most columns of one that goes past the caches, in elements.
template <class T> constexpr int64_t kMostRows = kBytesOfTileRow / sizeof(T);
constexpr int64_t kMostBuffered = 96;
/// Few columns, to which reading A takes the time.
constexpr int64_t kFewColumns = 8;
/// The longest sums of parts that follow each other in the order of A's rows: what blocks in
/// registers go through of them, at most half a tile, is to stay in the first-level cache while the
/// columns pass by.
constexpr int64_t kMostShortSums = (24 << 10) / (kBytesOfTileRow / 2);
/// The longest of those that follow each other tile by tile. Where blocks in registers are large,
/// the second-level cache is near enough for columns that read them again.
constexpr int64_t kMostSums = (kMayCopyRows ? 1 : 3) * kMostShortSums;

/// Elements from one row of A to the next, in the mean.
int64_t distanceOf(const std::vector<int64_t> &rowsOfA) {
  const auto steps = static_cast<int64_t>(rowsOfA.size()) - 1;
  return steps > 0 ? (rowsOfA.back() - rowsOfA.front()) / steps : 0;
}

/// The sums of a short part of the longest tiles that so many columns are worth. With few of them
/// these follow A's order in memory closely, and fetch little of it ahead. With more it matters
/// that the results of each part are added up, unless its rows lie side by side.
template <class T> int64_t shortSums(std::size_t columns, const std::vector<int64_t> &rowsOfA) {
  constexpr int64_t kOfColumn = 4, kLeast = 24, kNearBytes = 4096;
  const auto n = static_cast<int64_t>(columns);
  const bool areNear = distanceOf(rowsOfA) * static_cast<int64_t>(sizeof(T)) <= kNearBytes;
  return n <= kFewColumns || areNear ? std::max(kOfColumn * n, kLeast) : kMostShortSums;
}

/// Whether so many rows of A, those of a part, are too far apart to be read in place by one group
/// of columns after the other: they compete for the same places of the first-level cache, or lie on
/// more pages than a processor has the addresses of at hand.
template <class T> bool areFarApart(const std::vector<int64_t> &rowsOfA) {
  constexpr int64_t kSets = 64, kMostInSet = 4, kMostPages = 32;
  constexpr int64_t kPage = 4096 / static_cast<int64_t>(sizeof(T));
  std::array<int64_t, kSets> inSet = {};
  int64_t most = 0, pages = 0, page = -1;
  const auto rows = std::span(rowsOfA);
  for (const int64_t row : rows.first(std::min<std::size_t>(rows.size(), kMostSums))) {
    most = std::max(most, ++inSet[static_cast<std::size_t>(row / kCacheLine<T> % kSets)]);
    pages += row / kPage == page ? 0 : 1;
    page = row / kPage;
  }
  return most > kMostInSet || pages > kMostPages;
}

/// By index, the first dim the fastest: where it lies.
std::vector<int64_t> offsets(std::initializer_list<BlockDim> dims, int64_t BlockDim::*step) {
  std::vector<int64_t> result = {0};
  for (const BlockDim &dim : dims) {
    const std::size_t before = result.size();
    result.reserve(before * static_cast<std::size_t>(dim.extent));
    for (int64_t i = 1; i < dim.extent; ++i)
      for (std::size_t j = 0; j < before; ++j)
        result.push_back(result[j] + i * dim.*step);
    if (dim.extent == 0)
      return {};
  }
  return result;
}

} // namespace

template <class T>
FetchingKernel<T>::FetchingKernel(std::initializer_list<BlockDim> m,
                                  std::initializer_list<BlockDim> n,
                                  std::initializer_list<BlockDim> k, const FetchingFormat &format)
    : dimsM(m), dimsN(n), dimsK(k), format(format), rowsOfA(offsets(k, &BlockDim::inA)),
      columnsOfC(offsets(n, &BlockDim::inC)),
      sumsOfLongTile(shortSums<T>(columnsOfC.size(), rowsOfA)),
      copiesRows(kMayCopyRows && areFarApart<T>(rowsOfA)) {
  areColumnsAligned = std::all_of(columnsOfC.begin(), columnsOfC.end(),
                                  [](int64_t column) { return column % simd::kLanes<T> == 0; });
  for (std::size_t j = 1; j < columnsOfC.size(); ++j)
    columnDistance = j == 1 || columnsOfC[j] - columnsOfC[j - 1] == columnDistance
                         ? columnsOfC[j] - columnsOfC[j - 1]
                         : -1;
  for (std::size_t j = 0; j < columnsOfC.size(); ++j)
    columnsOfScratch.push_back(static_cast<int64_t>(j) * format.scratchColumn);
}

template <class T> void FetchingKernel<T>::packB(T *target, const T *source) const noexcept {
  Counts extents;
  std::transform(dimsN.begin(), dimsN.end(), extents.begin(), std::mem_fn(&BlockDim::extent));
  BlockLoops sums;
  int64_t panel = tiles::fetchingPanel(static_cast<int64_t>(columnsOfC.size()));
  for (const BlockDim &dim : dimsK) {
    sums.add(dim.extent, panel, dim.inB);
    panel *= dim.extent;
  }
  if (panel == 0)
    return;
  const int64_t inB = dimsN.empty() ? 0 : dimsN.front().inB;
  const auto copyPart = [&](const PanelPart &part) {
    copyStrided<T>(target + part.panel * panel + part.at, source + part.from,
                   loopsOf(part, panel, inB, sums));
  };
  forEachPanelPart(dimsN, std::span(extents).first(dimsN.size()), &BlockDim::inB, kFetchingColumns,
                   copyPart);
}

template <class T>
typename FetchingKernel<T>::Runs FetchingKernel<T>::runsOf(const Block &block) const noexcept {
  static_assert(kMostRows<T> <= (Group::kMostPieces - 2) * tiles::kLeastRunToJoin);
  // One of so many vectors is worth it. None lies in three runs.
  constexpr int64_t kLanes = simd::kLanes<T>, kShare = 8;
  constexpr int64_t kLeastRun = std::max<int64_t>(kLanes, tiles::kLeastRunToJoin);
  Runs runs;
  for (; runs.dims < dimsM.size(); ++runs.dims) {
    const BlockDim &dim = dimsM[runs.dims];
    const bool isNext = dim.inA == runs.length && (isInScratch() || dim.inC == runs.length);
    if (block.counts[runs.dims] > 1 && !isNext)
      break;
    runs.length *= block.counts[runs.dims];
  }
  int64_t count = 1;
  for (std::size_t dim = runs.dims; dim < dimsM.size(); ++dim)
    count *= block.counts[dim];
  const auto columns = static_cast<int64_t>(columnsOfC.size());
  if (isInScratch() && runs.length >= kLeastRun && columns >= tiles::kLeastColumnsToJoin) {
    runs.joined = runs.length * count;
    const int64_t vectors = ceilDiv(runs.joined, kLanes);
    const int64_t saved = count * ceilDiv(runs.length, kLanes) - vectors;
    runs.areJoined = saved * kShare >= vectors;
  }
  return runs;
}

/// Short parts have as many elements of A at a time as those of the longest tiles; of rows that are
/// cut into several tiles, which follow each other, as many as of one. Groups of such tiles have
/// parts that fit into the second-level cache with those that are fetched meanwhile.
template <class T>
typename FetchingKernel<T>::Parts FetchingKernel<T>::partsOf(const Runs &runs) const noexcept {
  constexpr int64_t kGroupBytes = 96 << 10, kResultBytes = 256 << 10;
  const auto n = static_cast<int64_t>(columnsOfC.size()), k = static_cast<int64_t>(rowsOfA.size());
  const int64_t rows = std::min(runs.areJoined ? runs.joined : runs.length, kMostRows<T>);
  const bool areFew = n <= kFewColumns;
  const bool areRowsCut = !runs.areJoined && runs.length > kMostRows<T>;
  Parts parts;
  // Tiles that have parts of the same cache lines of A follow each other, and groups that have
  // parts of the same rows, if results are few.
  parts.areByRows = runs.areJoined || (areFew && isInScratch() && areRowsCut);
  parts.sums = parts.areByRows || areFew
                   ? std::min(kMostShortSums, sumsOfLongTile * kMostRows<T> / rows)
                   : kMostSums;
  // Results are rather written once, unless sums are long.
  if (areRowsCut && k > kMostShortSums) {
    const int64_t ofRow = ceilDiv(runs.length, kMostRows<T>);
    const int64_t most =
        std::clamp<int64_t>(kResultBytes / (n * kBytesOfTileRow), 1, Group::kMostTiles);
    parts.tiles = ceilDiv(ofRow, ceilDiv(ofRow, most));
    parts.sums = std::min(parts.sums, kGroupBytes / (parts.tiles * kBytesOfTileRow));
  }
  return parts;
}

template <class T>
template <class Body>
void FetchingKernel<T>::forEachBlock(std::initializer_list<int64_t> m, Body &&body) const noexcept {
  const int64_t *const ends = m.begin();
  Counts at = {};
  Block block;
  for (std::size_t dim = 0; dim < dimsM.size();) {
    for (std::size_t d = 0; d < dimsM.size(); ++d)
      block.counts[d] = isInScratch() ? std::min(dimsM[d].count, ends[d] - at[d]) : ends[d];
    body(block);
    for (dim = 0; dim < dimsM.size(); ++dim) {
      const int64_t step = block.counts[dim];
      at[dim] += step;
      block.toA += step * dimsM[dim].inA;
      block.toC += step * dimsM[dim].inC;
      if (at[dim] < ends[dim])
        break;
      block.toA -= at[dim] * dimsM[dim].inA;
      block.toC -= at[dim] * dimsM[dim].inC;
      at[dim] = 0;
    }
  }
}

template <class T>
template <class Body>
void FetchingKernel<T>::forEachGroup(const Block &block, const Runs &runs, int64_t mostTiles,
                                     Groups &groups, Body &&body) const noexcept {
  const int64_t rows = runs.areJoined ? runs.joined : runs.length;
  const int64_t even = ceilDiv(rows, ceilDiv(rows, kMostRows<T>));
  const int64_t length = std::min(roundUp(even, simd::kLanes<T>), kMostRows<T>);
  std::array<Loop, LoopNest::kMaxLoops> outer;
  for (std::size_t dim = runs.dims; dim < dimsM.size(); ++dim)
    outer[dim - runs.dims] = {block.counts[dim], dimsM[dim].inC, dimsM[dim].inA};
  int64_t index = 0;
  Group *group = nullptr;
  Tile tile;
  const auto finishTile = [&] {
    group->tiles[static_cast<std::size_t>(group->tileCount++)] = tile;
    index += tile.rows;
    tile.rows = 0;
  };
  const auto finishGroup = [&] {
    body(*group);
    group = nullptr;
  };
  forEachStep({outer.data(), dimsM.size() - runs.dims}, [&](int64_t toC, int64_t toA) {
    for (int64_t row = 0; row < runs.length;) {
      const int64_t count = std::min(length - tile.rows, runs.length - row);
      if (group == nullptr)
        group = &groups.begin();
      if (tile.rows == 0) {
        tile.index = index;
        tile.toC = block.toC + toC + row;
        tile.toA = block.toA + toA + row;
      }
      group->addPiece({block.toA + toA + row, count});
      tile.rows += count;
      row += count;
      if (tile.rows < length && (runs.areJoined || row < runs.length))
        continue;
      finishTile();
      if (runs.areJoined || row == runs.length || group->tileCount == mostTiles)
        finishGroup();
    }
  });
  if (tile.rows > 0) {
    finishTile();
    finishGroup();
  }
}

template <class T>
void FetchingKernel<T>::operator()(const T *a, const T *b, T *c, T *scratch,
                                   std::initializer_list<int64_t> m,
                                   bool accumulate) const noexcept {
  const bool isEmpty = std::find(m.begin(), m.end(), 0) != m.end();
  if (isEmpty || rowsOfA.empty() || columnsOfC.empty())
    return;
  alignas(64) T buffer[kMostRows<T> * kMostBuffered];
  alignas(64) T rows[kMayCopyRows ? kVectorsOfBlock * simd::kLanes<T> * kMostSums : 1];
  const Operands operands{a, b, c, scratch, buffer, copiesRows ? rows : nullptr, accumulate};
  // One behind: what is computed fetches what comes after it, in the next block, too.
  Part last;
  Block lastBlock;
  Groups groups;
  forEachBlock(m, [&](const Block &block) {
    bool isFirst = true;
    const auto take = [&](const Group &group, int64_t firstK, int64_t k) {
      const Part part{&group, firstK, k, last.group != nullptr};
      if (last.group)
        multiply(operands, last, part);
      if (isFirst) {
        if (isInScratch() && last.group)
          copyScratch(operands, lastBlock, Copy::ToC);
        if (isInScratch() && accumulate)
          copyScratch(operands, block, Copy::FromC);
        lastBlock = block;
        isFirst = false;
      }
      last = part;
    };
    const Runs runs = runsOf(block);
    const Parts parts = partsOf(runs);
    const EvenPieces sums(static_cast<int64_t>(rowsOfA.size()), parts.sums);
    if (parts.areByRows)
      sums.forEach([&](int64_t firstK, int64_t k) {
        forEachGroup(block, runs, parts.tiles, groups,
                     [&](const Group &group) { take(group, firstK, k); });
      });
    else
      forEachGroup(block, runs, parts.tiles, groups, [&](const Group &group) {
        sums.forEach([&](int64_t firstK, int64_t k) { take(group, firstK, k); });
      });
  });
  multiply(operands, last, {});
  if (isInScratch())
    copyScratch(operands, lastBlock, Copy::ToC);
  if (format.pastCaches)
    simd::endStoresPastCaches();
}

template <class T>
typename FetchingKernel<T>::Place FetchingKernel<T>::placeOf(const T *c, const Part &part,
                                                             const Tile &tile,
                                                             bool accumulate) const noexcept {
  if (isInScratch())
    return Place::Scratch;
  if (!format.pastCaches || accumulate)
    return Place::C;
  const bool isComplete = part.k == static_cast<int64_t>(rowsOfA.size());
  const int64_t rows = tile.rows;
  const bool isAligned = areColumnsAligned && rows % simd::kLanes<T> == 0 &&
                         reinterpret_cast<std::uintptr_t>(c + tile.toC) % simd::kVectorBytes == 0;
  if (isAligned && isComplete)
    return Place::CPastCaches;
  // Parts of cache lines go past the caches slowly: at the ends of one row, not of each column.
  const bool isOneRow = columnsOfC.size() == 1 || columnDistance == rows;
  // There is one, for all parts of a tile.
  const bool fitsBuffer = columnsOfC.size() <= kMostBuffered && part.group->tileCount == 1;
  return fitsBuffer && (isAligned || isOneRow) ? Place::Buffer : Place::C;
}

/// Where the vectors of a tile lie: at most the last one is not whole.
template <class T>
void FetchingKernel<T>::findVectors(const Group &group, VectorInPieces *vectors) const noexcept {
  constexpr int64_t kLanes = simd::kLanes<T>;
  int64_t inPiece = 0;
  const PieceOfRows *piece = group.pieces.data();
  const Tile &tile = group.tiles[0];
  for (int64_t row = 0; row < tile.rows; row += kLanes) {
    VectorInPieces &vector = *vectors++;
    vector.toA = vector.others = piece->toA + inPiece;
    const int64_t left = piece->count - inPiece, lanes = std::min(kLanes, tile.rows - row);
    vector.count = static_cast<int>(std::min(left, lanes));
    inPiece += lanes;
    if (lanes < left)
      continue;
    inPiece -= piece->count;
    ++piece;
    if (left < lanes)
      vector.others = piece->toA - left;
  }
}

template <class T>
void FetchingKernel<T>::multiply(const Operands &operands, const Part &part,
                                 const Part &next) const noexcept {
  const Group &group = *part.group;
  RowFetcher<T> fetcher;
  if (next.group)
    fetcher = {{operands.a, rowsOfA.data() + next.firstK, next.k, next.group->pieces.data(),
                next.group->pieceCount},
               group.tileCount};
  for (int64_t i = 0; i < group.tileCount; ++i) {
    const auto tile = static_cast<std::size_t>(i);
    const bool isLast = i + 1 == group.tileCount;
    // What comes next, and is fetched if it is written to C for the first time.
    const Part &partOfNext = isLast ? next : part;
    const Tile *toWrite = nullptr;
    if (partOfNext.group && partOfNext.firstK == 0)
      toWrite = &partOfNext.group->tiles[isLast ? 0 : tile + 1];
    if (toWrite && placeOf(operands.c, partOfNext, *toWrite, operands.accumulate) != Place::C)
      toWrite = nullptr;
    multiplyTile(operands, part, group.tiles[tile], toWrite, fetcher);
  }
}

template <class T>
void FetchingKernel<T>::multiplyTile(const Operands &operands, const Part &part, const Tile &tile,
                                     const Tile *toWrite, RowFetcher<T> &fetcher) const noexcept {
  const auto k = static_cast<int64_t>(rowsOfA.size());
  const Place place = placeOf(operands.c, part, tile, operands.accumulate);
  FetchingTile<T> work;
  work.m = tile.rows;
  work.k = part.k;
  work.a = operands.a;
  work.rowsOfA = rowsOfA.data() + part.firstK;
  VectorInPieces vectors[kMostRows<T> / simd::kLanes<T>];
  if (part.group->pieceCount > 1) {
    findVectors(*part.group, vectors);
    work.vectors = vectors;
  } else {
    work.a += tile.toA;
  }
  work.n = static_cast<int64_t>(columnsOfC.size());
  work.rowOfPanel = tiles::fetchingPanel(work.n);
  work.b = operands.b + part.firstK * work.rowOfPanel;
  work.panel = k * work.rowOfPanel;
  work.result = place == Place::CPastCaches              ? FetchingResult::PastCaches
                : operands.accumulate || part.firstK > 0 ? FetchingResult::Accumulate
                                                         : FetchingResult::Overwrite;
  work.copy = operands.rows;
  work.isFetched = part.isFetched;
  work.fetcher = &fetcher;
  if (toWrite)
    fetcher.addColumns(operands.c + toWrite->toC, columnsOfC.data(), work.n, toWrite->rows);
  std::array<int64_t, kMostBuffered> columnsOfBuffer;
  switch (place) {
  case Place::C:
  case Place::CPastCaches:
    work.c = operands.c + tile.toC;
    work.columnsOfC = columnsOfC.data();
    break;
  case Place::Buffer:
    for (int64_t j = 0; j < work.n; ++j)
      columnsOfBuffer[static_cast<std::size_t>(j)] = j * tile.rows;
    work.c = operands.buffer;
    work.columnsOfC = columnsOfBuffer.data();
    break;
  case Place::Scratch:
    work.c = operands.scratch + tile.index;
    work.columnsOfC = columnsOfScratch.data();
    break;
  }
  multiplyFetching(work);
  if (place == Place::Buffer && part.firstK + part.k == k)
    writeTile(operands.c + tile.toC, operands.buffer, tile.rows);
}

/// Writes a tile whose columns follow each other past the caches, columns that do so in C, too, as
/// one.
template <class T>
void FetchingKernel<T>::writeTile(T *c, const T *tile, int64_t rows) const noexcept {
  const auto n = static_cast<int64_t>(columnsOfC.size());
  if (columnDistance == rows)
    return writePastCaches(c, tile, n * rows);
  for (int64_t j = 0; j < n; ++j)
    writePastCaches(c + columnsOfC[static_cast<std::size_t>(j)], tile + j * rows, rows);
}

template <class T>
void FetchingKernel<T>::copyScratch(const Operands &operands, const Block &block,
                                    Copy direction) const noexcept {
  BlockLoops loops;
  const auto add = [&](int64_t extent, int64_t inC, int64_t inScratch) {
    if (direction == Copy::ToC)
      loops.add(extent, inC, inScratch);
    else
      loops.add(extent, inScratch, inC);
  };
  int64_t step = 1;
  for (std::size_t d = 0; d < dimsM.size(); step *= block.counts[d++])
    add(block.counts[d], dimsM[d].inC, step);
  step = format.scratchColumn;
  for (const BlockDim &dim : dimsN) {
    add(dim.extent, dim.inC, step);
    step *= dim.extent;
  }
  T *const c = operands.c + block.toC;
  if (direction == Copy::FromC)
    copyStrided<T>(operands.scratch, c, loops);
  else if (format.pastCaches)
    copyPastCaches<T>(c, operands.scratch, loops);
  else
    copyStrided<T>(c, operands.scratch, loops);
}

template class FetchingKernel<float>;
template class FetchingKernel<double>;

} // namespace einsumc
