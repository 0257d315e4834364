//===- BlockSides.cpp - how the sides of a block fall into tiles ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/BlockKernel.h"

#include "EvenPieces.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace einsumc {

template <class T>
BlockKernel<T>::Side::Side(std::initializer_list<BlockDim> dimsOfSide) : dims(dimsOfSide) {
  std::size_t variantCount = 1;
  for (BlockDim &dim : dims) {
    dim.count = std::min(dim.count, dim.extent);
    const bool hasRest = dim.count > 0 && dim.extent % dim.count != 0;
    weights.push_back(hasRest ? variantCount : 0);
    variantCount *= hasRest ? 2 : 1;
  }
  variants.resize(variantCount);
}

template <class T> std::size_t BlockKernel<T>::Side::variantOf(Counts counts) const noexcept {
  std::size_t variant = 0;
  for (std::size_t d = 0; d < counts.size(); ++d)
    variant += counts.begin()[d] == dims[d].count ? 0 : weights[d];
  return variant;
}

template <class T> int64_t BlockKernel<T>::Side::count(std::size_t dim, std::size_t variant) const {
  const bool isRest = (variant & weights[dim]) != 0;
  return isRest ? dims[dim].extent % dims[dim].count : dims[dim].count;
}

template <class T>
int64_t BlockKernel<T>::Side::elements(std::size_t variant, std::size_t firstDims) const {
  int64_t product = 1;
  for (std::size_t d = 0; d < std::min(dims.size(), firstDims); ++d)
    product *= count(d, variant);
  return product;
}

template <class T> int64_t BlockKernel<T>::Side::runLength(std::size_t variant) const {
  if (apart > 0)
    return elements(variant);
  int64_t run = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].inC != strideInC() * run)
      break;
    run *= count(d, variant);
  }
  return run;
}

template <class T> bool BlockKernel<T>::Side::hasLongRuns(int64_t atLeast) const {
  for (std::size_t variant = 0; variant < variants.size(); ++variant)
    if (runLength(variant) < std::min(atLeast, elements(variant)))
      return false;
  return true;
}

template <class T>
bool BlockKernel<T>::Side::doRunsEndPanels(int64_t indices, std::size_t firstDims) const {
  for (std::size_t variant = 0; variant < variants.size(); ++variant)
    if (runLength(variant) % indices != 0 && runLength(variant) < elements(variant, firstDims))
      return false;
  return true;
}

template <class T>
int64_t BlockKernel<T>::Side::panelsOf(int64_t indices, std::size_t firstDims) const {
  return ceilDiv(elements(0, firstDims), indices);
}

template <class T>
int64_t BlockKernel<T>::Side::indicesOfPanel(std::size_t panelDims, int64_t panelCount,
                                             std::size_t variant) const {
  return elements(0, panelDims - 1) * panelCount / elements(variant, panelDims - 1);
}

template <class T> int64_t BlockKernel<T>::Side::offsetInC(std::size_t variant, int64_t at) const {
  if (apart > 0)
    return at * apart;
  int64_t offset = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    offset += at % count(d, variant) * dims[d].inC;
    at /= count(d, variant);
  }
  return offset;
}

template <class T> void BlockKernel<T>::Side::cut(const Panels &panels) {
  for (std::size_t variant = 0; variant < variants.size(); ++variant) {
    if (panels.rows > 0) { // Across dims: as if there were one.
      for (int64_t row = 0; row < elements(variant); row += panels.rows)
        cutPanel(variant, row, std::min(panels.rows, elements(variant) - row),
                 row / panels.rows * panels.stride, panels);
      continue;
    }
    // Indices of the dims that lie whole in a panel, of the one that is cut, and of both.
    const int64_t whole = panels.dims > 0 ? elements(variant, panels.dims - 1) : 1;
    const int64_t part =
        panels.dims > 0 ? indicesOfPanel(panels.dims, panels.count, variant) : elements(variant);
    const int64_t parted = panels.dims > 0 ? count(panels.dims - 1, variant) : part;
    int64_t panel = 0;
    for (int64_t outer = 0; outer < elements(variant); outer += whole * parted)
      for (int64_t from = 0; from < parted; from += part, ++panel)
        cutPanel(variant, outer + from * whole, whole * std::min(part, parted - from),
                 panel * panels.stride, panels);
  }
}

/// Cuts the panel with \p rows indices from \p first on, which lies \p start elements in the block.
template <class T>
void BlockKernel<T>::Side::cutPanel(std::size_t variant, int64_t first, int64_t rows, int64_t start,
                                    const Panels &panels) {
  const int64_t run = runLength(variant);
  const int64_t within = panels.inRuns ? std::min(run, rows) : rows;
  const int64_t part = ceilDiv(within, ceilDiv(within, panels.longest));
  const int64_t length = std::min(roundUp(part, panels.multiple), panels.longest);
  for (int64_t row = 0; row < rows;) {
    const int64_t left = std::min(within - row % within, rows - row);
    const int64_t size = panels.multiple > 1
                             ? std::min(length, left)
                             : ceilDiv(left, ceilDiv(left, panels.longest)); // Nearly the same.
    Tile tile{start + row * panels.rowStride,
              offsetInC(variant, first + row),
              indexOfSize(size),
              {},
              1,
              {}};
    for (int64_t at = 0; at < size;) {
      const int64_t index = first + row + at;
      const int64_t neighbours = std::min(run - index % run, size - at);
      tile.runs.push_back({at, offsetInC(variant, index), neighbours});
      tile.longestRun = std::max(tile.longestRun, neighbours);
      for (int64_t i = 0; panels.listsOffsets && i < neighbours; ++i)
        tile.offsets.push_back(tile.runs.back().toC + i * strideInC());
      at += neighbours;
    }
    variants[variant].push_back(std::move(tile));
    row += size;
  }
}

template <class T> std::size_t BlockKernel<T>::Side::indexOfSize(int64_t size) {
  const auto found = std::find(sizes.begin(), sizes.end(), size);
  if (found != sizes.end())
    return static_cast<std::size_t>(found - sizes.begin());
  sizes.push_back(size);
  return sizes.size() - 1;
}

template <class T> void BlockKernel<T>::Side::joinColumns(int64_t unit) {
  joinedRuns.resize(variants.size());
  for (std::size_t variant = 0; variant < variants.size(); ++variant) {
    std::vector<int64_t> begins;
    for (int64_t column = 0; column < elements(variant); column += runLength(variant))
      begins.push_back(offsetInC(variant, column));
    if (std::all_of(begins.begin(), begins.end(), [&](int64_t at) { return at % unit == 0; }))
      joinedRuns[variant] = std::move(begins);
  }
}

template struct BlockKernel<float>::Side;
template struct BlockKernel<double>::Side;

} // namespace einsumc
