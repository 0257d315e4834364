//===- ReorderingKernel.cpp - products of blocks stored in different orders -------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/ReorderingKernel.h"

#include "BlockLoops.h"
#include "CopyLoops.h"
#include "PastCaches.h"
#include "SimdVector.h"
#include "TileFunctions.h"

#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <utility>

namespace einsumc {

namespace {

/// The loops of a block, those as one that continue each other in all tensors; none of one index
/// but the first, along which the vectors go. Overwrites \p steps.
template <class Step> std::span<const Step> fused(std::span<Step> steps) {
  std::size_t last = 0;
  for (std::size_t d = 1; d < steps.size(); ++d) {
    const Step &next = steps[d];
    Step &step = steps[last];
    if (next.count == 1)
      continue;
    if (next.a == step.a * step.count && next.b == step.b * step.count &&
        next.c == step.c * step.count)
      step.count *= next.count;
    else
      steps[++last] = next;
  }
  return steps.first(last + 1);
}

/// Steps through loops around a product, the first one the fastest.
template <class Step> class OuterLoops {
public:
  void add(const Step &step) {
    steps[count++] = step;
    counter.add(step.count);
  }

  /// Whether sums are under way.
  bool accumulates() const {
    for (std::size_t d = 0; d < count; ++d)
      if (steps[d].c == 0 && counter.hasBegun(d))
        return true;
    return false;
  }

  /// Moves the blocks' addresses on; returns whether there is a further product.
  template <class T> bool next(const T *&a, const T *&b, T *&c) {
    return counter.next([&](std::size_t d, int64_t by) {
      a += by * steps[d].a, b += by * steps[d].b, c += by * steps[d].c;
    });
  }

private:
  std::array<Step, LoopNest::kMaxLoops> steps;
  std::size_t count = 0;
  LoopCounter counter;
};

} // namespace

template <class T>
ReorderingKernel<T>::ReorderingKernel(std::initializer_list<BlockDim> dims,
                                      const ReorderingFormat &format)
    : dims(dims), format(format) {}

/// Whether a tensor's block in scratch has a dim: its own, or one along which it is repeated.
template <class T>
bool ReorderingKernel<T>::hasInScratch(int64_t BlockDim::*in, std::size_t dim) const {
  const auto vectors = dims.begin() + static_cast<std::ptrdiff_t>(format.vectorDims);
  return dims[dim].*in != 0 ||
         (dim < format.vectorDims &&
          std::any_of(dims.begin(), vectors, [&](const BlockDim &d) { return d.*in != 0; }));
}

/// Sets the distances in a tensor, or in its block in scratch.
template <class T>
void ReorderingKernel<T>::place(int64_t BlockDim::*in, bool isInScratch, int64_t Step::*step,
                                std::span<Step> steps) const noexcept {
  int64_t size = 1;
  for (std::size_t d = 0; d < steps.size(); ++d) {
    if (!isInScratch) {
      steps[d].*step = dims[d].*in;
    } else if (!hasInScratch(in, d)) {
      steps[d].*step = 0;
    } else {
      steps[d].*step = size;
      size *= steps[d].count;
    }
  }
}

template <class T>
auto ReorderingKernel<T>::layOut(std::initializer_list<int64_t> counts, Steps &steps) const noexcept
    -> std::span<Step> {
  const std::span<Step> used(steps.data(), dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d)
    used[d].count = counts.begin()[d];
  place(&BlockDim::inA, format.packsA, &Step::a, used);
  place(&BlockDim::inB, format.packsB, &Step::b, used);
  place(&BlockDim::inC, format.resultInScratch, &Step::c, used);
  return used;
}

template <class T>
void ReorderingKernel<T>::pack(T *target, const T *source, int64_t BlockDim::*in,
                               int64_t Step::*step,
                               std::initializer_list<int64_t> counts) const noexcept {
  Steps steps;
  const std::span<const Step> used = layOut(counts, steps);
  BlockLoops loops;
  for (std::size_t d = 0; d < used.size(); ++d)
    if (used[d].*step != 0)
      loops.add(used[d].count, used[d].*step, dims[d].*in);
  copyStrided(target, source, loops);
}

template <class T>
void ReorderingKernel<T>::packA(T *target, const T *source,
                                std::initializer_list<int64_t> counts) const noexcept {
  pack(target, source, &BlockDim::inA, &Step::a, counts);
}

template <class T>
void ReorderingKernel<T>::packB(T *target, const T *source,
                                std::initializer_list<int64_t> counts) const noexcept {
  pack(target, source, &BlockDim::inB, &Step::b, counts);
}

template <class T>
void ReorderingKernel<T>::operator()(const T *a, const T *b, T *c, T *scratch,
                                     std::initializer_list<int64_t> counts,
                                     bool accumulate) const noexcept {
  if (std::find(counts.begin(), counts.end(), 0) != counts.end())
    return;
  Steps steps;
  const std::span<Step> used = layOut(counts, steps);
  Steps unfused;
  std::copy(used.begin(), used.end(), unfused.begin());
  const std::span<const Step> loops = fused(used);
  const bool areFetching = areFetchingDots(loops);
  if (!format.packsA && !areFetching)
    fetch(a, loops, &Step::a);
  if (!format.packsB && !areFetching)
    fetch(b, loops, &Step::b);
  multiply(loops, a, b, format.resultInScratch ? scratch : c, accumulate && !format.resultInScratch,
           areFetching);
  if (format.resultInScratch)
    writeResult({unfused.data(), used.size()}, c, scratch, accumulate);
  else if (format.pastCaches)
    simd::endStoresPastCaches();
}

/// Whether products are dots of several rows and columns, along whole lines: these fetch what is in
/// place themselves.
template <class T> bool ReorderingKernel<T>::areFetchingDots(std::span<const Step> steps) {
  const auto hasOf = [&](bool isA) {
    return std::any_of(steps.begin(), steps.end(),
                       [=](const Step &s) { return (s.a != 0) == isA && (s.b != 0) != isA; });
  };
  const Step &vectors = steps.front();
  return vectors.c == 0 && vectors.count >= kCacheLine<T> && hasOf(true) && hasOf(false);
}

/// Reads a block that is used in place from end to end, as memory is the fastest, if products along
/// short vectors would go through it in another order.
template <class T>
void ReorderingKernel<T>::fetch(const T *block, std::span<const Step> steps,
                                int64_t Step::*step) const noexcept {
  constexpr int64_t kLine = kCacheLine<T>, kLongVector = 8 * kLine, kFewElements = 32 * kLine;
  if (steps.front().count >= kLongVector)
    return;
  BlockLoops loops;
  for (const Step &s : steps)
    if (s.*step != 0)
      loops.add(s.count, s.*step, s.*step);
  LoopNest nest(loops);
  if (nest.steps() < kFewElements || nest.loops().front().from != 1)
    return;
  const Loop row = nest.take(0);
  forEachStep(nest.loops(), [&](int64_t, int64_t from) {
    for (int64_t i = 0; i < row.extent; i += kLine) // reads that only bring lines
      static_cast<void>(*static_cast<const volatile T *>(block + from + i));
  });
}

template <class T>
void ReorderingKernel<T>::multiply(std::span<const Step> steps, const T *a, const T *b, T *c,
                                   bool accumulate, bool areFetching) const noexcept {
  // Vectors of the result and of one operand: this one plays A.
  const bool isExchanged = steps.front().a == 0;
  if (isExchanged)
    std::swap(a, b);
  TileShape tile;
  OuterLoops<Step> outer;
  tile.pastCaches = format.pastCaches && !format.resultInScratch;
  bool hasC = false, hasM = false, hasN = false, hasK = false;
  for (Step step : steps) { // The first one of each class is the kernel's.
    if (isExchanged)
      std::swap(step.a, step.b);
    const bool isInA = step.a != 0, isInB = step.b != 0, isInC = step.c != 0;
    if (isInA && isInB && isInC && !std::exchange(hasC, true))
      tile.c = step.count, tile.aC = step.a, tile.bC = step.b, tile.cC = step.c;
    else if (isInA && !isInB && !std::exchange(hasM, true))
      tile.m = step.count, tile.aM = step.a, tile.cM = step.c;
    else if (isInB && !isInA && !std::exchange(hasN, true))
      tile.n = step.count, tile.bN = step.b, tile.cN = step.c;
    else if (!isInC && !std::exchange(hasK, true))
      tile.k = step.count, tile.aK = step.a, tile.bK = step.b;
    else {
      outer.add(step);
      tile.pastCaches = tile.pastCaches && isInC; // Else more is added to it.
    }
  }
  const Step &vectors = steps.front();
  const TileFunction<T> product = vectors.c == 0                     ? multiplyDots<T>
                                  : vectors.a != 0 && vectors.b != 0 ? multiplyBatch<T>
                                                                     : multiplyPanels<T>;
  tile.aFetched = areFetching && !format.packsA;
  tile.bFetched = areFetching && !format.packsB;
  for (bool isLast = false; !isLast;) {
    tile.accumulate = accumulate || outer.accumulates();
    const T *nextA = a, *nextB = b;
    T *nextC = c;
    isLast = !outer.next(nextA, nextB, nextC);
    tile.aAhead = isLast ? 0 : nextA - a;
    tile.bAhead = isLast ? 0 : nextB - b;
    product(tile, a, b, c);
    a = nextA, b = nextB, c = nextC;
  }
}

template <class T>
void ReorderingKernel<T>::writeResult(std::span<const Step> steps, T *c, const T *block,
                                      bool accumulate) const noexcept {
  BlockLoops loops, zeros;
  bool hasParts = false;
  for (std::size_t d = 0; d < steps.size(); ++d) {
    hasParts = hasParts || (steps[d].c != 0 && dims[d].inC == 0);
    if (steps[d].c != 0)
      loops.add(steps[d].count, dims[d].inC, steps[d].c);
    if (dims[d].inC != 0)
      zeros.add(steps[d].count, dims[d].inC, 0);
  }
  if (hasParts && !accumulate) {
    constexpr T kZero = 0;
    copyStrided(c, &kZero, zeros);
  }
  if (hasParts || accumulate)
    addStrided(c, block, loops);
  else if (format.pastCaches)
    copyPastCaches(c, block, loops);
  else
    copyStrided(c, block, loops);
}

template class ReorderingKernel<float>;
template class ReorderingKernel<double>;

} // namespace einsumc
