//===- ComputeShape.cpp - what is known of the blocks that a node computes with ---------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/ComputeShape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <map>
#include <utility>

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

/// A box as there are many thousands of, one after the other.
using Ranges = llvm::SmallVector<Interval, 8>;

/// \pre layout.holds(rank)
Ranges rangesOf(const Layout &layout, int64_t rank) {
  Ranges ranges;
  for (std::size_t position = 0; position < layout.extents.size(); ++position)
    ranges.push_back(layout.range(position, rank));
  return ranges;
}

/// What one rank computes with at a time.
struct Sample {
  Ranges work;
  llvm::SmallVector<std::optional<Ranges>, 3> blocks; ///< by role; nothing where the rank has none

  bool isEmpty() const {
    return llvm::any_of(work, [](const Interval &range) { return range.empty(); });
  }
};

/// The steps of the ranks that differ only in their coordinates on the axes of the travellers. All
/// have the same parts of the loop dim, from the same owners, in other orders.
class LineSteps {
public:
  struct Step {
    Interval range;
    llvm::SmallVector<int64_t, 2> owners; ///< by traveller: coordinate on its axis
  };

  /// \param rank one of them
  LineSteps(const Stepping &stepping, int64_t rank) {
    const StepTable table(stepping, rank);
    for (std::size_t s = 0; s < table.steps(); ++s) {
      Step step{table.range(s), {}};
      for (std::size_t t = 0; t < stepping.travellers.size(); ++t)
        step.owners.push_back(table.ownerPlace(t, s));
      const unsigned all = 1U << step.owners.size();
      for (unsigned owned = 0; owned < all; ++owned)
        lists[keyOf(owned, step.owners)][step.range.size()].push_back(steps.size());
      steps.push_back(std::move(step));
    }
  }

  /// Calls visit(step) for the first and the last of all steps that have parts of one size and
  /// chunks of the same travellers from this rank itself: if two of them differ at all in whether
  /// their part is some interval, then so do these.
  template <class Visit>
  void forSome(const llvm::SmallVector<int64_t, 2> &coordinates, Visit &&visit) const {
    for (unsigned owned = 0; owned < 1U << coordinates.size(); ++owned) {
      const auto found = lists.find(keyOf(owned, coordinates));
      if (found == lists.end())
        continue;
      const auto isAlike = [&](std::size_t s) { return ownedOf(steps[s], coordinates) == owned; };
      for (const auto &[size, list] : found->second) {
        const auto first = llvm::find_if(list, isAlike);
        if (first == list.end())
          continue;
        visit(steps[*first]);
        const auto last = std::find_if(list.rbegin(), list.rend(), isAlike);
        if (*last != *first)
          visit(steps[*last]);
      }
    }
  }

private:
  /// Which travellers' chunks a rank owns, and who owns those.
  using Key = std::pair<unsigned, llvm::SmallVector<int64_t, 2>>;
  static Key keyOf(unsigned owned, const llvm::SmallVector<int64_t, 2> &owners) {
    Key key{owned, {}};
    for (std::size_t t = 0; t < owners.size(); ++t)
      if ((owned >> t & 1) != 0)
        key.second.push_back(owners[t]);
    return key;
  }
  static unsigned ownedOf(const Step &step, const llvm::SmallVector<int64_t, 2> &coordinates) {
    unsigned owned = 0;
    for (std::size_t t = 0; t < coordinates.size(); ++t)
      owned |= step.owners[t] == coordinates[t] ? 1U << t : 0;
    return owned;
  }

  std::vector<Step> steps;
  /// Of all steps in which a rank owns these chunks, or more, by the size of their part.
  std::map<Key, std::map<int64_t, std::vector<std::size_t>>> lists;
};

/// The shape of what every rank computes at once, each position by itself.
class ShapeAtOnce {
public:
  ShapeAtOnce(const Tree &tree, NodeId node, const Layout &work, const std::vector<Layout> &stored)
      : tree(tree), node(node), work(work), stored(stored) {}

  /// Whether all ranks that compute, and no others, have blocks of all tensors: then every
  /// combination of coordinates counts.
  bool isPossible() const {
    return llvm::all_of(stored, [&](const Layout &layout) {
      return layout.grid.firstRank == work.grid.firstRank &&
             layout.grid.size() == work.grid.size() &&
             llvm::none_of(layout.axes,
                           [](const AxisPlacement &on) { return on.kind == AxisKind::Root; });
    });
  }

