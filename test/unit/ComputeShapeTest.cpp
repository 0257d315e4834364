//===- ComputeShapeTest.cpp - what is known of the blocks that a node computes with -----------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/ComputeShape.h"

#include "SteppingSchedules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace einsumc;
using test::batchedProduct;
using test::forEachLoop;

namespace {

constexpr NodeId kProduct = 2;

/// All that ranks compute with, one step after the other: the definition.
class AllSteps {
public:
  AllSteps(const Tree &tree, const std::vector<Layout> &stored, const Stepping &stepping)
      : tree(tree), sizes(stepping.work.extents.size()), blockSizes(stored.size()),
        whole(stored.size()) {
    for (std::size_t role = 0; role < stored.size(); ++role) {
      blockSizes[role].resize(stored[role].extents.size());
      whole[role].resize(stored[role].extents.size(), true);
    }
    for (int64_t rank = 0; rank < stepping.work.grid.size(); ++rank) {
      const StepTable table(stepping, rank);
      for (std::size_t step = 0; step < table.steps(); ++step)
        add(stored, stepping, table, step);
    }
  }

  void compare(const ComputeShape &shape) const {
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      EXPECT_EQ(shape.largest[d], *sizes[d].rbegin());
      EXPECT_EQ(shape.extents[d], only(sizes[d]));
      EXPECT_FALSE(shape.mayBeEmpty[d]);
    }
    for (std::size_t role = 0; role < whole.size(); ++role)
      for (std::size_t p = 0; p < whole[role].size(); ++p) {
        EXPECT_EQ(shape.blocks[role].isWhole[p], whole[role][p]) << role << " " << p;
        if (blockSizes[role][p].empty())
          continue;
        EXPECT_EQ(shape.blocks[role].largest[p],
                  std::max<int64_t>(1, *blockSizes[role][p].rbegin()));
        EXPECT_EQ(shape.blocks[role].extents[p], only(blockSizes[role][p]));
      }
  }

private:
  static std::optional<int64_t> only(const std::set<int64_t> &sizes) {
    return sizes.size() == 1 ? std::optional(*sizes.begin()) : std::nullopt;
  }

  void add(const std::vector<Layout> &stored, const Stepping &stepping, const StepTable &table,
           std::size_t step) {
    const Box work = table.work(step);
    if (volume(work) == 0)
      return;
    for (std::size_t d = 0; d < work.size(); ++d)
      sizes[d].insert(work[d].size());
    for (std::size_t role = 0; role < stored.size(); ++role) {
      bool holds = stored[role].holds(table.rank());
      Box block = stored[role].box(table.rank());
      for (std::size_t t = 0; t < stepping.travellers.size(); ++t)
        if (stepping.travellers[t].role == role && !table.isOwn(t, step)) {
          block = table.chunk(t, step);
          holds = true;
        }
      const std::vector<DimId> &dims = dimsOf(tree, kProduct, static_cast<Role>(role));
      for (std::size_t p = 0; p < block.size(); ++p) {
        const auto dim =
            static_cast<std::size_t>(std::ranges::find(tree.iterationDims(kProduct), dims[p]) -
                                     tree.iterationDims(kProduct).begin());
        whole[role][p] = whole[role][p] && holds && block[p] == work[dim];
        if (holds)
          blockSizes[role][p].insert(block[p].size());
      }
    }
  }

  const Tree &tree;
  std::vector<std::set<int64_t>> sizes;
  std::vector<std::vector<std::set<int64_t>>> blockSizes;
  std::vector<std::vector<bool>> whole;
};

TEST(ComputeShape, isThatOfAllStepsOfAllRanks) {
  const Tree tree = batchedProduct();
  int loops = 0;
  for (const std::vector<int64_t> &extents : std::vector<std::vector<int64_t>>{
           {2}, {3}, {8}, {40}, {1, 4}, {2, 2}, {2, 3}, {4, 2}, {3, 9}, {40, 2}})
    forEachLoop(tree, kProduct, {extents, 0},
                [&](const Stepping &stepping, const NodeSchedule &on) {
                  std::vector<Layout> stored;
                  for (const Role role : {Role::A, Role::B, Role::C})
                    stored.push_back(layoutOf(tree, tensorOf(tree, kProduct, role),
                                              workPlacement(tree, kProduct, on, role)));
                  const ComputeShape shape = computeShape(tree, kProduct, on, stored, stepping);
                  SCOPED_TRACE(nodeScheduleText(tree, kProduct, on));
                  AllSteps(tree, stored, stepping).compare(shape);
                  ++loops;
                });
  EXPECT_GT(loops, 1000);
}

} // namespace
