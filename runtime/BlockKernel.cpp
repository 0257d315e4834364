//===- BlockKernel.cpp - the product of two blocks of tensors ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/BlockKernel.h"

#include "SimdVector.h"

#include <algorithm>
#include <cstdint>

namespace einsumc {

namespace {

/// The longest tiles.
constexpr int64_t kTileM = 64, kTileN = 48;
/// What their lengths should be multiples of: the blocks that kernels sum in registers, which
/// along m are whole cache lines, too.
template <class T> constexpr int64_t kStepM = 4 * simd::kLanes<T>;
constexpr int64_t kStepN = 12;
/// Bytes of A in a tile, which the first-level cache keeps while the columns of B pass by.
constexpr int64_t kTileBytes = 20 << 10;
/// Tiles in C itself must have runs at least so long.
constexpr int64_t kLeastRunM = 8, kLeastRunN = 4;

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

//===- Sides ----------------------------------------------------------------------------------===//

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

template <class T>
std::size_t BlockKernel<T>::Side::variantOf(std::initializer_list<int64_t> counts) const noexcept {
  std::size_t variant = 0;
  for (std::size_t d = 0; d < counts.size(); ++d)
    variant += counts.begin()[d] == dims[d].count ? 0 : weights[d];
  return variant;
}

template <class T> int64_t BlockKernel<T>::Side::count(std::size_t dim, std::size_t variant) const {
  const bool isRest = (variant & weights[dim]) != 0;
  return isRest ? dims[dim].extent % dims[dim].count : dims[dim].count;
}

template <class T> int64_t BlockKernel<T>::Side::elements(std::size_t variant) const {
  int64_t product = 1;
  for (std::size_t d = 0; d < dims.size(); ++d)
    product *= count(d, variant);
  return product;
}

template <class T> int64_t BlockKernel<T>::Side::runLength(std::size_t variant) const {
  int64_t run = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].toC != strideInC() * run)
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

template <class T> int64_t BlockKernel<T>::Side::offsetInC(std::size_t variant, int64_t at) const {
  int64_t offset = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    offset += at % count(d, variant) * dims[d].toC;
    at /= count(d, variant);
  }
  return offset;
}

template <class T> void BlockKernel<T>::Side::cut(int64_t longest, int64_t multiple, bool inRuns) {
  for (std::size_t variant = 0; variant < variants.size(); ++variant) {
    const int64_t all = elements(variant);
    const int64_t run = runLength(variant);
    const int64_t within = inRuns ? run : all;
    const int64_t part = ceilDiv(within, ceilDiv(within, longest));
    const int64_t length = std::min(ceilDiv(part, multiple) * multiple, longest);
    for (int64_t at = 0; at < all;) {
      Tile tile{at, offsetInC(variant, at), 0, {}};
      const int64_t size = std::min(length, within - at % within);
      tile.size = indexOfSize(size);
      for (int64_t row = at; !inRuns && row < at + size;) {
        const int64_t rows = std::min(run - row % run, at + size - row);
        tile.runs.push_back({row - at, offsetInC(variant, row), rows});
        row += rows;
      }
      variants[variant].push_back(std::move(tile));
      at += size;
    }
  }
}

template <class T> std::size_t BlockKernel<T>::Side::indexOfSize(int64_t size) {
  const auto found = std::find(sizes.begin(), sizes.end(), size);
  if (found != sizes.end())
    return static_cast<std::size_t>(found - sizes.begin());
  sizes.push_back(size);
  return sizes.size() - 1;
}

//===- Products -------------------------------------------------------------------------------===//

template <class T>
BlockKernel<T>::BlockKernel(std::initializer_list<BlockDim> m, std::initializer_list<BlockDim> n,
                            std::initializer_list<BlockDim> k, const BlockStrides &strides)
    : sideM(m), sideN(n), sideK(k), strides(strides) {
  if (sideM.elements(0) == 0 || sideN.elements(0) == 0 || sideK.elements(0) == 0)
    return; // Nothing to compute on this rank.
  result = chooseResult();
  for (std::size_t variant = 0; variant < sideK.variants.size(); ++variant)
    sideK.variants[variant] = {{0, 0, sideK.indexOfSize(sideK.elements(variant)), {}}};
  const int64_t rows =
      kTileBytes / static_cast<int64_t>(sizeof(T)) / sideK.elements(0) / kStepM<T> * kStepM<T>;
  sideM.cut(std::clamp(rows, kStepM<T>, kTileM), simd::kLanes<T>, result != Result::Buffered);
  sideN.cut(kTileN, kStepN, result != Result::Buffered);
  fetchKernels();
}

template <class T> typename BlockKernel<T>::Result BlockKernel<T>::chooseResult() const {
  if (sideM.strideInC() != 1 || !sideM.hasLongRuns(kLeastRunM) || !sideN.hasLongRuns(kLeastRunN))
    return Result::Buffered;
  // Stores past the caches must be of whole, aligned vectors.
  const auto isAligned = [](const Side &side, bool isFirstUnit) {
    return std::all_of(side.dims.begin() + (isFirstUnit ? 1 : 0), side.dims.end(),
                       [](const BlockDim &dim) { return dim.toC % simd::kLanes<T> == 0; });
  };
  return strides.pastCaches && !sideM.dims.empty() && isAligned(sideM, true) &&
                 isAligned(sideN, false)
             ? Result::PastCaches
             : Result::Direct;
}

