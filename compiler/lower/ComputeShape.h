//===- ComputeShape.h - what is known of the blocks that a node computes with -----------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_LOWER_COMPUTESHAPE_H
#define EINSUMC_LOWER_COMPUTESHAPE_H

#include "compiler/ir/Schedule.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace einsumc {

/// What is known, when a program is compiled, of what any rank computes with at a time: in the
/// steps of a stepping loop, or all at once.
struct ComputeShape {
  /// The block that holds a role's elements.
  struct Block {
    std::vector<int64_t> largest;                ///< by position: the largest extent, at least 1
    std::vector<std::optional<int64_t>> extents; ///< by position: where it is always the same
    /// By position: whether the block has there exactly the indices of the work, always.
    std::vector<bool> isWhole;

    /// Elements between neighbours along each position, where they are always the same.
    std::vector<std::optional<int64_t>> strides() const;
  };

  std::vector<DimId> dims;                     ///< that the node iterates over
  std::vector<int64_t> largest;                ///< by dim: the largest extent of the work
  std::vector<std::optional<int64_t>> extents; ///< by dim: where it is always the same
  std::vector<bool> mayBeEmpty;                ///< by dim: whether a rank may have nothing to do
  std::vector<Block> blocks;                   ///< by the roles that the node has

  std::size_t indexOf(DimId dim) const;
};

/// The shape of a node's work.
/// \param stored by role: the layouts in which the operands are found and the result is left
/// \param stepping the node's stepping loop, if it has one: its steps with nothing to do, which are
/// left out, do not count
ComputeShape computeShape(const Tree &tree, NodeId node, const NodeSchedule &schedule,
                          const std::vector<Layout> &stored,
                          const std::optional<Stepping> &stepping);

} // namespace einsumc

#endif // EINSUMC_LOWER_COMPUTESHAPE_H
