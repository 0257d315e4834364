//===- ProjectionCheck.cpp - random projections of a node -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// A result C = A * B of K-term sums is weighted with random weights w that are independent for
// each index of each dim, so that the weighted sum of C is cheap to compute from A and B. What
// remains of the errors e of C has expectation 0 and variance sum (w e)^2, as the signs make the
// entries uncorrelated. The bound models e as the sum of two parts:
//  - roundings as a random walk: sqrt(K) roundings of partial sums, which are of the size of
//    the terms' square sum or of the result itself (N. Higham and T. Mary, "A new approach to
//    probabilistic rounding error analysis", 2019),
//  - roundings that all have one sign, as sums of equal numbers have: K/2 of them, relative to the
//    result,
// and adds what the f64 sums of the comparison may lose. A wrong block is far above it.
//
//===------------------------------------------------------------------------------------------===//

#include "NodeCheck.h"
#include "NodeSums.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace einsumc {
namespace {

constexpr int kRounds = 2;

double volumeOf(const Window &window, const std::vector<int> &dims) {
  double volume = 1;
  for (const int dim : dims)
    volume *= static_cast<double>(window[static_cast<std::size_t>(dim)].size());
  return volume;
}

/// \param terms weighted square sum of all terms
/// \param result weighted square sum of the result
/// \param elements summed by the comparison
double boundOf(const NodeCheck &node, double terms, double result, double elements) {
  constexpr double kWalk = 16;      // standard deviations, more or less
  constexpr double kLargest = 0.05; // A result must not excuse itself by its own size.
  const double epsilon = epsilonOf(node.dtype);
  const double length = node.terms();
  const double walk = std::min(kLargest, kWalk * epsilon * std::sqrt(length));
  const double drift = std::min(kLargest, epsilon * length / 2);
  const double model = std::sqrt(walk * walk * (terms + result) + drift * drift * result);
  const double comparison = 4 * std::numeric_limits<double>::epsilon() * std::sqrt(elements) *
                            (std::sqrt(terms) + std::sqrt(result));
  return model + comparison + tiniestOf(node.dtype) * std::sqrt(elements) * length;
}

/// The rank whose block this rank's is a copy of.
int64_t primaryOf(const Layout &layout, int64_t rank) {
  std::vector<int64_t> coordinates = layout.grid.coordinates(rank);
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
    if (layout.axes[axis].kind == AxisKind::Copy)
      coordinates[axis] = 0;
  return layout.grid.rankAt(coordinates);
}

Finding project(const NodeCheck &node, const Window &window, const Weights &weights) {
  const Layout &layout = *node.result.view.layout;
  const std::vector<WeightedSum> held = heldSums(node.comm, node.result, window, weights);
  const WeightedSum found = primarySum(layout, held);
  const WeightedSum expected =
      expectedSum(node.comm, node.operands, window, weights, Measure::Square, node.chunk);
  double elements = volumeOf(window, node.resultDims);
  for (const TensorUse &operand : node.operands) {
    std::vector<int> dims = operand.dims;
    std::sort(dims.begin(), dims.end());
    dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
    elements += volumeOf(window, dims);
  }
  const double bound = boundOf(node, expected.measure, found.measure, elements);
  Finding worst{std::abs(found.value - expected.value), bound,
                node.name + " (random projection of its elements)"};
  for (std::size_t r = 0; r < held.size(); ++r) {
    const auto rank = static_cast<int64_t>(r);
    if (!layout.holds(rank) || layout.isPrimary(rank))
      continue;
    const auto primary = static_cast<std::size_t>(primaryOf(layout, rank));
    keepWorse(worst, {std::abs(held[r].value - held[primary].value), bound,
                      node.name + " (the copy on rank " + std::to_string(rank) + ")"});
  }
  return worst;
}

/// All ranks must take the same turns, and floating-point sums may differ between ranks.
bool agreed(const Communicator &comm, bool decision) {
  return broadcast(comm, decision ? "1" : "0") == "1";
}

/// Halves the window, each time keeping the half that looks worse, down to one entry.
Finding locate(const NodeCheck &node, Window window, const Weights &weights) {
  const auto size = [&](int dim) { return window[static_cast<std::size_t>(dim)].size(); };
  while (volumeOf(window, node.resultDims) > 1) {
    const int dim = *std::max_element(node.resultDims.begin(), node.resultDims.end(),
                                      [&](int a, int b) { return size(a) < size(b); });
    Interval &range = window[static_cast<std::size_t>(dim)];
    const Interval lower{range.begin, range.begin + range.size() / 2};
    const Interval upper{lower.end, range.end};
    range = lower;
    const double below = project(node, window, weights).severity();
    range = upper;
    const double above = project(node, window, weights).severity();
    if (agreed(node.comm, below >= above))
      range = lower;
  }
  std::vector<int64_t> index;
  for (const int dim : node.resultDims)
    index.push_back(window[static_cast<std::size_t>(dim)].begin);
  return checkEntry(node, index);
}

/// Restricts dims that result and both operands have until the operands' shared dims fit; whether
/// they do then.
bool shrink(const NodeCheck &node, int64_t limit, uint64_t seed, Window &window) {
  const std::vector<int> shared = sharedDims(node.operands);
  while (volumeOf(window, shared) > static_cast<double>(limit)) {
    Interval *widest = nullptr;
    for (const int dim : shared) {
      Interval &range = window[static_cast<std::size_t>(dim)];
      const bool inResult =
          std::find(node.resultDims.begin(), node.resultDims.end(), dim) != node.resultDims.end();
      if (inResult && range.size() > 1 && (widest == nullptr || range.size() > widest->size()))
        widest = &range;
    }
    if (widest == nullptr)
      return false;
    const int64_t middle = widest->begin + widest->size() / 2;
    seed = mixBits(seed);
    if ((seed & 1) != 0)
      widest->begin = middle;
    else
      widest->end = middle;
  }
  return true;
}

} // namespace

Finding checkProjections(const NodeCheck &node, int64_t sharedLimit, uint64_t seed,
                         std::string &note) {
  Finding worst;
  for (uint64_t round = 0; round < kRounds; ++round) {
    Window window = node.whole;
    const uint64_t roundSeed = mixBits(seed + round);
    if (!shrink(node, sharedLimit, roundSeed, window)) {
      note = "no projection of " + node.name + ": its operands share too many elements";
      return worst;
    }
    if (window != node.whole)
      note = "projections of a part of " + node.name + " only: its operands share many elements";
    const Weights weights(roundSeed, node.resultDims);
    const Finding finding = project(node, window, weights);
    keepWorse(worst, finding);
    if (agreed(node.comm, finding.passed()))
      continue;
    const Finding entry = locate(node, window, weights);
    if (!entry.passed())
      worst = entry;
    return worst;
  }
  return worst;
}

} // namespace einsumc
