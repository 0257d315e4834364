//===- SliceSums.cpp - memory in which the slices of outputs are added up ---------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "SliceSums.h"

#include "Region.h"

namespace einsumc {
namespace {

std::size_t bytesOf(const TensorView &view) {
  return view.held ? static_cast<std::size_t>(volume(view.box)) * sizeOf(view.dtype) : 0;
}

/// \param begins the sum is this slice's alone
template <class T> void addSlice(std::span<T> sum, std::span<const T> slice, bool begins) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] = begins ? slice[i] : sum[i] + slice[i];
}

} // namespace

SliceSums::SliceSums(Session &session, const ProgramDescription &description, Program &program)
    : description(description), program(program), parts(slicePartsOf(description)) {
  for (std::size_t i = 0; i < description.tensors.size(); ++i) {
    const auto tensor = static_cast<int>(i);
    const int64_t blocks = countSumBlocks(parts, description.tensors[i].sliceRoles);
    if (description.tensors[i].isOutput && blocks > 0)
      sums.emplace(tensor,
                   Buffer(session.memory(),
                          static_cast<std::size_t>(blocks) * bytesOf(program.output(tensor)),
                          MemoryUse::Tensors));
  }
}

SliceStep SliceSums::stepOf(int tensor, const std::vector<int64_t> &index) const {
  return sliceStep(parts, description.tensors[static_cast<std::size_t>(tensor)].sliceRoles, index);
}

std::optional<TensorView> SliceSums::add(int tensor, const std::vector<int64_t> &index) {
  const SliceStep step = stepOf(tensor, index);
  TensorView view = program.output(tensor);
  if (!step.counts)
    return std::nullopt;
  const auto found = sums.find(tensor);
  if (found == sums.end())
    return view;
  const TensorView slice = view;
  view.data = found->second.data() + static_cast<std::size_t>(step.block) * bytesOf(view);
  if (view.dtype == DType::F32)
    addSlice<float>(view.elements<float>(), slice.elements<float>(), step.begins);
  else
    addSlice<double>(view.elements<double>(), slice.elements<double>(), step.begins);
  return step.completes ? std::optional(view) : std::nullopt;
}

} // namespace einsumc
