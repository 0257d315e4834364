//===- NestDims.h - what a nest's dims look like in its tensors -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_LOWER_NESTDIMS_H
#define EINSUMC_LOWER_NESTDIMS_H

#include "compiler/lower/LocalNest.h"

namespace einsumc {

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Answers questions about the dims of a nest and their order in the tensors of its node.
class NestDims {
public:
  NestDims(const Tree &tree, NodeId node, const LocalNest &nest)
      : tree(tree), node(node), nest(nest) {}

  /// Where a dim stands in a role's tensor: the larger, the faster; -1 when it is not there.
  int speed(Role role, std::size_t dim) const;
  /// Whether neighbours along the dim are neighbours in the role's tensor.
  bool isUnit(Role role, std::size_t dim) const;
  /// The dims of a class, the fastest in the role's tensor first.
  std::vector<std::size_t> bySpeed(DimClass dimClass, Role role) const;
  /// The product of the extents of a class.
  int64_t extentOf(DimClass dimClass) const;
  /// Elements of the local result.
  int64_t resultSize() const;
  int64_t extent(std::size_t dim) const { return nest.dims[dim].extent; }

private:
  const Tree &tree;
  NodeId node;
  const LocalNest &nest;
};

/// The sides and loops of a node that moves more than it computes: its tensors are streamed
/// through, in place.
void streamNest(const NestDims &dims, LocalNest &nest);

/// The sides and loops of a node that computes more than it moves: blocks for the caches, packed.
/// \param elementBytes of the tensors
void blockNest(const NestDims &dims, int64_t elementBytes, LocalNest &nest);

} // namespace einsumc

#endif // EINSUMC_LOWER_NESTDIMS_H
