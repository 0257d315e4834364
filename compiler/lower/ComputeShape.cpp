//===- ComputeShape.cpp - what is known of the blocks that a node computes with ---------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/ComputeShape.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace einsumc {

std::vector<std::optional<int64_t>> ComputeShape::Block::strides() const {
  std::vector<std::optional<int64_t>> result(extents.size());
  std::optional<int64_t> stride = 1;
  for (std::size_t p = extents.size(); p-- > 0;) {
    result[p] = stride;
    stride = stride && extents[p] ? std::optional(*stride * *extents[p]) : std::nullopt;
  }
  return result;
}

std::size_t ComputeShape::indexOf(DimId dim) const {
  return static_cast<std::size_t>(llvm::find(dims, dim) - dims.begin());
}

namespace {

/// What one rank computes with at a time.
struct Sample {
  Box work;
  std::vector<std::optional<Box>> blocks; ///< by role; nothing where the rank holds none
};

class Sampling {
public:
  Sampling(const Tree &tree, NodeId node, const NodeSchedule &schedule,
           const std::vector<Layout> &stored, const std::optional<Stepping> &stepping)
      : tree(tree), node(node), work(workLayout(tree, node, schedule)), stored(stored),
        stepping(stepping) {
    shape.dims = tree.iterationDims(node);
    shape.largest.resize(shape.dims.size(), 0);
    shape.mayBeEmpty.resize(shape.dims.size());
    for (const Layout &layout : stored) {
      const std::size_t positions = layout.extents.size();
      shape.blocks.push_back({std::vector<int64_t>(positions, 1), {}, {}});
      shape.blocks.back().isWhole.resize(positions, true);
    }
  }

  ComputeShape run() {
    for (int64_t rank = work.grid.firstRank; rank < work.grid.firstRank + work.grid.size(); ++rank)
      if (stepping)
        addSteps(rank);
      else
        add({work.box(rank), storedBlocks(rank)});
    return std::move(shape);
  }

private:
  std::vector<std::optional<Box>> storedBlocks(int64_t rank) const {
    std::vector<std::optional<Box>> blocks;
    for (const Layout &layout : stored)
      blocks.push_back(layout.holds(rank) ? std::optional(layout.box(rank)) : std::nullopt);
    return blocks;
  }

  void addSteps(int64_t rank) {
    const StepTable table(*stepping, rank);
    const std::vector<std::optional<Box>> home = storedBlocks(rank);
    for (std::size_t step = 0; step < table.steps(); ++step) {
      Sample sample{table.work(step), home};
      if (volume(sample.work) == 0)
        continue;
      for (std::size_t t = 0; t < stepping->travellers.size(); ++t)
        if (!table.isOwn(t, step))
          sample.blocks[stepping->travellers[t].role] = table.chunk(t, step);
      add(sample);
    }
  }

  void add(const Sample &sample) {
    for (std::size_t d = 0; d < sample.work.size(); ++d) {
      shape.largest[d] = std::max(shape.largest[d], sample.work[d].size());
      shape.mayBeEmpty[d] = shape.mayBeEmpty[d] || sample.work[d].empty();
    }
    narrow(shape.extents, sample.work);
    for (std::size_t b = 0; b < sample.blocks.size(); ++b)
      if (sample.blocks[b])
        addBlock(static_cast<Role>(b + 1 == sample.blocks.size() ? 2 : b), *sample.blocks[b],
                 sample.work, shape.blocks[b]);
      else
        shape.blocks[b].isWhole.assign(shape.blocks[b].isWhole.size(), false);
  }

  void addBlock(Role role, const Box &block, const Box &ofWork, ComputeShape::Block &result) {
    const std::vector<DimId> &dims = dimsOf(tree, node, role);
    for (std::size_t p = 0; p < block.size(); ++p) {
      result.largest[p] = std::max(result.largest[p], block[p].size());
      result.isWhole[p] = result.isWhole[p] && block[p] == ofWork[shape.indexOf(dims[p])];
    }
    narrow(result.extents, block);
  }

  /// Forgets the extents that are other ones in a box.
  static void narrow(std::vector<std::optional<int64_t>> &extents, const Box &box) {
    if (extents.empty()) // It is the first.
      for (const Interval &interval : box)
        extents.emplace_back(interval.size());
    for (std::size_t p = 0; p < box.size(); ++p)
      if (extents[p] && *extents[p] != box[p].size())
        extents[p] = std::nullopt;
  }

  const Tree &tree;
  const NodeId node;
  const Layout work;
  const std::vector<Layout> &stored;
  const std::optional<Stepping> &stepping;
  ComputeShape shape;
};

} // namespace

ComputeShape computeShape(const Tree &tree, NodeId node, const NodeSchedule &schedule,
                          const std::vector<Layout> &stored,
                          const std::optional<Stepping> &stepping) {
  return Sampling(tree, node, schedule, stored, stepping).run();
}

} // namespace einsumc
