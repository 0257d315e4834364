//===- StepShapes.cpp - steps that the same kernels compute -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "StepShapes.h"

#include <algorithm>

namespace einsumc {

namespace {

/// Whether kernels that were made for one step compute the other.
template <class T> bool haveOneShape(const Step<T> &a, const Step<T> &b) {
  auto sameStrides = [](const BlockView<T> &x, const BlockView<T> &y) {
    for (std::size_t p = 0; p < x.box().size(); ++p)
      if (x.stride(p) != y.stride(p))
        return false;
    return true;
  };
  return std::ranges::equal(a.work, b.work, {}, &Interval::size, &Interval::size) &&
         sameStrides(a.a, b.a) && sameStrides(a.b, b.b) && sameStrides(a.c, b.c);
}

} // namespace

template <class T> std::vector<Step<T>> numberShapes(std::vector<Step<T>> &steps) {
  std::vector<Step<T>> shapes;
  for (Step<T> &step : steps) {
    if (volume(step.work) == 0)
      continue;
    const auto same = std::ranges::find_if(
        shapes, [&](const Step<T> &shape) { return haveOneShape(shape, step); });
    step.shape = static_cast<std::size_t>(same - shapes.begin());
    if (same == shapes.end())
      shapes.push_back(step);
  }
  return shapes;
}

template std::vector<Step<float>> numberShapes(std::vector<Step<float>> &);
template std::vector<Step<double>> numberShapes(std::vector<Step<double>> &);

} // namespace einsumc
