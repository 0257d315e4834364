//===- Region.cpp - where the tensor of a slice lies in the whole one -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Region.h"

namespace einsumc {

Region regionOf(const ProgramDescription &description, int tensor,
                const std::vector<int64_t> &index) {
  const TensorDescription &of = description.tensors[static_cast<std::size_t>(tensor)];
  Region region(of.layout);
  for (std::size_t p = 0; p < of.dims.size(); ++p)
    for (std::size_t s = 0; s < description.slices.size(); ++s)
      if (description.slices[s].dim == of.dims[p]) {
        region.origin[p] = index[s] * region.extents[p];
        region.extents[p] *= description.slices[s].parts;
      }
  return region;
}

std::vector<int64_t> wholeExtents(const ProgramDescription &description, int tensor) {
  const std::vector<int64_t> first(description.slices.size(), 0);
  return regionOf(description, tensor, first).extents;
}

std::vector<int64_t> slicePartsOf(const ProgramDescription &description) {
  std::vector<int64_t> parts;
  parts.reserve(description.slices.size());
  for (const SliceDescription &slice : description.slices)
    parts.push_back(slice.parts);
  return parts;
}

} // namespace einsumc
