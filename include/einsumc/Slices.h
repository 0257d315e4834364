//===- Slices.h - a tree evaluated part by part -----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Pure arithmetic, like Layout.h: the compiler, which predicts memory, and the runtime, which loops
// over the slices, share it.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SLICES_H
#define EINSUMC_SLICES_H

#include <cstdint>
#include <vector>

namespace einsumc {

/// What the values of a tensor in the slices along one dim make together.
enum class SliceRole : uint8_t {
  Fills, ///< it has the dim: each slice is a part of it
  Adds,  ///< it is a sum over the dim: the slices add up to it
  Same,  ///< it does not depend on the dim: each slice has all of it
};

/// The number of slices: the product of the parts of every sliced dim, 1 without any.
int64_t countSlices(const std::vector<int64_t> &parts);

/// The part of every sliced dim that a slice is: the last dim's changes fastest.
/// \pre 0 <= slice < countSlices(parts)
std::vector<int64_t> sliceIndex(const std::vector<int64_t> &parts, int64_t slice);

/// Blocks of the size of a slice that it takes to add up an output in memory; none where no slices
/// add. One does where each sum is complete before the next begins; every dim that the output has
/// and that is sliced inside the loop over a dim that is summed needs one for each of its parts.
/// \param roles of the output, by sliced dim
int64_t countSumBlocks(const std::vector<int64_t> &parts, const std::vector<SliceRole> &roles);

/// What happens with an output's values in one slice.
struct SliceStep {
  bool counts = false;    ///< not where an earlier slice had the same values
  bool begins = false;    ///< nothing has been added up in the block so far
  bool completes = false; ///< nothing will be added any more
  int64_t block = 0;      ///< of those that countSumBlocks counts
};

/// \param index of the slice, by sliced dim
SliceStep sliceStep(const std::vector<int64_t> &parts, const std::vector<SliceRole> &roles,
                    const std::vector<int64_t> &index);

} // namespace einsumc

#endif // EINSUMC_SLICES_H
