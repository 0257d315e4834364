//===- Slices.h - dims that a tree is evaluated along part by part ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_IR_SLICES_H
#define EINSUMC_IR_SLICES_H

#include "compiler/ir/Tree.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Lexer.h"

#include "einsumc/Slices.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace einsumc {

/// A dim that the whole tree is evaluated along part by part, one after the other, so that no rank
/// stores more than a part of what has the dim (the slicing of tensor networks: J. Chen et al.,
/// "Classical Simulation of Intermediate-Size Quantum Circuits", 2018, and J. Gray and S. Kourtis,
/// "Hyper-optimized tensor network contraction", Quantum 5, 2021).
struct Slice {
  DimId dim = 0;
  int64_t parts = 2; ///< of equal length
  bool operator==(const Slice &) const = default;
};

/// The sliced dims, the outermost loop first.
using Slices = std::vector<Slice>;

/// The parts of every sliced dim.
std::vector<int64_t> partsOf(const Slices &slices);

/// How many times the tree is evaluated: at least once.
int64_t countSlices(const Slices &slices);

/// Why the tree cannot be sliced so, in words; empty if it can. Each dim is sliced once, into at
/// least 2 parts that divide its extent, and some node iterates over it. A slice of every node must
/// be what the same slice of its operands gives:
///   - all uses of an input bind the same positions to the dim (also two: a diagonal's blocks are
///     then all that is needed), and uses of a result those that its definition does;
///   - what is summed over the dim is not multiplied by anything that depends on the dim.
std::string checkSlices(const Tree &tree, const Slices &slices);

/// The tree that is evaluated for each slice: the same nodes and dims, the sliced ones as long as
/// one part. Where the uses of an input give a position a dim that is sliced, or take it from one,
/// its definition names the dim that they do.
/// \pre checkSlices finds nothing
Tree slicedTree(const Tree &tree, const Slices &slices);

/// What a node's values in the slices make together, by sliced dim. The tree may be sliced or not.
/// \pre checkSlices finds nothing
std::vector<SliceRole> sliceRoles(const Tree &tree, const Slices &slices, NodeId node);

/// `d=8, e=3`
std::string slicesText(const Tree &tree, const Slices &slices);

/// `d in 8 parts of 12, e in 3 parts of 4`
/// \param tree the sliced one
std::string describeSlices(const Tree &tree, const Slices &slices);

/// Reads `d=8, e=3` to the end of the line (as `slicesText` writes it) and reports what is wrong.
/// \param tree as it is before it is sliced
std::optional<Slices> readSlices(Lexer &lexer, const Tree &tree, Diagnostics &diagnostics);

} // namespace einsumc

#endif // EINSUMC_IR_SLICES_H
