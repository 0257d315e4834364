//===- GatherBlocks.cpp - the blocks of a tensor, one by one on rank 0 ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "GatherBlocks.h"

#include <algorithm>
#include <vector>

namespace einsumc {
namespace {

constexpr int kTag = 1;

std::vector<double> ownBlock(const TensorView &view) {
  std::vector<double> values(static_cast<std::size_t>(volume(view.box)));
  if (view.dtype == DType::F32)
    std::copy_n(reinterpret_cast<const float *>(view.data), values.size(), values.begin());
  else
    std::copy_n(reinterpret_cast<const double *>(view.data), values.size(), values.begin());
  return values;
}

} // namespace

void gatherBlocks(const Communicator &comm, const TensorView &view,
                  const std::function<bool(int64_t)> &wanted,
                  const std::function<void(int64_t, std::span<const double>)> &consume) {
  Requests requests(comm);
  if (comm.rank() != 0) {
    std::vector<double> values;
    if (wanted(comm.rank())) {
      values = ownBlock(view);
      requests.send(std::as_bytes(std::span(values)), 0, kTag);
    }
    requests.wait();
    return;
  }
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (!wanted(rank))
      continue;
    std::vector<double> values;
    if (rank == 0) {
      values = ownBlock(view);
    } else {
      values.resize(static_cast<std::size_t>(view.layout->localSize(rank)));
      requests.receive(std::as_writable_bytes(std::span(values)), rank, kTag);
      requests.wait();
    }
    consume(rank, values);
  }
}

void forEachElement(
    const Box &box, const std::vector<int64_t> &extents,
    const std::function<void(std::size_t, std::size_t, const std::vector<int64_t> &)> &visit) {
  const int64_t count = volume(box);
  std::vector<int64_t> index(box.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, stride = 1, offset = 0;
    for (std::size_t p = box.size(); p-- > 0; stride *= extents[p]) {
      index[p] = box[p].begin + rest % box[p].size();
      rest /= box[p].size();
      offset += stride * index[p];
    }
    visit(static_cast<std::size_t>(i), static_cast<std::size_t>(offset), index);
  }
}

} // namespace einsumc
