//===- LocalSums.h - weighted sums over the block that a rank holds ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_LOCALSUMS_H
#define EINSUMC_RUNTIME_LOCALSUMS_H

#include "einsumc/Program.h"

#include <cstdint>
#include <vector>

namespace einsumc {

/// A tensor with the dims that a node gives its positions; dims may repeat (a diagonal).
struct TensorUse {
  TensorView view;
  std::vector<int> dims;
};

/// The indices of each dim of the program that a sum runs over.
using Window = std::vector<Interval>;

/// A random weight for every index of some dims; an element's is the product over its dims. Weights
/// are +-[1, 2): random signs make errors add up like a random walk, and random magnitudes let no
/// two errors of equal size cancel.
class Weights {
public:
  Weights() = default; ///< no dims: all weights are 1
  Weights(uint64_t seed, std::vector<int> dims) : seed(seed), dims(std::move(dims)) {}

  bool has(int dim) const;
  /// \pre has(dim)
  double of(int dim, int64_t index) const;
  /// The weights of those dims that are not among \p others.
  Weights without(const std::vector<int> &others) const;

private:
  uint64_t seed = 0;
  std::vector<int> dims;
};

/// What is summed of the weighted values besides themselves, to say how large their errors may be.
enum class Measure { Absolute, Square };

struct WeightedSum {
  double value = 0;
  double measure = 0;
};

/// Adds this rank's elements inside the window, each times its weight, to \p sums, which is dense
/// and row-major over the window's indices of the dims in \p kept; all other dims are summed.
void addLocalSums(const TensorUse &use, const Window &window, const std::vector<int> &kept,
                  const Weights &weights, Measure measure, WeightedSum *sums);

/// A well mixed 64-bit number for each argument (SplitMix64's finaliser).
uint64_t mixBits(uint64_t value);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_LOCALSUMS_H
