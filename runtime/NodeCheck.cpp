//===- NodeCheck.cpp - one node's result against its operands ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "NodeCheck.h"

#include "Format.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace einsumc {
namespace {

void addOnce(std::vector<int> &dims, int dim) {
  if (std::find(dims.begin(), dims.end(), dim) == dims.end())
    dims.push_back(dim);
}

template <class T> int64_t firstNonFiniteOf(const T *data, int64_t size) {
  for (int64_t i = 0; i < size; ++i)
    if (!std::isfinite(data[i]))
      return i;
  return -1;
}

/// The global row-major index of an element of a block.
int64_t globalIndex(int64_t local, const TensorView &view) {
  int64_t global = 0, stride = 1;
  for (std::size_t p = view.box.size(); p-- > 0; stride *= view.layout->extents[p]) {
    global += stride * (view.box[p].begin + local % view.box[p].size());
    local /= view.box[p].size();
  }
  return global;
}

} // namespace

NodeCheck::NodeCheck(const Communicator &comm, const ProgramDescription &description,
                     std::string name, TensorUse result, std::vector<TensorUse> operands,
                     int64_t chunk)
    : comm(comm), name(std::move(name)), dtype(description.dtype), result(std::move(result)),
      operands(std::move(operands)), chunk(chunk) {
  for (const DimDescription &dim : description.dims)
    whole.push_back({0, dim.extent});
  for (const int dim : this->result.dims)
    addOnce(resultDims, dim);
  for (const TensorUse &operand : this->operands)
    for (const int dim : operand.dims)
      if (std::find(resultDims.begin(), resultDims.end(), dim) == resultDims.end())
        addOnce(summed, dim);
}

double NodeCheck::terms() const {
  double terms = 1;
  for (const int dim : summed)
    terms *= static_cast<double>(whole[static_cast<std::size_t>(dim)].size());
  return terms;
}

std::string NodeCheck::entryName(const std::vector<int64_t> &index) const {
  std::vector<int64_t> positions;
  for (const int dim : result.dims)
    positions.push_back(index[static_cast<std::size_t>(
        std::find(resultDims.begin(), resultDims.end(), dim) - resultDims.begin())]);
  return name + formatIndex(positions);
}

std::optional<std::vector<int64_t>> firstNonFinite(const Communicator &comm,
                                                   const TensorView &view) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  int64_t first = kNone;
  if (view.held) {
    const int64_t size = volume(view.box);
    const int64_t local = view.dtype == DType::F32
                              ? firstNonFiniteOf(reinterpret_cast<const float *>(view.data), size)
                              : firstNonFiniteOf(reinterpret_cast<const double *>(view.data), size);
    if (local >= 0)
      first = globalIndex(local, view);
  }
  first = -first;
  maxOverRanks(comm, std::span(&first, 1));
  first = -first;
  if (first == kNone)
    return std::nullopt;
  const std::vector<int64_t> &extents = view.layout->extents;
  std::vector<int64_t> index(extents.size());
  for (std::size_t p = extents.size(); p-- > 0; first /= extents[p])
    index[p] = first % extents[p];
  return index;
}

} // namespace einsumc