template <class T> void BlockKernel<T>::fetchKernels() {
  TileShape shape;
  shape.aM = strides.aM;
  shape.aK = strides.aK;
  shape.bK = strides.bK;
  shape.bN = strides.bN;
  shape.cM = 1;
  shape.cN = result == Result::Direct ? sideN.strideInC() : kTileM;
  for (const int64_t m : sideM.sizes)
    for (const int64_t n : sideN.sizes)
      for (const int64_t k : sideK.sizes)
        for (const bool accumulate : {false, true}) {
          shape.m = m;
          shape.n = n;
          shape.k = k;
          shape.accumulate = accumulate;
          // What goes through a buffer is added to C after the kernel.
          const bool occurs = !accumulate || (strides.accumulates && result == Result::Direct);
          kernels.push_back(occurs ? TileKernel<T>(shape) : TileKernel<T>());
        }
}

template <class T>
const TileKernel<T> &BlockKernel<T>::kernel(const Tile &m, const Tile &n, const Tile &k,
                                            bool accumulate) const noexcept {
  const std::size_t index = (m.size * sideN.sizes.size() + n.size) * sideK.sizes.size() + k.size;
  return kernels[2 * index + (accumulate ? 1 : 0)];
}

template <class T>
void BlockKernel<T>::operator()(const T *a, const T *b, T *c, std::initializer_list<int64_t> m,
                                std::initializer_list<int64_t> n, std::initializer_list<int64_t> k,
                                bool accumulate) const noexcept {
  if (kernels.empty())
    return;
  const Tiles &tilesM = sideM.variants[sideM.variantOf(m)];
  const Tiles &tilesN = sideN.variants[sideN.variantOf(n)];
  const Tile &tileK = sideK.variants[sideK.variantOf(k)].front();
  for (const Tile &tileN : tilesN)
    for (std::size_t i = 0; i < tilesM.size(); ++i) {
      const Tile &tileM = tilesM[i];
      const T *const tileA = a + tileM.at * strides.aM;
      const T *const tileB = b + tileN.at * strides.bN;
      T *const tileC = c + tileM.toC + tileN.toC;
      switch (result) {
      case Result::Direct:
        if (i + 1 < tilesM.size())
          prefetch(c + tilesM[i + 1].toC + tileN.toC, tilesM[i + 1], tileN);
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
  if (result == Result::PastCaches)
    simd::endStoresPastCaches();
}

/// \pre C is not accumulated into
template <class T>
void BlockKernel<T>::multiplyPastCaches(const T *a, const T *b, T *c, const Tile &m, const Tile &n,
                                        const Tile &k) const noexcept {
  constexpr int64_t kLanes = simd::kLanes<T>;
  alignas(64) T buffer[kTileM * kTileN];
  kernel(m, n, k, false)(a, b, buffer);
  const int64_t rows = sideM.sizes[m.size];
  const int64_t columns = sideN.sizes[n.size];
  const bool isAligned = reinterpret_cast<std::uintptr_t>(c) % simd::kVectorBytes == 0;
  const int64_t whole = isAligned ? rows / kLanes * kLanes : 0;
  for (int64_t column = 0; column < columns; ++column) {
    const T *const from = buffer + column * kTileM;
    T *const to = c + column * sideN.strideInC();
    for (int64_t row = 0; row < whole; row += kLanes)
      simd::storePastCaches(to + row, simd::load(from + row));
    std::copy(from + whole, from + rows, to + whole);
  }
}

/// Fetches a tile of C while the one before it is computed: kernels wait for their first loads.
template <class T>
void BlockKernel<T>::prefetch(const T *c, const Tile &m, const Tile &n) const noexcept {
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t rows = sideM.sizes[m.size];
  const int64_t columns = sideN.sizes[n.size];
  for (int64_t column = 0; column < columns; ++column, c += sideN.strideInC()) {
    for (int64_t row = 0; row < rows; row += kLine)
      __builtin_prefetch(c + row, 1);
    __builtin_prefetch(c + rows - 1, 1);
  }
}

template <class T>
void BlockKernel<T>::multiplyThroughBuffer(const T *a, const T *b, T *c, const Tile &m,
                                           const Tile &n, const Tile &k,
                                           bool accumulate) const noexcept {
  alignas(64) T buffer[kTileM * kTileN];
  kernel(m, n, k, false)(a, b, buffer);
  const int64_t strideM = sideM.strideInC();
  const int64_t strideN = sideN.strideInC();
  for (const Run &columns : n.runs)
    for (int64_t column = 0; column < columns.length; ++column) {
      const T *const from = buffer + (columns.at + column) * kTileM;
      T *const to = c + columns.toC + column * strideN;
      for (const Run &rows : m.runs)
        for (int64_t row = 0; row < rows.length; ++row) {
          T &target = to[rows.toC + row * strideM];
          target = (accumulate ? target : T(0)) + from[rows.at + row];
        }
    }
}

template class BlockKernel<float>;
template class BlockKernel<double>;

} // namespace einsumc
