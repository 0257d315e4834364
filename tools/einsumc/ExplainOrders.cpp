//===- ExplainOrders.cpp - what the orders of intermediates save ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "ExplainOrders.h"

#include "compiler/plan/LocalCost.h"
#include "compiler/plan/OrderDims.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

namespace einsumc {

namespace {

/// `1.2e-05 s with X as A`
void printEstimate(const Tree &tree, const Machine &machine, NodeId id, llvm::raw_ostream &out) {
  const LocalCost cost = localCost(localWork(tree, id), machine);
  out << llvm::format("%.3g s", cost.seconds());
  const std::vector<Operand> &operands = tree.node(id).operands;
  if (operands.size() == 2)
    out << " with " << tree.node(operands[cost.swapped ? 1 : 0].node).name << " as A";
}

void explainTensor(const Tree &declared, const Tree &tree, const Machine &machine, NodeId tensor,
                   llvm::raw_ostream &out) {
  for (NodeId id = tensor; id < tree.size(); ++id) {
    const bool isUser = llvm::any_of(
        tree.node(id).operands, [&](const Operand &operand) { return operand.node == tensor; });
    if (id != tensor && !isUser)
      continue;
    out << "    " << (isUser ? "used by " : "computed as ") << tree.node(id).name << ": ";
    printEstimate(declared, machine, id, out);
    out << " -> ";
    printEstimate(tree, machine, id, out);
    out << "\n";
  }
}

} // namespace

void explainOrders(const Tree &declared, const Tree &tree, const Machine &machine,
                   const DimOrders &given, llvm::raw_ostream &out) {
  const double before = estimatedSeconds(declared, machine);
  const double after = estimatedSeconds(tree, machine);
  if (declared == tree) {
    out << llvm::format("dim orders: all as declared, %.3g s by the estimate for one rank\n",
                        before);
    return;
  }
  out << llvm::format("dim orders: %.3g s as declared, %.3g s as stored, by the estimate for one "
                      "rank: ",
                      before, after)
      << (after <= before ? "saves" : "costs")
      << llvm::format(" %.3g s (%.1f %%)\n", std::abs(before - after),
                      100 * std::abs(before - after) / before);
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Node &node = tree.node(id);
    if (node.dims == declared.node(id).dims)
      continue;
    out << "  " << tensorText(tree, node.name, declared.node(id).dims) << " -> "
        << tensorText(tree, node.name, node.dims)
        << (given.count(id) != 0 ? ", given by --plan\n" : "\n");
    explainTensor(declared, tree, machine, id, out);
  }
}

} // namespace einsumc
