//===- PrintStages.h - tree, order, dot and json of --emit ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_PRINTSTAGES_H
#define EINSUMC_TOOLS_PRINTSTAGES_H

#include "PlanTree.h"

#include "compiler/ir/Machine.h"

#include "llvm/Support/raw_ostream.h"

namespace einsumc {

/// The tree as .ein text. Behind a tensor that is stored in another order than it was declared in,
/// a comment has the declared one. Both trees are sliced; a comment at the head says how.
void printTree(const Tree &declared, const Tree &tree, const Slices &slices,
               llvm::raw_ostream &out);

/// The contractions in the order of evaluation with their flops and the elements of their results.
void printOrder(const Tree &tree, llvm::raw_ostream &out);

/// The planned tree as a graph in Graphviz's language: tensors with their placements, nodes with
/// their algorithms, edges with what has to move. Flops, seconds and bytes are those of all slices.
void printDot(const PlannedTree &planned, const Machine &machine, llvm::raw_ostream &out);

/// Tree, schedule and predictions as JSON: extents of one slice, predictions for all of
/// them, and the best algorithms of every node.
void printJson(const PlannedTree &planned, const Machine &machine, llvm::raw_ostream &out);

} // namespace einsumc

#endif // EINSUMC_TOOLS_PRINTSTAGES_H
