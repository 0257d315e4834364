//===- NodeSums.cpp - weighted sums over a node, on all ranks ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "NodeSums.h"

#include "BoxPieces.h"

#include <algorithm>
#include <span>

namespace einsumc {
namespace {

void sumSums(const Communicator &comm, std::vector<WeightedSum> &sums) {
  static_assert(sizeof(WeightedSum) == 2 * sizeof(double));
  sumOverRanks(comm, std::span(&sums.front().value, 2 * sums.size()));
}

void addPrimary(const Communicator &comm, const TensorUse &use, const Window &window,
                const std::vector<int> &kept, const Weights &weights, Measure measure,
                WeightedSum *sums) {
  if (use.view.layout->isPrimary(comm.rank()))
    addLocalSums(use, window, kept, weights, measure, sums);
}

Box boxOf(const Window &window, const std::vector<int> &dims) {
  Box box;
  for (const int dim : dims)
    box.push_back(window[static_cast<std::size_t>(dim)]);
  return box;
}

/// The sum over one piece of the shared dims.
WeightedSum sumOfPiece(const Communicator &comm, const std::vector<TensorUse> &operands,
                       const Window &window, const std::vector<int> &shared, const Weights &weights,
                       Measure measure) {
  const auto size = static_cast<std::size_t>(volume(boxOf(window, shared)));
  std::vector<WeightedSum> sums(2 * size);
  // The weight of a dim that both operands have must count once.
  addPrimary(comm, operands[0], window, shared, weights, measure, sums.data());
  addPrimary(comm, operands[1], window, shared, weights.without(operands[0].dims), measure,
             sums.data() + size);
  sumSums(comm, sums);
  WeightedSum total;
  for (std::size_t i = 0; i < size; ++i) {
    total.value += sums[i].value * sums[size + i].value;
    total.measure += sums[i].measure * sums[size + i].measure;
  }
  return total;
}

} // namespace

std::vector<int> sharedDims(const std::vector<TensorUse> &operands) {
  std::vector<int> shared;
  if (operands.size() < 2)
    return shared;
  const std::vector<int> &others = operands[1].dims;
  for (const int dim : operands[0].dims)
    if (std::find(others.begin(), others.end(), dim) != others.end() &&
        std::find(shared.begin(), shared.end(), dim) == shared.end())
      shared.push_back(dim);
  return shared;
}

WeightedSum expectedSum(const Communicator &comm, const std::vector<TensorUse> &operands,
                        const Window &window, const Weights &weights, Measure measure,
                        int64_t chunk) {
  if (operands.size() == 1) {
    std::vector<WeightedSum> sum(1);
    addPrimary(comm, operands[0], window, {}, weights, measure, sum.data());
    sumSums(comm, sum);
    return sum.front();
  }
  const std::vector<int> shared = sharedDims(operands);
  WeightedSum total;
  for (const Box &piece : piecesOf(boxOf(window, shared), chunk)) {
    Window part = window;
    for (std::size_t i = 0; i < shared.size(); ++i)
      part[static_cast<std::size_t>(shared[i])] = piece[i];
    const WeightedSum sum = sumOfPiece(comm, operands, part, shared, weights, measure);
    total.value += sum.value;
    total.measure += sum.measure;
  }
  return total;
}

std::vector<WeightedSum> heldSums(const Communicator &comm, const TensorUse &result,
                                  const Window &window, const Weights &weights) {
  std::vector<WeightedSum> sums(static_cast<std::size_t>(comm.size()));
  addLocalSums(result, window, {}, weights, Measure::Square,
               &sums[static_cast<std::size_t>(comm.rank())]);
  sumSums(comm, sums);
  return sums;
}

WeightedSum primarySum(const Layout &layout, const std::vector<WeightedSum> &held) {
  WeightedSum total;
  for (std::size_t rank = 0; rank < held.size(); ++rank)
    if (layout.isPrimary(static_cast<int64_t>(rank))) {
      total.value += held[rank].value;
      total.measure += held[rank].measure;
    }
  return total;
}

} // namespace einsumc
