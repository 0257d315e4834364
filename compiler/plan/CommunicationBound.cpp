//===- CommunicationBound.cpp - how little a contraction can send -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/CommunicationBound.h"

#include "compiler/ir/Moves.h"
#include "compiler/plan/TransferCost.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace einsumc {

double communicationBound(const Tree &tree, NodeId node, int64_t ranks) {
  if (tree.node(node).kind != NodeKind::Product)
    return 0;
  std::array<double, 4> products = {1, 1, 1, 1}; // By class.
  for (const DimId dim : tree.iterationDims(node))
    products[static_cast<std::size_t>(classOf(tree, node, dim))] *=
        static_cast<double>(tree.dim(dim).extent);
  const double p = static_cast<double>(ranks) / products[static_cast<std::size_t>(DimClass::C)];
  if (p <= 1)
    return 0;
  std::array<double, 3> d = {products[1], products[2], products[3]};
  std::sort(d.begin(), d.end(), std::greater<>());
  const double share = (d[0] * d[1] + d[0] * d[2] + d[1] * d[2]) / p;
  double elements = 0;
  if (p <= d[0] / d[1])
    elements = d[1] * d[2] * (1 - 1 / p);
  else if (p <= d[0] * d[1] / (d[2] * d[2]))
    elements = 2 * std::sqrt(d[0] * d[1] * d[2] * d[2] / p) + d[0] * d[1] / p - share;
  else
    elements = 3 * std::pow(d[0] * d[1] * d[2] / p, 2.0 / 3) - share;
  return std::max(elements, 0.0) * static_cast<double>(sizeInBytes(tree.elementType()));
}

namespace {

class Moved {
public:
  Moved(const Tree &tree, const Schedule &schedule, NodeId node)
      : tree(tree), schedule(schedule), node(node),
        on(schedule.nodes[static_cast<std::size_t>(node)]), work(workLayout(tree, node, on)) {}

  RankTraffic run() {
    const NodeTraffic traffic = trafficOf(tree, schedule, node);
    for (std::size_t o = 0; o < traffic.operands.size(); ++o)
      addOperand(static_cast<Role>(o), traffic.operands[o]);
    const Placement home = storedPlacement(tree, node, on, Role::C);
    add(traffic.result * share(node, home), isSummed() ? used(Role::C) - evenShare(Role::C) : 0.0);
    if (const auto &final = schedule.finals[static_cast<std::size_t>(node)])
      add(traffic.final * std::max(share(node, home), share(node, *final)), 0);
    return result;
  }

private:
  void add(double moved, double atLeast) {
    result.moved += moved;
    result.held += std::max(atLeast - moved, 0.0);
  }

  /// What the first rank has before and what it gets then, in all at least what it uses.
  void addOperand(Role role, double traffic) {
    const NodeId tensor = tensorOf(tree, node, role);
    const Placement home = homePlacement(tree, schedule, tensor);
    const double beyond = has(home, AxisKind::Partial)
                              ? 0.0
                              : std::max(blockBytes(tree, tensor, home) - evenShare(role), 0.0);
    const double got = traffic * std::max(share(tensor, home),
                                          share(tensor, storedPlacement(tree, node, on, role)));
    const bool isRead = tree.node(tensor).kind == NodeKind::Input;
    add(isRead ? beyond + got : got, std::max(beyond + got, used(role) - evenShare(role)));
  }

  /// Of what ranks send or get of a tensor in such a placement, the busiest's.
  double share(NodeId tensor, const Placement &placement) const {
    return largestShare(layoutOf(tree, tensor, placement));
  }

  /// Whether the sums of the node are those of several ranks.
  bool isSummed() const {
    return llvm::any_of(on.axes, [&](const AxisSchedule &axis) {
      return axis.loopDim && classOf(tree, node, *axis.loopDim) == DimClass::K;
    });
  }

  /// Bytes of a tensor that the first rank, which has the most work, computes with.
  double used(Role role) const {
    const std::vector<DimId> &dims = tree.iterationDims(node);
    const Box box = work.box(on.grid.firstRank);
    double elements = 1;
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (llvm::is_contained(dimsOf(tree, node, role), dims[d]))
        elements *= static_cast<double>(box[d].size());
    return elements * static_cast<double>(sizeInBytes(tree.elementType()));
  }

  double evenShare(Role role) const {
    return static_cast<double>(tree.elements(tensorOf(tree, node, role)) *
                               sizeInBytes(tree.elementType())) /
           static_cast<double>(schedule.ranks);
  }

  const Tree &tree;
  const Schedule &schedule;
  const NodeId node;
  const NodeSchedule &on;
  const Layout work;
  RankTraffic result;
};

} // namespace

RankTraffic rankTraffic(const Tree &tree, const Schedule &schedule, NodeId node) {
  return Moved(tree, schedule, node).run();
}

} // namespace einsumc
