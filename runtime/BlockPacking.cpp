//===- BlockPacking.cpp - how blocks of A and B are packed ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/BlockKernel.h"

#include "BlockLoops.h"
#include "CopyLoops.h"
#include "NarrowTranspose.h"
#include "PanelParts.h"

#include "einsumc/BlockTiles.h"
#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace einsumc {

namespace {

using tiles::kPanelColumns;

/// Adds the loops that copy indices of dims, the first the fastest, from a tensor to where they lie
/// \p apart elements from each other in scratch. Returns how far apart those of further dims do.
int64_t addDims(BlockLoops &loops, std::span<const BlockDim> dims, std::span<const int64_t> counts,
                int64_t BlockDim::*inTensor, int64_t apart) {
  for (std::size_t d = 0; d < counts.size(); apart *= counts[d++])
    loops.add(counts[d], apart, dims[d].*inTensor);
  return apart;
}

template <class T>
void copyOperand(bool isFromMemory, T *target, const T *source, const BlockLoops &loops) noexcept {
  if (isFromMemory)
    copyFromMemory<T>(target, source, loops);
  else
    copyStrided<T>(target, source, loops);
}

} // namespace

template <class T>
void BlockKernel<T>::packA(T *target, const T *source, Counts m, Counts k,
                           Counts batch) const noexcept {
  if (isEmpty)
    return;
  if (format.panelRows > 0)
    return packAcross(target, source, m, k, batch);
  // Whole panels, then those with the rest of the dim that is cut.
  const std::size_t cutDim = format.panelDims - 1;
  const std::span dims(sideM.dims);
  const int64_t indices = m.begin()[cutDim], inA = dims[cutDim].inA;
  const int64_t inPanel =
      sideM.indicesOfPanel(format.panelDims, format.panelCount, sideM.variantOf(m));
  const int64_t whole = indices / inPanel, rest = indices % inPanel;
  const auto copyPart = [&](int64_t count, int64_t panels, int64_t firstPanel) {
    BlockLoops loops;
    addDims(loops, format.batch, batch, &BlockDim::inA, format.aBatch);
    const int64_t to = addDims(loops, dims, {m.begin(), cutDim}, &BlockDim::inA, 1);
    loops.add(count, to, inA);
    loops.add(panels, format.aPanel, inPanel * inA);
    addDims(loops, dims.subspan(cutDim + 1), {m.begin() + cutDim + 1, m.end()}, &BlockDim::inA,
            format.aPanel * (whole + (rest > 0 ? 1 : 0)));
    addDims(loops, sideK.dims, k, &BlockDim::inA, format.aK);
    copyOperand<T>(format.aFromMemory, target + firstPanel * format.aPanel,
                   source + firstPanel * inPanel * inA, loops);
  };
  if (whole > 0)
    copyPart(inPanel, whole, 0);
  if (rest > 0)
    copyPart(rest, 1, whole);
}

template <class T>
void BlockKernel<T>::packAcross(T *target, const T *source, Counts m, Counts k,
                                Counts batch) const noexcept {
  BlockLoops others;
  addDims(others, format.batch, batch, &BlockDim::inA, format.aBatch);
  addDims(others, sideK.dims, k, &BlockDim::inA, format.aK);
  const int64_t inA = sideM.dims.front().inA;
  forEachPanelPart(sideM.dims, m, &BlockDim::inA, format.panelRows, [&](const PanelPart &part) {
    copyOperand<T>(format.aFromMemory, target + part.panel * format.aPanel + part.at,
                   source + part.from, loopsOf(part, format.aPanel, inA, others));
  });
}

template <class T>
void BlockKernel<T>::packB(T *target, const T *source, Counts k, Counts n,
                           Counts batch) const noexcept {
  if (format.bInPanels)
    return packColumnPanels(target, source, k, n, batch);
  BlockLoops loops;
  addDims(loops, format.batch, batch, &BlockDim::inB, format.bBatch);
  addDims(loops, sideK.dims, k, &BlockDim::inB, 1);
  addDims(loops, sideN.dims, n, &BlockDim::inB, format.bN);
  copyOperand<T>(format.bFromMemory, target, source, loops);
}

/// Columns that are contiguous along the first dim of k are transposed, panel by panel.
template <class T>
void BlockKernel<T>::packColumnPanels(T *target, const T *source, Counts k, Counts n,
                                      Counts batch) const noexcept {
  const std::span<const int64_t> sums(k);
  const bool isTransposed = !sums.empty() && sideK.dims.front().inB == 1 && sums[0] >= kPacket<T>;
  const std::size_t inTransposes = isTransposed ? 1 : 0; // Dims of k.
  BlockLoops others;
  addDims(others, format.batch, batch, &BlockDim::inB, format.bBatch);
  const int64_t first = isTransposed ? sums[0] : 1;
  const int64_t panel = addDims(others, std::span(sideK.dims).subspan(inTransposes),
                                sums.subspan(inTransposes), &BlockDim::inB, kPanelColumns * first);
  const LoopNest nest{std::span<const CopyLoop>(others)};
  if (nest.empty())
    return;
  const int64_t inB = sideN.dims.empty() ? 0 : sideN.dims.front().inB;
  const auto copyPart = [&](T *panels, const T *tensor, const PanelPart &part) {
    T *const to = panels + part.panel * panel + part.at;
    const T *const from = tensor + part.from;
    if (isTransposed) {
      const Loop columns = {part.indices, 1, inB}, rows = {first, kPanelColumns, 1};
      for (int64_t i = 0; i < part.panels; ++i)
        forEachStep(nest.loops(), [&](int64_t toRows, int64_t fromRows) {
          const T *const panelFrom = from + i * part.indices * inB + fromRows;
          // No prefetcher follows so many short rows.
          for (int64_t column = part.indices; column < 2 * part.indices; ++column)
            prefetchRow(panelFrom + column * inB, first);
          transposeNear<T, Overwrite>(to + i * panel + toRows, panelFrom, columns, rows);
        });
      return;
    }
    copyOperand<T>(format.bFromMemory, to, from, loopsOf(part, panel, inB, others));
  };
  const auto dims = std::span(sideN.dims).first(format.bPanelDims);
  const std::span<const int64_t> columns(n);
  BlockLoops rest;
  addDims(rest, std::span(sideN.dims).subspan(dims.size()), columns.subspan(dims.size()),
          &BlockDim::inB, sideN.panelsOf(kPanelColumns, format.bPanelDims) * panel);
  const LoopNest outer{std::span<const CopyLoop>(rest)};
  if (outer.empty())
    return;
  forEachStep(outer.loops(), [&](int64_t to, int64_t at) {
    forEachPanelPart(dims, columns.first(dims.size()), &BlockDim::inB, kPanelColumns,
                     [&](const PanelPart &part) { copyPart(target + to, source + at, part); });
  });
}

template void BlockKernel<float>::packA(float *, const float *, Counts, Counts,
                                        Counts) const noexcept;
template void BlockKernel<double>::packA(double *, const double *, Counts, Counts,
                                         Counts) const noexcept;
template void BlockKernel<float>::packB(float *, const float *, Counts, Counts,
                                        Counts) const noexcept;
template void BlockKernel<double>::packB(double *, const double *, Counts, Counts,
                                         Counts) const noexcept;

} // namespace einsumc
