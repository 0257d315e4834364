//===- CandidateLists.cpp - the candidates of a tree's nodes, each list made once -------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/CandidateLists.h"

#include "compiler/support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

namespace einsumc {

CandidateLimits limitsFor(const Tree &tree, bool isRough) {
  constexpr NodeId kFewNodes = 8, kSomeNodes = 24;
  if (tree.size() > kSomeNodes)
    return {{5, 6, 1, false}, 2, 16, false};
  if (isRough)
    return {{5, 6, 1, false}, 2, 32, false};
  if (tree.size() > kFewNodes)
    return {{6, 12, 1, true}, 2, 32, false};
  return {{8, 48, 3, true}, 3, 96, false};
}

std::vector<int> lifetimesFrom(const Tree &tree, NodeId node) {
  std::vector<int> lifetimes(tree.dims().size());
  for (NodeId id = node; id < tree.size(); ++id)
    for (const DimId dim : tree.node(id).dims)
      ++lifetimes[static_cast<std::size_t>(dim)];
  return lifetimes;
}

ShapeKey CandidateLists::keyOf(NodeId node) const {
  ShapeKey key = shapeOf(tree, node);
  key.push_back(tree.node(node).isOutput ? 1 : 0);
  // Only where some dims are not cut does it matter how long they live.
  const std::vector<DimId> dims = dimsInOrder(tree, node);
  if (dims.size() > limits.cuts.dims) {
    const std::vector<int> lifetimes = lifetimesFrom(tree, node);
    for (const DimId dim : dims)
      key.push_back(lifetimes[static_cast<std::size_t>(dim)]);
  }
  for (const Role role : rolesOf(tree, node)) {
    const NodeId tensor = tensorOf(tree, node, role);
    key.push_back(tree.node(tensor).pin.kind == Pin::Kind::Root ? 1 : 0);
    // Rings over what is spent need less memory.
    key.push_back(role != Role::C && isReadLast(tree, node, tensor) ? 1 : 0);
  }
  return key;
}

void CandidateLists::prepare(llvm::ArrayRef<NodeOn> wanted, bool isSparing) {
  struct Missing {
    const NodeOn &on;
    std::vector<Candidate> &list;
    NodeId first; ///< of its shape
  };
  std::vector<Missing> shapes, alike;
  for (const NodeOn &on : wanted) {
    const Situation situation = situationOf(on.ranks, isSparing);
    const auto [list, isMissing] = known.try_emplace({on.node, situation});
    if (!isMissing)
      continue;
    const auto [first, isNew] = firstOfShape.try_emplace({keyOf(on.node), situation}, on.node);
    (isNew ? shapes : alike).push_back({on, list->second, first->second});
  }
  CandidateLimits with = limits;
  with.isSparing = isSparing;
  forAll(shapes.size(), [&](std::size_t s) {
    const auto &[node, ranks] = shapes[s].on;
    shapes[s].list =
        candidatesOf(tree, node, machine, transfers, ranks, lifetimesFrom(tree, node), with);
  });
  for (const Missing &of : alike)
    of.list =
        renamed(known.at({of.first, situationOf(of.on.ranks, isSparing)}), of.first, of.on.node);
}

const std::vector<Candidate> &CandidateLists::of(NodeId node, const RankRange &ranks,
                                                 bool isSparing) {
  prepare({{node, ranks}}, isSparing);
  return known.at({node, situationOf(ranks, isSparing)});
}

std::vector<Candidate> CandidateLists::renamed(std::vector<Candidate> list, NodeId from,
                                               NodeId to) const {
  const std::vector<DimId> before = dimsInOrder(tree, from), after = dimsInOrder(tree, to);
  for (Candidate &candidate : list)
    for (AxisSchedule &axis : candidate.schedule.axes)
      if (axis.loopDim)
        axis.loopDim =
            after[static_cast<std::size_t>(llvm::find(before, *axis.loopDim) - before.begin())];
  return list;
}

const Candidate &CandidateLists::of(NodeId node, const NodeSchedule &fixed) {
  const auto at = given.find(node);
  return at != given.end() ? at->second
                           : given.emplace(node, candidateOf(tree, node, fixed, machine, transfers))
                                 .first->second;
}

} // namespace einsumc
