//===- BlockKernel.cpp - the product of two blocks of tensors ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/BlockKernel.h"

#include "BlockLoops.h"
#include "CopyLoops.h"
#include "EvenPieces.h"
#include "JoinedColumns.h"
#include "PastCaches.h"
#include "SimdVector.h"
#include "TileColumns.h"
#include "WholeLines.h"

#include "einsumc/BlockTiles.h"
#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>

namespace einsumc {

namespace {

using namespace tiles;

/// What rows should be multiples of: the blocks that kernels sum in registers, which are whole
/// cache lines, too.
template <class T> constexpr int64_t kStepM = kPanelVectors * simd::kLanes<T>;

/// Elements of columns one after the other that are worth bringing together: lines of them. Only
/// longer ones are worth panels of their own (kLeastPieceBytes).
template <class T> constexpr int64_t kLeastTogether = 2 * kCacheLine<T>;

/// Tiles of one block of columns that follow each other for every panel of A: their columns of B
/// stay in the second-level cache beside it.
constexpr std::size_t kBlocksTogether = 4;

} // namespace

template <class T>
BlockKernel<T>::BlockKernel(std::initializer_list<BlockDim> m, std::initializer_list<BlockDim> n,
                            std::initializer_list<BlockDim> k, const BlockFormat &given)
    : sideM(m), sideN(n), sideK(k), format(given) {
  if (format.bPanelDims == 0)
    format.bPanelDims = sideN.dims.size();
  if (sideM.elements(0) == 0 || sideN.elements(0) == 0 || sideK.elements(0) == 0)
    return; // Nothing to compute on this rank.
  isEmpty = false;
  if (isInScratch())
    placeInScratch();
  result = chooseResult();
  for (std::size_t variant = 0; variant < sideK.variants.size(); ++variant)
    sideK.variants[variant] = {{0, 0, sideK.indexOfSize(sideK.elements(variant)), {}, 1, {}}};
  if (format.wholeLines && format.pastCaches && !format.bInPanels && !isInScratch() &&
      sideM.strideInC() == 1)
    lines = placeInLines();
  if (lines && lines->haveAll)
    return; // There are no tiles.
  const bool inRuns = result != Result::Buffered;
  // Panels come from the second-level cache as fast as they are used; rows of a tensor in place
  // do not, so a tile of them has to fit the first-level cache.
  const int64_t rows = kBytes / static_cast<int64_t>(sizeof(T)) / sideK.elements(0);
  const bool isPacked = format.panelDims > 0 || format.panelRows > 0;
  const bool areColumnsTogether = result == Result::Buffered && format.pastCaches &&
                                  !format.resultInScratch && sideM.strideInC() == 1 &&
                                  sideN.strideInC() == sideM.runLength(0) &&
                                  sideM.runLength(0) * sideN.runLength(0) >= kLeastTogether<T>;
  if (result == Result::Buffered && !areColumnsTogether)
    spread = chooseSpread();
  const int64_t longest = isPacked ? (areColumnsTogether ? kMostTogether<T> : kStepM<T>)
                                   : std::clamp(rows / kStepM<T> * kStepM<T>, kStepM<T>, kMostM);
  sideM.cut({.dims = format.panelDims,
             .count = format.panelCount,
             .rows = format.panelRows,
             .stride = format.aPanel,
             .longest = longest,
             .multiple = simd::kLanes<T>,
             .inRuns = inRuns,
             .listsOffsets = spread != Spread::Runs});
  // Columns that are next to each other in C are written together: tiles have all of them, or as
  // many times as many as go.
  const int64_t run =
      areColumnsTogether && mayTilesEndRuns() ? std::min(sideN.runLength(0), kMostN) : 1;
  const bool isByBlocks = shouldGoByBlocks();
  tilesTogether = isByBlocks ? kBlocksTogether : 1;
  Panels columns = {.longest = isByBlocks ? kPanelColumns : kMostN / run * run,
                    .multiple = isByBlocks                ? 1
                                : run > 1 && run < kMostN ? run
                                                          : kStepN,
                    .inRuns = inRuns || run == kMostN,
                    .listsOffsets = spread != Spread::Runs};
  if (format.bInPanels && format.bPanelDims < sideN.dims.size()) {
    columns.dims = format.bPanelDims;
    columns.count = sideN.dims[columns.dims - 1].count;
    columns.stride = sideN.panelsOf(kPanelColumns, columns.dims) * kPanelColumns;
  }
  sideN.cut(columns);
  if (areColumnsTogether && !format.bInPanels &&
      mayJoinColumns(sideM.runLength(0), simd::kLanes<T>, sizeof(T)))
    sideN.joinColumns(simd::kLanes<T>);
  fetchKernels();
}

/// Gives the dims the distances that they have in scratch: in the order of C, or of tiles, as sums
/// and batches (kLongBatchBytes) are.
template <class T> void BlockKernel<T>::placeInScratch() {
  int64_t alongBatch = 1; // Neighbours in C.
  for (const BlockDim &dim : format.batch)
    alongBatch *= dim.inC == alongBatch ? dim.count : 1;
  for (Side *const side : {&sideM, &sideN})
    for (const BlockDim &dim : side->dims)
      side->inTensor.push_back(dim.inC);
  if (format.scratchColumn > 0 || alongBatch * static_cast<int64_t>(sizeof(T)) >= kLongBatchBytes) {
    sideM.apart = 1;
    sideN.apart = format.scratchColumn > 0 ? format.scratchColumn : sideM.elements(0);
    productInScratch = sideN.apart * sideN.elements(0);
    return;
  }
  std::vector<BlockDim *> order;
  for (Side *const side : {&sideM, &sideN})
    for (BlockDim &dim : side->dims)
      order.push_back(&dim);
  std::sort(order.begin(), order.end(),
            [](const BlockDim *x, const BlockDim *y) { return x->inC < y->inC; });
  productInScratch = 1;
  for (BlockDim *const dim : order) {
    dim->inC = productInScratch;
    productInScratch *= dim->count;
  }
}

template <class T> struct BlockKernel<T>::Lines {
  /// By the variant of m: none where tiles compute it.
  std::vector<std::vector<RowsInLines>> runs;
  /// By the length of runs, and the variant of n.
  std::map<int64_t, std::vector<ColumnsInLines>> columns;
  bool haveAll = true; ///< no variant is left to tiles
};

template <class T>
std::shared_ptr<const typename BlockKernel<T>::Lines> BlockKernel<T>::placeInLines() const {
  Lines result;
  const auto isInLines = [&](int64_t rows) {
    return rows >= simd::kLanes<T> && sideK.elements(0) <= kMostSumsInLines;
  };
  for (std::size_t variant = 0; variant < sideM.variants.size(); ++variant) {
    std::vector<RowsInLines> &runs = result.runs.emplace_back();
    const int64_t rows = sideM.runLength(variant);
    result.haveAll = result.haveAll && isInLines(rows);
    if (!isInLines(rows))
      continue;
    for (int64_t row = 0; row < sideM.elements(variant); row += rows)
      runs.push_back({row, sideM.offsetInC(variant, row)});
    std::vector<ColumnsInLines> &columns = result.columns[rows];
    for (std::size_t variantN = columns.size(); variantN < sideN.variants.size(); ++variantN) {
      std::vector<int64_t> begins;
      for (int64_t column = 0; column < sideN.elements(variantN); ++column)
        begins.push_back(sideN.offsetInC(variantN, column));
      columns.emplace_back(begins, rows, simd::kLanes<T>, kColumnsInLines<T>);
    }
  }
  return std::make_shared<const Lines>(std::move(result));
}

/// A tile begins with a panel of B.
template <class T> bool BlockKernel<T>::mayTilesEndRuns() const {
  return !format.bInPanels || sideN.doRunsEndPanels(kPanelColumns, format.bPanelDims);
}

template <class T> typename BlockKernel<T>::Result BlockKernel<T>::chooseResult() const {
  if (format.scratchColumn > 0)
    return Result::Direct;
  if (!mayTilesEndRuns() || format.panelRows > 0 || sideM.strideInC() != 1 ||
      !sideM.hasLongRuns(kLeastRunVectorsM * simd::kLanes<T>) || !sideN.hasLongRuns(kLeastRunN))
    return Result::Buffered;
  // Stores past the caches must be of whole, aligned vectors.
  const auto isAligned = [](const Side &side, bool isFirstUnit) {
    return std::all_of(side.dims.begin() + (isFirstUnit ? 1 : 0), side.dims.end(),
                       [](const BlockDim &dim) { return dim.inC % simd::kLanes<T> == 0; });
  };
  return format.pastCaches && !format.resultInScratch && !sideM.dims.empty() &&
                 isAligned(sideM, true) && isAligned(sideN, false)
             ? Result::PastCaches
             : Result::Direct;
}

template <class T> typename BlockKernel<T>::Spread BlockKernel<T>::chooseSpread() const {
  // So few elements of a run along both sides are not worth a call.
  constexpr int64_t kFewInPieces = 24, kFewElements = 32;
  constexpr int64_t kLeastInPackets = kPacket<T> / 2; // Fewer columns fill too little of these.
  const int64_t rows = sideM.runLength(0), columns = sideN.runLength(0);
  if (sideM.strideInC() == 1)
    return rows <= kMostPiece && rows * columns <= kFewInPieces ? Spread::Pieces : Spread::Runs;
  if (sideN.strideInC() == 1 && columns >= kLeastInPackets)
    return Spread::Packets;
  return rows * columns <= kFewElements ? Spread::Pieces : Spread::Runs;
}

/// Whether tiles of long sums that are added to C have the columns of one block in registers, so
/// that each fetches the next one's part of C: a processor has few places for lines on their way.
template <class T> bool BlockKernel<T>::shouldGoByBlocks() const {
  constexpr int64_t kLongSums = 512; // A call takes next to nothing of their time.
  return result == Result::Direct && format.accumulates && !isInScratch() && !format.bInPanels &&
         sideK.elements(0) >= kLongSums && sideM.elements(0) >= kStepM<T>;
}

template <class T> void BlockKernel<T>::fetchKernels() {
  TileShape shape;
  shape.aM = 1;
  shape.aK = format.aK;
  shape.bK = 1;
  shape.bN = format.bN;
  shape.bInPanels = format.bInPanels;
  shape.bFetched = format.bFetched;
  shape.cM = 1;
  shape.cN = result == Result::Direct ? sideN.strideInC() : kBufferColumn<T>;
  // What rows of a panel are padded with adds rows to the buffer that nobody reads.
  const bool isPacked = format.panelDims > 0 || format.panelRows > 0;
  const bool hasWholeVectors =
      isPacked && result == Result::Buffered && format.aK % simd::kLanes<T> == 0;
  for (const int64_t m : sideM.sizes)
    for (const int64_t n : sideN.sizes)
      for (const int64_t k : sideK.sizes)
        for (const bool accumulate : {false, true}) {
          shape.m = hasWholeVectors ? roundUp(m, simd::kLanes<T>) : m;
          shape.n = n;
          shape.k = k;
          shape.accumulate = accumulate;
          // What goes through a buffer is added to C after the kernel.
          const bool occurs = !accumulate || (format.accumulates && result == Result::Direct);
          kernels.push_back(occurs ? TileKernel<T>(shape) : TileKernel<T>());
        }
}

template <class T>
const TileKernel<T> &BlockKernel<T>::kernel(const Tile &m, const Tile &n, const Tile &k,
                                            bool accumulate) const noexcept {
  const std::size_t index = (m.size * sideN.sizes.size() + n.size) * sideK.sizes.size() + k.size;
  return kernels[2 * index + (accumulate ? 1 : 0)];
}

//===- The product ----------------------------------------------------------------------------===//

template <class T>
void BlockKernel<T>::operator()(const T *a, const T *b, T *c, T *scratch, Counts m, Counts n,
                                Counts k, bool accumulate, Counts batch) const noexcept {
  if (isEmpty)
    return;
  const std::size_t variantM = sideM.variantOf(m), variantN = sideN.variantOf(n);
  const Tile &tileK = sideK.variants[sideK.variantOf(k)].front();
  std::array<Loop, LoopNest::kMaxLoops> products; // To indices in scratch, from those in C.
  int64_t step = 1;
  for (std::size_t d = 0; d < batch.size(); step *= batch.begin()[d++])
    products[d] = {batch.begin()[d], step, format.batch[d].inC};
  forEachStep({products.data(), batch.size()}, [&](int64_t i, int64_t inC) {
    T *const product = isInScratch() ? scratch + i * productInScratch : c + inC;
    multiply(a + i * format.aBatch, b + i * format.bBatch, product, variantM, variantN, tileK,
             accumulate && !format.resultInScratch);
  });
  if (format.resultInScratch)
    copySums(c, scratch, m, n, accumulate, batch);
  if (format.pastCaches && format.scratchColumn == 0)
    simd::endStoresPastCaches();
}

template <class T>
void BlockKernel<T>::multiply(const T *a, const T *b, T *c, std::size_t variantM,
                              std::size_t variantN, const Tile &tileK,
                              bool accumulate) const noexcept {
  if (lines && multiplyLines(a, b, c, variantM, variantN, tileK))
    return;
  const Tiles &tilesM = sideM.variants[variantM], &tilesN = sideN.variants[variantN];
  const int64_t apartB = format.bInPanels ? sideK.sizes[tileK.size] : format.bN;
  const auto isJoined = [&](const Tile &tileM) {
    return !sideN.joinedRuns.empty() && multiplyJoined(a + tileM.at, b, c, tileM, variantN, tileK);
  };
  if (isJoined(tilesM.front())) {
    for (std::size_t i = 1; i < tilesM.size(); ++i)
      if (!isJoined(tilesM[i]))
        for (const Tile &tileN : tilesN)
          multiplyThroughBuffer(a + tilesM[i].at, b + tileN.at * apartB, c, tilesM[i], tileN, tileK,
                                false);
    return;
  }
  for (std::size_t from = 0; from < tilesN.size(); from += tilesTogether) {
    const std::size_t end = std::min(from + tilesTogether, tilesN.size());
    for (std::size_t i = 0; i < tilesM.size(); ++i)
      for (std::size_t j = from; j < end; ++j) {
        const Tile &tileM = tilesM[i], &tileN = tilesN[j];
        const T *const tileA = a + tileM.at;
        const T *const tileB = b + tileN.at * apartB;
        T *const tileC = c + tileM.toC + tileN.toC;
        switch (result) {
        case Result::Direct:
          if (j + 1 < end)
            prefetch(c, tileM, tilesN[j + 1]);
          else if (i + 1 < tilesM.size())
            prefetch(c, tilesM[i + 1], tilesN[from]);
          else if (end < tilesN.size())
            prefetch(c, tilesM[0], tilesN[end]);
          kernel(tileM, tileN, tileK, accumulate)(tileA, tileB, tileC);
          break;
        case Result::Buffered:
          multiplyThroughBuffer(tileA, tileB, c, tileM, tileN, tileK, accumulate);
          break;
        case Result::PastCaches:
          multiplyPastCaches(tileA, tileB, tileC, tileM, tileN, tileK);
          break;
        }
      }
  }
}

/// Tells kernels for columns of C where packed blocks lie.
template <class T>
void BlockKernel<T>::setBlocks(PackedBlocks<T> &blocks, const T *a, const T *b, T *c,
                               const Tile &k) const noexcept {
  blocks.k = sideK.sizes[k.size];
  blocks.a = a;
  blocks.aK = format.aK;
  blocks.b = b;
  blocks.bN = format.bN;
  blocks.c = c;
}

/// Computes a block by whole lines of C. Returns whether it could.
/// \pre C is not accumulated into
template <class T>
bool BlockKernel<T>::multiplyLines(const T *a, const T *b, T *c, std::size_t variantM,
                                   std::size_t variantN, const Tile &k) const noexcept {
  const std::vector<RowsInLines> &runs = lines->runs[variantM];
  if (runs.empty())
    return false;
  ProductInLines<T> work;
  setBlocks(work, a, b, c, k);
  work.rows = sideM.runLength(variantM);
  work.runs = runs;
  multiplyInLines(work, lines->columns.at(work.rows)[variantN]);
  return true;
}

/// Computes whole columns by vectors that go on from one to the next, for all of n. Returns whether
/// it could: not where runs of C begin or end in the midst of vectors, nor where that is not worth
/// it.
/// \pre C is not accumulated into
template <class T>
bool BlockKernel<T>::multiplyJoined(const T *a, const T *b, T *c, const Tile &m,
                                    std::size_t variantN, const Tile &k) const noexcept {
  const std::vector<int64_t> &runs = sideN.joinedRuns[variantN];
  JoinedColumns<T> work;
  setBlocks(work, a, b, c, k);
  work.rows = sideN.strideInC();
  work.columns = sideN.runLength(variantN);
  work.n = runs;
  if (m.runs.size() > work.m.size() || !beginsLine(c))
    return false;
  for (const Run &run : m.runs) {
    if (run.length != work.rows || run.toC % simd::kLanes<T> != 0)
      return false;
    work.m[work.mCount++] = run.toC;
  }
  return multiplyJoinedColumns(work);
}

/// \pre C is not accumulated into
template <class T>
void BlockKernel<T>::multiplyPastCaches(const T *a, const T *b, T *c, const Tile &m, const Tile &n,
                                        const Tile &k) const noexcept {
  constexpr int64_t kLanes = simd::kLanes<T>;
  alignas(64) T buffer[kBufferElements<T>];
  kernel(m, n, k, false)(a, b, buffer);
  const int64_t rows = sideM.sizes[m.size];
  const int64_t columns = sideN.sizes[n.size];
  const bool isAligned = reinterpret_cast<std::uintptr_t>(c) % simd::kVectorBytes == 0;
  const int64_t whole = isAligned ? rows / kLanes * kLanes : 0;
  for (int64_t column = 0; column < columns; ++column) {
    const T *const from = buffer + column * kBufferColumn<T>;
    T *const to = c + column * sideN.strideInC();
    for (int64_t row = 0; row < whole; row += kLanes)
      simd::storePastCaches(to + row, simd::load(from + row));
    std::copy(from + whole, from + rows, to + whole);
  }
}

/// Fetches a tile of a block of C while the one before it is computed: kernels wait for their first
/// loads.
template <class T>
void BlockKernel<T>::prefetch(const T *c, const Tile &m, const Tile &n) const noexcept {
  if (!format.bInPanels) // Their kernels fetch C themselves, block by block.
    fetchRows(c + m.toC + n.toC, sideN.strideInC(), sideM.sizes[m.size], sideN.sizes[n.size]);
}

template <class T>
void BlockKernel<T>::multiplyThroughBuffer(const T *a, const T *b, T *c, const Tile &m,
                                           const Tile &n, const Tile &k,
                                           bool accumulate) const noexcept {
  alignas(64) T buffer[kBufferElements<T>];
  const int64_t strideM = sideM.strideInC();
  const int64_t strideN = sideN.strideInC();
  const auto forEachRun = [&](auto &&bring) {
    for (const Run &columns : n.runs)
      for (const Run &rows : m.runs)
        bring(c + columns.toC + rows.toC, buffer + columns.at * kBufferColumn<T> + rows.at,
              rows.length, columns.length);
  };
  // By vectors, or else element by element.
  const auto isLong = [&](int64_t rows) { return strideM == 1 && rows >= simd::kLanes<T>; };
  const bool isPastCaches = format.pastCaches && !format.resultInScratch && strideM == 1;
  if (accumulate)
    forEachRun([&](T *to, const T *, int64_t rows, int64_t columns) {
      if (isLong(rows))
        fetchRows(to, strideN, rows, columns);
    });
  else if (isPastCaches && spread == Spread::Runs)
    forEachRun([&](T *to, const T *, int64_t rows, int64_t columns) {
      if (rows != strideN)
        fetchForRuns(to, strideN, rows, columns);
    });
  kernel(m, n, k, false)(a, b, buffer);
  const bool isInPackets = spread == Spread::Packets && std::ssize(m.offsets) >= kPacket<T>;
  if (isInPackets && !accumulate) {
    for (const Run &columns : n.runs)
      spreadPackets<T>(c + columns.toC, m.offsets, buffer + columns.at * kBufferColumn<T>,
                       columns.length);
    return;
  }
  if (spread != Spread::Runs && !isInPackets && !(accumulate && isLong(m.longestRun))) {
    const int64_t piece = strideM == 1 ? m.longestRun : 1;
    return spreadPieces<T>(c, n.offsets, buffer, {m.offsets, piece, m.runs.front().length % piece},
                           accumulate);
  }
  forEachRun([&](T *to, const T *from, int64_t rows, int64_t columns) {
    if (strideM != 1 && strideN == 1)
      transposeColumns(to, strideM, from, rows, columns, accumulate);
    else if (strideM != 1 || (accumulate && !isLong(rows)))
      for (int64_t column = 0; column < columns; ++column)
        scatterRows(to + column * strideN, strideM, from + column * kBufferColumn<T>, rows,
                    accumulate);
    else if (accumulate)
      addRuns(to, strideN, from, rows, columns);
    else if (isPastCaches && rows == strideN)
      streamColumns(to, from, rows, columns);
    else if (isPastCaches)
      writeRuns(to, strideN, from, rows, columns);
    else
      copyRuns(to, strideN, from, rows, columns);
  });
}

template <class T>
void BlockKernel<T>::copySums(T *c, const T *scratch, Counts m, Counts n, bool accumulate,
                              Counts batch) const noexcept {
  if (isEmpty)
    return;
  BlockLoops loops;
  int64_t product = productInScratch;
  for (std::size_t d = 0; d < batch.size(); product *= batch.begin()[d++])
    loops.add(batch.begin()[d], format.batch[d].inC, product);
  const auto addSide = [&](const Side &side, Counts counts) {
    int64_t apart = side.apart;
    for (std::size_t d = 0; d < counts.size(); apart *= counts.begin()[d++])
      loops.add(counts.begin()[d], side.inTensor[d], apart > 0 ? apart : side.dims[d].inC);
  };
  addSide(sideM, m);
  addSide(sideN, n);
  if (accumulate)
    addStrided<T>(c, scratch, loops);
  else if (format.pastCaches)
    copyPastCaches<T>(c, scratch, loops);
  else
    copyStrided<T>(c, scratch, loops);
}

template class BlockKernel<float>;
template class BlockKernel<double>;

} // namespace einsumc