  ComputeShape run() const {
    ComputeShape shape;
    shape.dims = tree.iterationDims(node);
    for (std::size_t d = 0; d < shape.dims.size(); ++d) {
      const Sizes sizes = sizesOf(work, d);
      shape.largest.push_back(sizes.most);
      shape.extents.push_back(sizes.only());
      shape.mayBeEmpty.push_back(sizes.least == 0);
    }
    for (std::size_t b = 0; b < stored.size(); ++b) {
      const auto role = static_cast<Role>(b + 1 == stored.size() ? 2 : b);
      const std::vector<DimId> &dims = dimsOf(tree, node, role);
      ComputeShape::Block &block = shape.blocks.emplace_back();
      for (std::size_t p = 0; p < dims.size(); ++p) {
        const Sizes sizes = sizesOf(stored[b], p);
        block.largest.push_back(sizes.most);
        block.extents.push_back(sizes.only());
        block.isWhole.push_back(isWhole(stored[b], p, shape.indexOf(dims[p])));
      }
    }
    return shape;
  }

private:
  /// Of the blocks of a position. However it is cut, they differ by one at most.
  struct Sizes {
    int64_t least, most;
    std::optional<int64_t> only() const {
      return least == most ? std::optional(least) : std::nullopt;
    }
  };
  static Sizes sizesOf(const Layout &layout, std::size_t position) {
    const int64_t extent = layout.extents[position];
    const int64_t parts = partsAlong(layout.grid, layout.axes, position, layout.axes.size());
    return {extent / parts, firstBlock(extent, parts)};
  }

  /// Whether every rank has the indices of a dim that it computes with.
  bool isWhole(const Layout &layout, std::size_t position, std::size_t dim) const {
    if (areCutAlike(layout, position, dim))
      return true;
    for (int64_t rank = work.grid.firstRank; rank < work.grid.firstRank + work.grid.size(); ++rank)
      if (layout.range(position, rank) != work.range(dim, rank))
        return false;
    return true;
  }

  bool areCutAlike(const Layout &layout, std::size_t position, std::size_t dim) const {
    if (layout.grid != work.grid)
      return false;
    for (std::size_t axis = 0; axis < work.axes.size(); ++axis)
      if (cutOn(layout, axis, position) != cutOn(work, axis, dim))
        return false;
    return true;
  }
  /// The level of an axis that cuts a position.
  static std::optional<int> cutOn(const Layout &layout, std::size_t axis, std::size_t position) {
    const AxisPlacement &on = layout.axes[axis];
    const bool cuts = layout.grid.extents[axis] > 1 && on.kind == AxisKind::Split &&
                      on.position == static_cast<int>(position);
    return cuts ? std::optional(on.level) : std::nullopt;
  }

  const Tree &tree;
  const NodeId node;
  const Layout &work;
  const std::vector<Layout> &stored; ///< by role
};

/// Samples what all ranks compute with: the outermost, and of the steps of a loop, of which there
/// are as many as ranks, a few for each of them, that stand for all.
class Sampling {
public:
  Sampling(const Tree &tree, NodeId node, const Layout &work, const std::vector<Layout> &stored,
           const std::optional<Stepping> &stepping)
      : tree(tree), node(node), work(work), stored(stored), stepping(stepping) {
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
    for (const int64_t rank : outermostRanks(work.grid, axesOfKinds()))
      if (!stepping)
        add(atHome(rank));
      else if (stepping->travellers.front().movement == StepMovement::Stream)
        addAllSteps(rank); // They are few.
      else
        addSteps(rank);
    return std::move(shape);
  }

private:
  /// The axes along which ranks differ in more than the sizes of their blocks: those of travellers,
  /// or all if a tensor lies on another grid. On the same one a dim that is cut in another way than
  /// the work is shows where the first or the last coordinates meet.
  std::vector<bool> axesOfKinds() const {
    const bool isElsewhere =
        llvm::any_of(stored, [&](const Layout &layout) { return layout.grid != work.grid; });
    std::vector<bool> axes(work.grid.extents.size(), isElsewhere);
    if (stepping)
      for (const Traveller &of : stepping->travellers)
        axes[of.axis] = true;
    return axes;
  }

