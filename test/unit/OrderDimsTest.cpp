//===- OrderDimsTest.cpp - the orders of intermediates of random trees ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/OrderDims.h"
#include "compiler/ir/ReadPlan.h"
#include "compiler/plan/Algorithms.h"
#include "compiler/plan/Plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace einsumc {
namespace {

/// Random trees with dims of few extents, so that uses may rename dims; tensors are used any number
/// of times, and any node may be an output.
class RandomTree {
public:
  /// \param rank of tensors at most
  RandomTree(unsigned seed, std::size_t rank, std::size_t intermediates)
      : random(seed), rank(rank), intermediates(intermediates) {}

  Tree make() {
    static constexpr int64_t kExtents[] = {1, 3, 8, 40};
    for (std::size_t d = 0; d < 10; ++d)
      dims.push_back({"d" + std::to_string(d), kExtents[d % 4 == 0 ? below(4) : 1 + below(3)]});
    for (std::size_t i = 0; i < 4; ++i) {
      nodes.push_back(nodeOf(NodeKind::Input, someDims(), {}));
      nodes.back().name = "I" + std::to_string(i);
    }
    std::size_t left = intermediates;
    while (left > 0 || !nodes.back().isOutput) {
      Node node = below(4) == 0 ? unary() : product();
      if (node.dims.size() > rank)
        continue;
      node.name = "T" + std::to_string(nodes.size());
      node.isOutput = left == 0 || below(5) == 0;
      left -= node.isOutput ? 0 : 1;
      nodes.push_back(std::move(node));
    }
    return Tree::make(below(2) == 0 ? ElementType::F32 : ElementType::F64, dims, nodes);
  }

private:
  std::size_t below(std::size_t n) { return random() % n; }

  std::vector<DimId> someDims() {
    std::vector<DimId> all(dims.size());
    for (std::size_t d = 0; d < all.size(); ++d)
      all[d] = static_cast<DimId>(d);
    std::shuffle(all.begin(), all.end(), random);
    all.resize(1 + below(rank));
    return all;
  }

  /// A use of a late tensor rather than of an early one, at times under other names.
  Operand use(bool mayRepeat) {
    const std::size_t from =
        below(2) == 0 ? 0 : nodes.size() - std::min<std::size_t>(3, nodes.size());
    Operand operand{static_cast<NodeId>(from + below(nodes.size() - from)), {}};
    operand.dims = nodes[static_cast<std::size_t>(operand.node)].dims;
    for (DimId &dim : operand.dims) {
      const auto other = static_cast<DimId>(below(dims.size()));
      const bool isUsed =
          std::find(operand.dims.begin(), operand.dims.end(), other) != operand.dims.end();
      if (dims[static_cast<std::size_t>(other)].extent ==
              dims[static_cast<std::size_t>(dim)].extent &&
          (mayRepeat || !isUsed))
        dim = other;
    }
    if (mayRepeat && below(2) == 0)
      takeDiagonal(operand.dims);
    return operand;
  }

  /// Gives positions of equal extents the same dim.
  void takeDiagonal(std::vector<DimId> &positions) const {
    for (DimId &dim : positions)
      dim = *std::find_if(positions.begin(), positions.end(), [&](DimId other) {
        return dims[static_cast<std::size_t>(other)].extent ==
               dims[static_cast<std::size_t>(dim)].extent;
      });
  }

  Node unary() {
    Operand operand = use(true);
    std::set<DimId> kept;
    for (DimId dim : operand.dims)
      if (below(4) != 0)
        kept.insert(dim);
    return nodeOf(NodeKind::Unary, {kept.begin(), kept.end()}, {std::move(operand)});
  }

  Node product() {
    Operand a = use(false);
    Operand b = use(false);
    std::set<DimId> kept(a.dims.begin(), a.dims.end());
    for (DimId dim : b.dims)
      if (!kept.insert(dim).second && below(3) != 0)
        kept.erase(dim);
    return nodeOf(NodeKind::Product, {kept.begin(), kept.end()}, {std::move(a), std::move(b)});
  }

  /// A node with its dims in any order, still without a name.
  Node nodeOf(NodeKind kind, std::vector<DimId> kept, std::vector<Operand> operands) {
    std::shuffle(kept.begin(), kept.end(), random);
    Node node;
    node.kind = kind;
    node.dims = std::move(kept);
    node.operands = std::move(operands);
    return node;
  }

  std::mt19937 random;
  std::size_t rank;
  std::size_t intermediates;
  std::vector<Dim> dims;
  std::vector<Node> nodes;
};

std::string printed(const Tree &tree) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  print(tree, stream);
  return text;
}

