//===- ComputeShapeTest.cpp - what is known of the blocks that a node computes with -----------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/ComputeShape.h"

#include "RandomLayout.h"
#include "SteppingSchedules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

using namespace einsumc;
using test::batchedProduct;
using test::forEachLoop;

namespace {

constexpr NodeId kProduct = 2;

/// All that ranks compute with, one rank and step after the other: the definition.
class AllSteps {
public:
  AllSteps(const Tree &tree, const std::vector<Layout> &stored)
      : tree(tree), stored(stored), sizes(tree.iterationDims(kProduct).size()),
        blockSizes(stored.size()), whole(stored.size()) {
    for (std::size_t role = 0; role < stored.size(); ++role) {
      blockSizes[role].resize(stored[role].extents.size());
      whole[role].resize(stored[role].extents.size(), true);
    }
  }

  /// All ranks compute at once.
  void add(const Layout &work) {
    for (int64_t r = 0; r < work.grid.size(); ++r) {
      const int64_t rank = work.grid.firstRank + r;
      std::vector<std::optional<Box>> blocks;
      for (const Layout &layout : stored)
        blocks.push_back(layout.holds(rank) ? std::optional(layout.box(rank)) : std::nullopt);
      add(work.box(rank), blocks);
    }
  }

  void add(const Stepping &stepping) {
    for (int64_t rank = 0; rank < stepping.work.grid.size(); ++rank) {
      const StepTable table(stepping, rank);
      for (std::size_t step = 0; step < table.steps(); ++step)
        if (volume(table.work(step)) > 0)
          add(stepping, table, step);
    }
  }

