//===- Region.h - where the tensor of a slice lies in the whole one ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_REGION_H
#define EINSUMC_RUNTIME_REGION_H

#include "einsumc/Program.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace einsumc {

/// A box of a whole tensor, which a tensor that is evaluated in slices is at a time.
struct Region {
  std::vector<int64_t> extents; ///< of the whole tensor, one a position
  std::vector<int64_t> origin;  ///< of the region, one a position

  /// All of a tensor.
  explicit Region(const Layout &layout)
      : extents(layout.extents), origin(layout.extents.size(), 0) {}
  Region(std::vector<int64_t> extents, std::vector<int64_t> origin)
      : extents(std::move(extents)), origin(std::move(origin)) {}

  /// Indices of the whole tensor for those of the region.
  Box shifted(Box box) const {
    for (std::size_t p = 0; p < box.size(); ++p) {
      box[p].begin += origin[p];
      box[p].end += origin[p];
    }
    return box;
  }
  bool operator==(const Region &) const = default;
};

/// The region of a tensor in a slice; all of it along dims that are not sliced.
/// \param index the part of every sliced dim
Region regionOf(const ProgramDescription &description, int tensor,
                const std::vector<int64_t> &index);

/// The extents of a whole tensor.
std::vector<int64_t> wholeExtents(const ProgramDescription &description, int tensor);

/// The parts of every sliced dim.
std::vector<int64_t> slicePartsOf(const ProgramDescription &description);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_REGION_H