  /// All that a rank computes with, and what it stores.
  Sample atHome(int64_t rank) const {
    Sample sample{rangesOf(work, rank), {}};
    for (const Layout &layout : stored)
      sample.blocks.push_back(layout.holds(rank) ? std::optional(rangesOf(layout, rank))
                                                 : std::nullopt);
    return sample;
  }

  void addAllSteps(int64_t rank) {
    const StepTable table(*stepping, rank);
    const Sample home = atHome(rank);
    for (std::size_t step = 0; step < table.steps(); ++step) {
      Sample sample = home;
      sample.work[stepping->dim] = table.range(step);
      if (sample.isEmpty())
        continue;
      for (std::size_t t = 0; t < stepping->travellers.size(); ++t)
        if (!table.isOwn(t, step))
          sample.blocks[stepping->travellers[t].role] =
              chunkOf(t, table.owner(t, step), table.range(step));
      add(sample);
    }
  }

  void addSteps(int64_t rank) {
    const Sample home = atHome(rank);
    llvm::SmallVector<int64_t, 2> coordinates, strides;
    int64_t first = rank; // Of those on the same lines along the travellers' axes.
    for (const Traveller &traveller : stepping->travellers) {
      strides.push_back(work.grid.stride(traveller.axis));
      coordinates.push_back((rank - work.grid.firstRank) / strides.back() %
                            work.grid.extents[traveller.axis]);
      first -= coordinates.back() * strides.back();
    }
    linesFrom(first).forSome(coordinates, [&](const LineSteps::Step &step) {
      Sample sample = home;
      sample.work[stepping->dim] = step.range;
      if (sample.isEmpty())
        return;
      for (std::size_t t = 0; t < stepping->travellers.size(); ++t)
        if (const int64_t hops = step.owners[t] - coordinates[t]; hops != 0)
          sample.blocks[stepping->travellers[t].role] =
              chunkOf(t, rank + hops * strides[t], step.range);
      add(sample);
    });
  }

  /// As it lies in a slot. In place it has the strides of its owner's block: where these differ
  /// from a chunk's, the owner's steps and those of the first ranks, whose blocks are the largest,
  /// say so.
  Ranges chunkOf(std::size_t traveller, int64_t owner, const Interval &range) const {
    const Traveller &of = stepping->travellers[traveller];
    Ranges chunk = rangesOf(of.chunks, owner);
    chunk[of.position] = range;
    return chunk;
  }

  /// The steps of the ranks on the lines along the travellers' axes that begin at a rank.
  const LineSteps &linesFrom(int64_t first) {
    const auto known = lines.find(first);
    return known != lines.end() ? known->second
                                : lines.try_emplace(first, *stepping, first).first->second;
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

  void addBlock(Role role, const Ranges &block, const Ranges &ofWork, ComputeShape::Block &result) {
    const std::vector<DimId> &dims = dimsOf(tree, node, role);
    for (std::size_t p = 0; p < block.size(); ++p) {
      result.largest[p] = std::max(result.largest[p], block[p].size());
      result.isWhole[p] = result.isWhole[p] && block[p] == ofWork[shape.indexOf(dims[p])];
    }
    narrow(result.extents, block);
  }

  /// Forgets the extents that are other ones in a box.
  static void narrow(std::vector<std::optional<int64_t>> &extents, const Ranges &box) {
    if (extents.empty()) // It is the first.
      for (const Interval &interval : box)
        extents.emplace_back(interval.size());
    for (std::size_t p = 0; p < box.size(); ++p)
      if (extents[p] && *extents[p] != box[p].size())
        extents[p] = std::nullopt;
  }

  const Tree &tree;
  const NodeId node;
  const Layout &work;
  const std::vector<Layout> &stored;
  const std::optional<Stepping> &stepping;
  std::map<int64_t, LineSteps> lines; ///< by the first of their ranks
  ComputeShape shape;
};

} // namespace

ComputeShape computeShape(const Tree &tree, NodeId node, const NodeSchedule &schedule,
                          const std::vector<Layout> &stored,
                          const std::optional<Stepping> &stepping) {
  const Layout work = workLayout(tree, node, schedule);
  if (const ShapeAtOnce shape(tree, node, work, stored); !stepping && shape.isPossible())
    return shape.run();
  return Sampling(tree, node, work, stored, stepping).run();
}

} // namespace einsumc