  void compare(const ComputeShape &shape) const {
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      EXPECT_EQ(shape.largest[d], *sizes[d].rbegin());
      EXPECT_EQ(shape.extents[d], only(sizes[d]));
      EXPECT_EQ(shape.mayBeEmpty[d], *sizes[d].begin() == 0);
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

  void add(const Stepping &stepping, const StepTable &table, std::size_t step) {
    std::vector<std::optional<Box>> blocks;
    for (std::size_t role = 0; role < stored.size(); ++role) {
      blocks.emplace_back();
      if (stored[role].holds(table.rank()))
        blocks.back() = stored[role].box(table.rank());
      for (std::size_t t = 0; t < stepping.travellers.size(); ++t)
        if (stepping.travellers[t].role == role && !table.isOwn(t, step))
          blocks.back() = table.chunk(t, step);
    }
    add(table.work(step), blocks);
  }

  /// \param blocks by role; none where the rank holds none
  void add(const Box &work, const std::vector<std::optional<Box>> &blocks) {
    for (std::size_t d = 0; d < work.size(); ++d)
      sizes[d].insert(work[d].size());
    for (std::size_t role = 0; role < blocks.size(); ++role) {
      const std::vector<DimId> &dims = dimsOf(tree, kProduct, static_cast<Role>(role));
      for (std::size_t p = 0; p < dims.size(); ++p) {
        const auto dim =
            static_cast<std::size_t>(std::ranges::find(tree.iterationDims(kProduct), dims[p]) -
                                     tree.iterationDims(kProduct).begin());
        const std::optional<Box> &block = blocks[role];
        whole[role][p] = whole[role][p] && block && (*block)[p] == work[dim];
        if (block)
          blockSizes[role][p].insert((*block)[p].size());
      }
    }
  }

  const Tree &tree;
  const std::vector<Layout> &stored;
  std::vector<std::set<int64_t>> sizes;
  std::vector<std::vector<std::set<int64_t>>> blockSizes;
  std::vector<std::vector<bool>> whole;
};

void expectAllSteps(const Tree &tree, const Stepping &stepping, const NodeSchedule &on) {
  std::vector<Layout> stored;
  for (const Role role : {Role::A, Role::B, Role::C})
    stored.push_back(
        layoutOf(tree, tensorOf(tree, kProduct, role), workPlacement(tree, kProduct, on, role)));
  SCOPED_TRACE(nodeScheduleText(tree, kProduct, on));
  AllSteps all(tree, stored);
  all.add(stepping);
  all.compare(computeShape(tree, kProduct, on, stored, stepping));
}

TEST(ComputeShape, isThatOfAllStepsOfAllRanks) {
  const Tree tree = batchedProduct();
  int loops = 0;
  for (const std::vector<int64_t> &extents : std::vector<std::vector<int64_t>>{
           {2}, {3}, {8}, {40}, {1, 4}, {2, 2}, {2, 3}, {4, 2}, {3, 9}, {40, 2}})
    forEachLoop(tree, kProduct, {extents, 0},
                [&](const Stepping &stepping, const NodeSchedule &on) {
                  expectAllSteps(tree, stepping, on);
                  ++loops;
                });
  EXPECT_GT(loops, 1000);
}

/// Of axes along which nothing travels the first and the last ranks stand for all.
TEST(ComputeShape, isThatOfAllRanksAlongFurtherAxes) {
  const Tree tree = batchedProduct();
  int loops = 0;
  const auto addAxis = [&](NodeSchedule on, std::size_t at, int64_t extent, AxisSchedule axis) {
    on.grid.extents.insert(on.grid.extents.begin() + static_cast<std::ptrdiff_t>(at), extent);
    on.axes.insert(on.axes.begin() + static_cast<std::ptrdiff_t>(at), axis);
    if (!checkNodeSchedule(tree, kProduct, on, on.grid.size()).empty())
      return;
    expectAllSteps(tree, *steppingOf(tree, kProduct, on), on);
    ++loops;
  };
  for (const std::vector<int64_t> &extents : std::vector<std::vector<int64_t>>{{3}, {5}, {3, 2}})
    forEachLoop(tree, kProduct, {extents, 0}, [&](const Stepping &, const NodeSchedule &on) {
      for (const DimId dim : tree.iterationDims(kProduct))
        for (const AxisPlacement &tensor : {copied(), partial()}) {
          const AxisSchedule axis = {dim, tensor, Movement::None, 1};
          for (std::size_t at = 0; at <= extents.size(); ++at)
            for (const int64_t extent : {4, 7, 17}) // Some blocks are empty, or of two sizes.
              if (extents.size() == 1 || extent == 4)
                addAxis(on, at, extent, axis);
        }
    });
  EXPECT_GT(loops, 1000);
}

TEST(ComputeShape, atOnceIsThatOfAllRanks) {
  const Tree tree = batchedProduct();
  const std::vector<DimId> &dims = tree.iterationDims(kProduct);
  constexpr int64_t kRanks = 80; // Some blocks are empty, and sizes next to each other.
  test::RandomLayouts layouts(11);
  for (int round = 0; round < 3000; ++round) {
    NodeSchedule on{layouts.grid(kRanks), {}};
    for (std::size_t axis = 0; axis < on.grid.extents.size(); ++axis) {
      const auto d = static_cast<std::size_t>(layouts.number(0, std::ssize(dims)));
      on.axes.push_back(
          {d < dims.size() ? std::optional(dims[d]) : std::nullopt, copied(), Movement::None, 1});
    }
    std::vector<Layout> stored;
    for (const Role role : {Role::A, Role::B, Role::C}) {
      const int64_t kind = layouts.number(0, 4);
      const Placement work = workPlacement(tree, kProduct, on, role);
      const std::vector<int64_t> extents = tree.extents(tensorOf(tree, kProduct, role));
      if (kind == 0) // Wherever it lies.
        stored.push_back(layouts.layout(extents, kRanks, false));
      else if (kind == 1) // On the same ranks, seen as one axis.
        stored.push_back(layouts.layout(extents, Grid{{on.grid.size()}, on.grid.firstRank}, false));
      else if (kind == 2)
        stored.push_back(layouts.layout(extents, on.grid, false));
      else
        stored.push_back({extents, work.grid, work.axes});
    }
    AllSteps all(tree, stored);
    all.add(workLayout(tree, kProduct, on));
    SCOPED_TRACE(nodeScheduleText(tree, kProduct, on));
    all.compare(computeShape(tree, kProduct, on, stored, std::nullopt));
  }
}

} // namespace