std::string printed(const Tree &tree, const Schedule &schedule) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  print(tree, schedule, stream);
  return text;
}

/// The least estimate over all permutations of all intermediates from a node on.
double leastSeconds(const Tree &tree, const Machine &machine, NodeId from = 0) {
  while (from < tree.size() && !isIntermediate(tree, from))
    ++from;
  if (from == tree.size())
    return estimatedSeconds(tree, machine);
  std::vector<DimId> order = tree.node(from).dims;
  std::sort(order.begin(), order.end());
  double least = std::numeric_limits<double>::infinity();
  do {
    least = std::min(least, leastSeconds(reordered(tree, {{from, order}}), machine, from + 1));
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

/// Estimates are compared in whole femtoseconds a node.
double tolerance(const Tree &tree) { return 1e-15 * tree.size(); }

TEST(OrderDims, IsTheBestOfAllPermutations) {
  int better = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const Tree tree = RandomTree(seed, 3, 1 + seed % 3).make();
    const Tree ordered = orderDims(tree, Machine{});
    EXPECT_NEAR(estimatedSeconds(ordered, Machine{}), leastSeconds(tree, Machine{}),
                tolerance(tree))
        << "seed " << seed << "\n"
        << printed(tree);
    better += ordered != tree ? 1 : 0;
  }
  EXPECT_GT(better, 15) << "the trees leave nothing to choose";
}

TEST(OrderDims, IsNeverWorseThanDeclared) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Tree tree = RandomTree(seed, 7, 12).make();
    EXPECT_LE(estimatedSeconds(orderDims(tree, Machine{}), Machine{}),
              estimatedSeconds(tree, Machine{}) + tolerance(tree))
        << "seed " << seed;
  }
}

TEST(OrderDims, KeepsInputsOutputsAndGivenOrders) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Tree tree = RandomTree(seed, 4, 6).make();
    DimOrders given;
    for (NodeId id = 0; id < tree.size(); id += 2)
      if (isIntermediate(tree, id))
        given[id] = {tree.node(id).dims.rbegin(), tree.node(id).dims.rend()};
    const Tree ordered = orderDims(tree, Machine{}, given);
    for (NodeId id = 0; id < tree.size(); ++id) {
      const auto wanted = given.find(id);
      if (wanted != given.end() || !isIntermediate(tree, id)) {
        EXPECT_EQ(ordered.node(id).dims,
                  wanted != given.end() ? wanted->second : tree.node(id).dims)
            << "seed " << seed;
      }
    }
  }
}

TEST(OrderDims, KeepsOrdersThatNothingBeats) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Tree ordered = orderDims(RandomTree(seed, 3, 3).make(), Machine{});
    EXPECT_EQ(printed(orderDims(ordered, Machine{})), printed(ordered)) << "seed " << seed;
  }
}

TEST(OrderDims, ReorderedBackIsTheSameTree) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Tree tree = RandomTree(seed, 5, 6).make();
    DimOrders declared;
    for (NodeId id = 0; id < tree.size(); ++id)
      if (isIntermediate(tree, id))
        declared[id] = tree.node(id).dims;
    EXPECT_EQ(printed(reordered(orderDims(tree, Machine{}), declared)), printed(tree))
        << "seed " << seed;
  }
}

/// An algorithm for every node that allows it, so that plans have travellers of all kinds.
PartialSchedule someAlgorithms(const Tree &tree, unsigned seed) {
  const std::vector<std::string> names = algorithmNames();
  PartialSchedule result;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.node(id).kind == NodeKind::Input)
      continue;
    const auto schedule =
        scheduleByName(tree, id, names[(seed + static_cast<unsigned>(id)) % names.size()], 4);
    if (const auto *node = std::get_if<NodeSchedule>(&schedule))
      result.nodes[id] = *node;
  }
  return result;
}

/// A plan that was printed for the ordered tree is read for the declared one.
TEST(OrderDims, PlansCarryTheOrders) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Tree tree = RandomTree(seed, 5, 6).make();
    const Tree ordered = orderDims(tree, Machine{});
    const std::string text =
        printed(ordered, plan(ordered, Machine{}, {4, someAlgorithms(ordered, seed)}));
    Diagnostics diagnostics;
    const std::optional<PartialSchedule> read =
        readPlan(diagnostics.addText("plan", text), tree, 4, diagnostics);
    ASSERT_TRUE(read) << text;
    const Tree again = orderDims(tree, Machine{}, read->orders);
    EXPECT_EQ(printed(again), printed(ordered));
    EXPECT_EQ(printed(again, plan(again, Machine{}, {4, reordered(*read, tree, again)})), text);
  }
}

} // namespace
} // namespace einsumc
