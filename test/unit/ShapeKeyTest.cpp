//===- ShapeKeyTest.cpp - what is alike but for names -----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "TreeText.h"

#include "compiler/ir/ShapeKey.h"
#include "compiler/plan/Algorithms.h"
#include "compiler/plan/CandidateLists.h"
#include "compiler/plan/ChoiceTables.h"
#include "compiler/plan/LocalCost.h"
#include "compiler/plan/NodeEstimate.h"
#include "compiler/plan/WorkCuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace einsumc {
namespace {

/// T and U differ in names; V has another order of dims, W another extent, X no sum.
Tree products() {
  return treeOf("dim a = 48, b = 48, c = 48, d = 48, e = 48, f = 20;"
                "input A[a, b]; input B[b, c]; input C[c, d]; input D[d, e]; input E[d, f];"
                "T[a, c] = A[a, b] * B[b, c]; U[a, d] = T[a, c] * C[c, d];"
                "output V[e, a] = U[a, d] * D[d, e]; W[a, f] = U[a, d] * E[d, f];"
                "output X[a, f] = W[a, f] * W[a, f];");
}

NodeId named(const Tree &tree, llvm::StringRef name) {
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.node(id).name == name)
      return id;
  return -1;
}

TEST(ShapeKey, IsTheSameWhereNamesAloneDiffer) {
  const Tree tree = products();
  const ShapeKey key = shapeOf(tree, named(tree, "T"));
  EXPECT_EQ(shapeOf(tree, named(tree, "U")), key);
  for (const char *other : {"V", "W", "X"})
    EXPECT_NE(shapeOf(tree, named(tree, other)), key) << other;
}

TEST(ShapeKey, SchedulesAreAlikeWhereTheyCutTheSameDims) {
  const Tree tree = products();
  const auto keyOf = [&](const char *name, std::size_t loop, Movement movement) {
    const NodeId node = named(tree, name);
    ShapeKey key;
    addSchedule(tree, node,
                {Grid{{4}, 0}, {{dimsInOrder(tree, node)[loop], split(0, 1), movement, 1}}}, key);
    return key;
  };
  EXPECT_EQ(keyOf("T", 1, Movement::Gather), keyOf("U", 1, Movement::Gather));
  EXPECT_NE(keyOf("T", 1, Movement::Gather), keyOf("U", 0, Movement::Gather));
  EXPECT_NE(keyOf("T", 1, Movement::Gather), keyOf("U", 1, Movement::Ring));
}

TEST(ShapeKey, PlacementsAreAlikeWhereEveryNumberIs) {
  const auto keyOf = [](const Placement &placement) {
    ShapeKey key;
    addPlacement(placement, key);
    return key;
  };
  const Placement placement{Grid{{4, 2}, 0}, {split(0, 0), split(0, 1)}};
  EXPECT_EQ(keyOf(placement), keyOf(placement));
  for (const Placement &other : {Placement{Grid{{4, 2}, 0}, {split(0, 1), split(0, 0)}},
                                 Placement{Grid{{4, 2}, 0}, {split(0, 0), split(1, 1)}},
                                 Placement{Grid{{4, 2}, 0}, {split(0, 0), copied()}},
                                 Placement{Grid{{4, 2}, 8}, {split(0, 0), split(0, 1)}},
                                 Placement{Grid{{2, 4}, 0}, {split(0, 0), split(0, 1)}}})
    EXPECT_NE(keyOf(other), keyOf(placement));
}

TEST(ShapeKey, EstimatesOfNodesThatAreAlikeAreTheirOwn) {
  const Tree tree = products();
  Machine machine;
  machine.threads = 64; // With equal shares, whatever tasks there are.
  NodeEstimate estimate(tree, machine, [](NodeId) { return true; });
  for (const char *name : {"T", "U", "V", "W", "X"})
    for (const int64_t ranks : {1, 2, 6, 64}) {
      const NodeId node = named(tree, name);
      const double alone = localCost(localWork(tree, node), machine, TeamShares::Equal).seconds();
      double expected = alone;
      if (ranks > 1) {
        double moved = 0;
        for (const Operand &operand : tree.node(node).operands)
          moved += tree.node(operand.node).kind == NodeKind::Input ? 0 : 1;
        expected = std::min(alone, roughSeconds(tree, node, machine, ranks, alone) +
                                       moved * std::log2(static_cast<double>(ranks)) *
                                           machine.linkOf(ranks).alpha);
      }
      EXPECT_EQ(estimate.node(node, ranks), expected) << name << " on " << ranks;
    }
}

TEST(ShapeKey, SuppliesOfNodesThatAreAlikeAreTheirOwn) {
  const Tree tree = products();
  const Machine machine;
  constexpr int64_t kRanks = 8;
  CandidateLists lists(tree, machine, kRanks);
  std::vector<TensorChoices> choices(static_cast<std::size_t>(tree.size()));
  for (NodeId id = 0; id < tree.size(); ++id) {
    TensorChoices &of = choices[static_cast<std::size_t>(id)];
    if (tree.node(id).kind == NodeKind::Input) {
      for (const AxisPlacement &on : {split(0), copied()})
        of.homes.push_back({Grid{{kRanks}, 0}, {on}});
      of.seconds = {0, 0};
      continue;
    }
    of.candidates = lists.of(id, {0, kRanks}, false);
    for (const Candidate &candidate : of.candidates) {
      of.homes.push_back(candidate.home);
      of.seconds.push_back(0);
    }
  }
  const ChoiceTables tables(tree, lists.transfers, kRanks, choices, false);
  for (std::size_t round = 0; round < 40; ++round) {
    std::vector<std::size_t> chosen;
    for (std::size_t id = 0; id < choices.size(); ++id)
      chosen.push_back((round * (id + 3) + id) % choices[id].homes.size());
    double seconds = 0;
    for (NodeId id = 0; id < tree.size(); ++id)
      for (std::size_t o = 0; o < tree.node(id).operands.size(); ++o) {
        const NodeId tensor = tree.node(id).operands[o].node;
        const auto from = static_cast<std::size_t>(tensor), to = static_cast<std::size_t>(id);
        const Candidate &candidate = choices[to].candidates[chosen[to]];
        seconds += lists.transfers.supplySeconds(tree, tensor, choices[from].homes[chosen[from]],
                                                 candidate.needs[o], candidate.areChunks[o]);
      }
    EXPECT_DOUBLE_EQ(tables.sum(chosen), seconds);
  }
}

} // namespace
} // namespace einsumc
