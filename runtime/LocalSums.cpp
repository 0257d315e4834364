//===- LocalSums.cpp - weighted sums over the block that a rank holds -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "LocalSums.h"

#include <algorithm>
#include <cmath>

namespace einsumc {
namespace {

bool contains(const std::vector<int> &dims, int dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

/// The part of one dim that a rank sums over.
struct DimLoop {
  int64_t size = 1;
  int64_t step = 0;           ///< elements between neighbours in the block
  int64_t target = 0;         ///< sums between neighbours; 0 for a dim that is summed
  std::vector<float> weights; ///< empty: all 1
};

template <class T> class BlockSum {
public:
  /// An empty intersection of block and window leaves `loops` unusable: see isEmpty.
  BlockSum(const TensorUse &use, const Window &window, const std::vector<int> &kept,
           const Weights &weights)
      : data(reinterpret_cast<const T *>(use.view.data)) {
    std::vector<int> seen;
    for (const int dim : use.dims)
      if (!contains(seen, dim)) {
        seen.push_back(dim);
        addLoop(use, window, dim, targetStride(window, kept, dim), weights);
      }
    std::sort(loops.begin(), loops.end(),
              [](const DimLoop &a, const DimLoop &b) { return a.step > b.step; });
    if (loops.empty())
      loops.emplace_back(); // A scalar, or one element.
  }

  bool isEmpty() const { return empty; }

  template <Measure M> void run(WeightedSum *sums) const {
    descend<M>(0, data + offset, sums + targetOffset, factor);
  }

private:
  static int64_t targetStride(const Window &window, const std::vector<int> &kept, int dim) {
    int64_t stride = 1;
    for (std::size_t i = kept.size(); i-- > 0;
         stride *= window[static_cast<std::size_t>(kept[i])].size())
      if (kept[i] == dim)
        return stride;
    return 0;
  }

  void addLoop(const TensorUse &use, const Window &window, int dim, int64_t target,
               const Weights &weights) {
    const Box &box = use.view.box;
    const Interval wanted = window[static_cast<std::size_t>(dim)];
    Interval range = wanted;
    for (std::size_t p = 0; p < box.size(); ++p)
      if (use.dims[p] == dim)
        range = intersect(range, box[p]);
    empty = empty || range.empty();
    DimLoop loop{range.size(), 0, target, {}};
    int64_t stride = 1;
    for (std::size_t p = box.size(); p-- > 0; stride *= box[p].size())
      if (use.dims[p] == dim) {
        loop.step += stride;
        offset += stride * (range.begin - box[p].begin);
      }
    targetOffset += target * (range.begin - wanted.begin);
    if (empty)
      return;
    if (weights.has(dim))
      for (int64_t i = range.begin; i < range.end; ++i)
        loop.weights.push_back(static_cast<float>(weights.of(dim, i)));
    if (loop.size == 1)
      factor *= weightAt(loop, 0);
    else
      loops.push_back(std::move(loop));
  }

  template <Measure M> static void add(WeightedSum &sum, double value) {
    sum.value += value;
    sum.measure += M == Measure::Absolute ? std::abs(value) : value * value;
  }

  static double weightAt(const DimLoop &loop, int64_t i) {
    return loop.weights.empty() ? 1 : loop.weights[static_cast<std::size_t>(i)];
  }

  template <Measure M>
  void descend(std::size_t depth, const T *element, WeightedSum *sums, double weight) const {
    const DimLoop &loop = loops[depth];
    if (depth + 1 == loops.size()) {
      sumRow<M>(loop, element, sums, weight);
      return;
    }
    for (int64_t i = 0; i < loop.size; ++i)
      descend<M>(depth + 1, element + i * loop.step, sums + i * loop.target,
                 weight * weightAt(loop, i));
  }

  template <Measure M>
  static void sumRow(const DimLoop &loop, const T *element, WeightedSum *sums, double weight) {
    if (loop.target == 0) {
      WeightedSum row; // Its own sum keeps the rounding errors of long sums small.
      for (int64_t i = 0; i < loop.size; ++i)
        add<M>(row, weight * weightAt(loop, i) * element[i * loop.step]);
      sums->value += row.value;
      sums->measure += row.measure;
      return;
    }
    for (int64_t i = 0; i < loop.size; ++i)
      add<M>(sums[i * loop.target], weight * weightAt(loop, i) * element[i * loop.step]);
  }

  const T *data;
  int64_t offset = 0;
  int64_t targetOffset = 0;
  double factor = 1;
  bool empty = false;
  std::vector<DimLoop> loops; ///< the fastest last
};

template <class T>
void addAs(const TensorUse &use, const Window &window, const std::vector<int> &kept,
           const Weights &weights, Measure measure, WeightedSum *sums) {
  const BlockSum<T> block(use, window, kept, weights);
  if (block.isEmpty())
    return;
  if (measure == Measure::Absolute)
    block.template run<Measure::Absolute>(sums);
  else
    block.template run<Measure::Square>(sums);
}

} // namespace

uint64_t mixBits(uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

bool Weights::has(int dim) const { return contains(dims, dim); }

double Weights::of(int dim, int64_t index) const {
  constexpr uint64_t kMagnitudes = 1 << 16; // few enough for a float to be exact
  const uint64_t bits =
      mixBits(mixBits(seed + static_cast<uint64_t>(dim)) ^ static_cast<uint64_t>(index));
  const double magnitude = 1 + static_cast<double>(bits % kMagnitudes) / kMagnitudes;
  return bits >> 63 != 0 ? magnitude : -magnitude;
}

Weights Weights::without(const std::vector<int> &others) const {
  Weights rest(seed, {});
  for (const int dim : dims)
    if (!contains(others, dim))
      rest.dims.push_back(dim);
  return rest;
}

void addLocalSums(const TensorUse &use, const Window &window, const std::vector<int> &kept,
                  const Weights &weights, Measure measure, WeightedSum *sums) {
  if (!use.view.held)
    return;
  if (use.view.dtype == DType::F32)
    addAs<float>(use, window, kept, weights, measure, sums);
  else
    addAs<double>(use, window, kept, weights, measure, sums);
}

} // namespace einsumc
