//===- Limits.h - what the readers refuse -----------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_FRONTEND_LIMITS_H
#define EINSUMC_FRONTEND_LIMITS_H

#include <cstddef>

namespace einsumc {

// Far beyond what a tensor expression needs, and low enough that no text of a few megabytes makes
// a reader or a later stage take time or memory out of proportion.

/// Dims of a tensor, written or in between.
inline constexpr std::size_t kMaxRank = 64;
/// Dims of a text.
inline constexpr std::size_t kMaxDims = 1U << 16U;
/// Tensors of a text, those that parentheses and paths make included.
inline constexpr std::size_t kMaxTensors = 1U << 16U;
/// Factors of one product.
inline constexpr std::size_t kMaxFactors = 1U << 14U;
/// Depth of parentheses and brackets.
inline constexpr int kMaxNesting = 256;

} // namespace einsumc

#endif // EINSUMC_FRONTEND_LIMITS_H
