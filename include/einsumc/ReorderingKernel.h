//===- ReorderingKernel.h - products of blocks stored in different orders ---------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_REORDERINGKERNEL_H
#define EINSUMC_REORDERINGKERNEL_H

#include "einsumc/BlockKernel.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace einsumc {

/// Which blocks of a ReorderingKernel lie in scratch, where their dims have the kernel's order and
/// all elements are next to each other; the others are read and written in place.
struct ReorderingFormat {
  bool packsA = false, packsB = false;
  bool resultInScratch = false;
  /// The first so many dims are the vectors: a block in scratch of a tensor with some of them, but
  /// not all, is repeated along those that the tensor lacks; in the result these are parts of sums.
  std::size_t vectorDims = 1;
  bool pastCaches = false; ///< as in BlockFormat
};

/// Computes C = (accumulate ? C : 0) + sum of A * B over the dims that C lacks, for contractions
/// that memory limits and whose tensors have their dims in different orders: blocks are copied into
/// one order of the dims and multiplied along vectors of the first. With an extent of 0 there is
/// nothing to compute, and C is left alone.
template <class T> class ReorderingKernel {
public:
  /// \param dims at least one: those of all tensors, from the innermost to the outermost of a
  /// block, with their distances in each tensor, 0 in one that lacks the dim. Each is in two
  /// tensors at least. A tensor that is used in place either lacks all vector dims, or has them all
  /// and is contiguous along the first.
  ReorderingKernel(std::initializer_list<BlockDim> dims, const ReorderingFormat &format);

  /// Copies a block of the tensor A, whose first element is \p source, into scratch.
  /// \param counts the indices of each dim that the block has
  void packA(T *target, const T *source, std::initializer_list<int64_t> counts) const noexcept;
  /// The same of B.
  void packB(T *target, const T *source, std::initializer_list<int64_t> counts) const noexcept;

  /// Multiplies two blocks, packed or in place, on the calling thread.
  /// \param scratch for a block of C, if the format wants one
  /// \param counts the indices of each dim that the blocks have
  void operator()(const T *a, const T *b, T *c, T *scratch, std::initializer_list<int64_t> counts,
                  bool accumulate) const noexcept;

private:
  /// A loop through the blocks, where they lie or in scratch.
  struct Step {
    int64_t count, a, b, c;
  };
  /// No block has more dims of 2 and above.
  using Steps = std::array<Step, 63>;

  bool hasInScratch(int64_t BlockDim::*in, std::size_t dim) const;
  void place(int64_t BlockDim::*in, bool isInScratch, int64_t Step::*step,
             std::span<Step> steps) const noexcept;
  std::span<Step> layOut(std::initializer_list<int64_t> counts, Steps &steps) const noexcept;
  void pack(T *target, const T *source, int64_t BlockDim::*in, int64_t Step::*step,
            std::initializer_list<int64_t> counts) const noexcept;
  static bool areFetchingDots(std::span<const Step> steps);
  void fetch(const T *block, std::span<const Step> steps, int64_t Step::*step) const noexcept;
  void multiply(std::span<const Step> steps, const T *a, const T *b, T *c, bool accumulate,
                bool areFetching) const noexcept;
  void writeResult(std::span<const Step> steps, T *c, const T *block,
                   bool accumulate) const noexcept;

  std::vector<BlockDim> dims;
  ReorderingFormat format;
};

} // namespace einsumc

#endif // EINSUMC_REORDERINGKERNEL_H
