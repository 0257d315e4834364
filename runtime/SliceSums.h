//===- SliceSums.h - memory in which the slices of outputs are added up -----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_SLICESUMS_H
#define EINSUMC_RUNTIME_SLICESUMS_H

#include "einsumc/Program.h"
#include "einsumc/Slices.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace einsumc {

/// The sums over slices of those outputs that have some, in their final layout: of as many blocks
/// as `countSumBlocks` says, on one rank.
class SliceSums {
public:
  /// \throws std::bad_alloc
  SliceSums(Session &session, const ProgramDescription &description, Program &program);

  /// What an output's values in a slice are good for.
  /// \param index of the slice, by sliced dim
  SliceStep stepOf(int tensor, const std::vector<int64_t> &index) const;
  /// Whether slices of the output are added up at all.
  bool hasSums(int tensor) const { return sums.contains(tensor); }
  /// Adds an output of the slice that has just been evaluated, where it counts. Returns the region
  /// of the output that is complete now, if it is: a sum, or the slice's output itself. It stays so
  /// up to the next slice.
  std::optional<TensorView> add(int tensor, const std::vector<int64_t> &index);

private:
  const ProgramDescription &description;
  Program &program;
  std::vector<int64_t> parts;
  std::map<int, Buffer> sums; ///< by output: all its blocks
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_SLICESUMS_H
