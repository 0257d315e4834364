//===- WorkCuts.cpp - the ways to cut a node's work over ranks --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/WorkCuts.h"

#include "compiler/ir/Schedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace einsumc {

namespace {

constexpr std::size_t kMostAxes = 3;

/// A cut is too slow for any neighbour's sake when it takes so many times as long as the best one,
/// and the moves that would make this one fit.
constexpr double kFar = 2;

/// A dim of the node as cuts see it.
struct CutDim {
  DimId dim;
  int64_t extent;
  DimClass dimClass;
  std::array<bool, 3> in; ///< by role
};

/// The largest number up to a bound of the form base^power.
int64_t powerBelow(int64_t bound, int power) {
  auto base = static_cast<int64_t>(std::pow(static_cast<double>(bound), 1.0 / power) + 1e-9);
  int64_t result = 1;
  for (int i = 0; i < power; ++i)
    result *= base;
  return result;
}

/// From 2 on, in ascending order.
std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> small, large;
  for (int64_t divisor = 1; divisor <= number / divisor; ++divisor)
    if (number % divisor == 0) {
      if (divisor > 1)
        small.push_back(divisor);
      if (number / divisor > divisor)
        large.push_back(number / divisor);
    }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

class Enumeration {
public:
  Enumeration(const Tree &tree, NodeId node, const Machine &machine, int64_t ranks,
              const std::vector<int> &lifetimes, const CutLimits &limits,
              std::size_t mostAxes = kMostAxes, double slowdown = 1)
      : machine(machine), limits(limits), mostRanks(ranks), slowdown(slowdown),
        link(machine.linkOf(ranks)), flops(machine.flopsPerSecond(tree.elementType())),
        elementBytes(static_cast<double>(sizeInBytes(tree.elementType()))) {
    chooseDims(tree, node, lifetimes);
    for (const Role role : rolesOf(tree, node)) {
      double &share = shares[static_cast<std::size_t>(role)];
      share = static_cast<double>(tree.elements(tensorOf(tree, node, role))) /
              static_cast<double>(ranks);
      bridge += 2 * (link.beta * elementBytes * share +
                     link.alpha * (1 + std::log2(static_cast<double>(ranks))));
    }
    const std::vector<int64_t> sizes = usefulSizes(ranks);
    // Cubes of few ranks are for those who have no more.
    for (const int64_t size : sizes)
      enumerate(size, 2 * size > ranks ? mostAxes : std::min<std::size_t>(mostAxes, 2));
  }

  /// The least of the bounds; infinite if there is nothing to cut.
  double least() const { return best; }

  std::vector<WorkCut> run() {
    std::vector<const Found *> byTime;
    for (const Found &candidate : found)
      if (candidate.seconds <= kFar * best + bridge)
        byTime.push_back(&candidate);
    llvm::stable_sort(byTime,
                      [](const Found *a, const Found *b) { return a->seconds < b->seconds; });
    std::map<Kind, std::size_t> ofKind;
    std::set<int64_t> sizes;
    std::set<DimClass> lines;
    std::vector<WorkCut> kept;
    for (const Found *candidate : byTime) {
      std::size_t &count = ofKind[kindOf(*candidate)];
      const bool isFirstOfSize = sizes.insert(sizeOf(*candidate)).second;
      // Of all ranks along one dim, which neighbours often have in common, also the first of every
      // class: the bound does not know that an operand may lie where it is needed anyway.
      const bool isFirstLine = candidate->loops.size() == 1 && sizeOf(*candidate) == mostRanks &&
                               lines.insert(dims[candidate->loops[0]].dimClass).second;
      if (count >= (kept.size() >= limits.best ? limits.eachKind : limits.best / 3) &&
          !isFirstOfSize && !isFirstLine)
        continue;
      ++count;
      WorkCut cut = cutOf(*candidate);
      if (limits.allOrders)
        addOtherOrders(cut, kept);
      kept.push_back(std::move(cut));
    }
    return kept;
  }

private:
  /// Of how many axes the dims are of each class.
  using Kind = std::array<std::size_t, 4>;

  /// A cut, by the indices of its dims in the list.
  struct Found {
    double seconds;
    llvm::SmallVector<int64_t, kMostAxes> extents;
    llvm::SmallVector<std::size_t, kMostAxes> loops;
  };

  static int64_t sizeOf(const Found &cut) {
    return std::accumulate(cut.extents.begin(), cut.extents.end(), int64_t{1}, std::multiplies<>());
  }

  void chooseDims(const Tree &tree, NodeId node, const std::vector<int> &lifetimes) {
    const std::vector<Role> roles = rolesOf(tree, node);
    for (const DimId dim : tree.iterationDims(node)) {
      CutDim cut{dim, tree.dim(dim).extent, classOf(tree, node, dim), {}};
      for (const Role role : roles)
        cut.in[static_cast<std::size_t>(role)] = llvm::is_contained(dimsOf(tree, node, role), dim);
      dims.push_back(cut);
    }
    if (dims.size() > limits.dims) {
      std::vector<CutDim> byUse = dims;
      llvm::stable_sort(byUse, [&](const CutDim &a, const CutDim &b) {
        return std::tuple(a.extent, lifetimes[static_cast<std::size_t>(a.dim)]) >
               std::tuple(b.extent, lifetimes[static_cast<std::size_t>(b.dim)]);
      });
      for (std::size_t d = limits.dims; d < byUse.size(); ++d)
        addRest(byUse[d]);
      byUse.resize(limits.dims);
      dims = std::move(byUse);
    }
    llvm::erase_if(dims, [](const CutDim &dim) { return dim.extent == 1; });
    // In the order of the tree's dims, so that equal tensors are cut alike.
    llvm::sort(dims, [](const CutDim &a, const CutDim &b) { return a.dim < b.dim; });
  }

  /// A dim that is never cut.
  void addRest(const CutDim &dim) {
    uncut.all *= static_cast<double>(dim.extent);
    for (std::size_t role = 0; role < 3; ++role)
      if (dim.in[role])
        uncut.of[role] *= static_cast<double>(dim.extent);
  }

  void enumerate(int64_t size, std::size_t mostAxes) {
    divisors = divisorsOf(size);
    for (std::size_t axes = 1; axes <= mostAxes; ++axes)
      if (size > 1)
        addAxis(size, axes, 0);
  }

  /// Cuts with so many axes more, along dims not before one in the list.
  void addAxis(int64_t size, std::size_t axes, std::size_t firstDim) {
    if (axes == 0) {
      const double seconds = bound();
      best = std::min(best, seconds);
      if (seconds <= kFar * best + bridge) // Others are too far from the best for certain.
        found.push_back({seconds, extents, loops});
      return;
    }
    for (const int64_t extent : divisors) {
      if (size % extent != 0 || (axes == 1) != (extent == size))
        continue;
      extents.push_back(extent);
      stages.push_back(std::log2(static_cast<double>(extent)));
      for (std::size_t d = firstDim; d < dims.size(); ++d) {
        loops.push_back(d);
        addAxis(size / extent, axes - 1, d);
        loops.pop_back();
      }
      extents.pop_back();
      stages.pop_back();
    }
  }

  WorkCut cutOf(const Found &of) const {
    WorkCut cut{{of.extents.begin(), of.extents.end()}, {}};
    for (const std::size_t loop : of.loops)
      cut.loops.push_back(dims[loop].dim);
    return cut;
  }

  Kind kindOf(const Found &of) const {
    Kind kind = {};
    for (const std::size_t loop : of.loops)
      ++kind[static_cast<std::size_t>(dims[loop].dimClass)];
    return kind;
  }

  struct Volumes {
    double all = 1;                       ///< iterations
    std::array<double, 3> of = {1, 1, 1}; ///< elements, by role
  };

  /// Seconds that the busiest rank takes at least with the present cut.
  double bound() const {
    Volumes block = uncut;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      int64_t parts = 1;
      for (std::size_t axis = 0; axis < loops.size(); ++axis)
        parts *= loops[axis] == d ? extents[axis] : 1;
      const auto extent = static_cast<double>((dims[d].extent + parts - 1) / parts);
      block.all *= extent;
      for (std::size_t role = 0; role < 3; ++role)
        block.of[role] *= dims[d].in[role] ? extent : 1;
    }
    double messages = 0;
    for (std::size_t axis = 0; axis < loops.size(); ++axis)
      for (std::size_t role = 0; role < 3; ++role)
        if (!dims[loops[axis]].in[role])
          messages += stages[axis];
    double touched = 0, moved = 0;
    for (std::size_t role = 0; role < 3; ++role) {
      touched += block.of[role];
      moved += std::max(block.of[role] - shares[role], 0.0);
    }
    const double compute = slowdown * std::max(2 * block.all / flops,
                                               touched * elementBytes / machine.memoryBandwidth);
    const double transfer = moved * elementBytes * link.beta + messages * link.alpha;
    constexpr double kShare = 0.1; // Of transfers that hide.
    return std::max(compute, transfer) + kShare * std::min(compute, transfer);
  }

  /// The same with the axes in other orders, which suits the grids of other nodes.
  static void addOtherOrders(const WorkCut &cut, std::vector<WorkCut> &kept) {
    llvm::SmallVector<std::size_t, kMostAxes> order;
    for (std::size_t axis = 0; axis < cut.loops.size(); ++axis)
      order.push_back(axis);
    while (std::next_permutation(order.begin(), order.end())) {
      WorkCut other;
      for (const std::size_t axis : order) {
        other.extents.push_back(cut.extents[axis]);
        other.loops.push_back(cut.loops[axis]);
      }
      if (other != cut && !llvm::is_contained(kept, other))
        kept.push_back(std::move(other));
    }
  }

  const Machine &machine;
  const CutLimits &limits;
  const int64_t mostRanks;
  const double slowdown; ///< of compute, over what flops and bandwidth allow
  const Link &link;
  const double flops, elementBytes;
  std::vector<CutDim> dims;
  Volumes uncut;
  std::array<double, 3> shares = {}; ///< elements of each tensor over all ranks, by role
  double bridge = 0;                 ///< seconds to move every tensor twice, all ranks a share
  llvm::SmallVector<int64_t, kMostAxes> extents;
  llvm::SmallVector<double, kMostAxes> stages; ///< by axis: the logarithm of the extent
  llvm::SmallVector<std::size_t, kMostAxes> loops;
  double best = std::numeric_limits<double>::infinity(); ///< seconds of the cuts so far
  std::vector<int64_t> divisors;                         ///< of the size of the present grids
  std::vector<Found> found;
};

} // namespace

std::vector<int64_t> usefulSizes(int64_t ranks) {
  std::set<int64_t, std::greater<>> sizes;
  constexpr int64_t kFew = 16, kFewer = 4;
  for (int64_t size = 2; ranks <= kFew && size <= ranks; ++size)
    sizes.insert(size);
  int64_t twos = 1;
  while (2 * twos <= ranks)
    twos *= 2;
  for (const int64_t size : {ranks, powerBelow(ranks, 2), powerBelow(ranks, 3), twos})
    if (2 * size > ranks && size > 1)
      sizes.insert(size);
  for (int64_t size = twos / kFewer; size > 1; size /= kFewer)
    sizes.insert(size);
  return {sizes.begin(), sizes.end()};
}

std::vector<WorkCut> workCuts(const Tree &tree, NodeId node, const Machine &machine, int64_t ranks,
                              const std::vector<int> &lifetimes, const CutLimits &limits) {
  return Enumeration(tree, node, machine, ranks, lifetimes, limits).run();
}

double roughSeconds(const Tree &tree, NodeId node, const Machine &machine, int64_t ranks,
                    double alone) {
  double bytes = 0;
  for (const Role role : rolesOf(tree, node))
    bytes += static_cast<double>(tree.elements(tensorOf(tree, node, role)) *
                                 sizeInBytes(tree.elementType()));
  const double ideal = std::max(tree.flops(node) / machine.flopsPerSecond(tree.elementType()),
                                bytes / machine.memoryBandwidth);
  const CutLimits limits = {4, 1, 1, false};
  const std::vector<int> lifetimes(tree.dims().size());
  return std::min(alone, Enumeration(tree, node, machine, ranks, lifetimes, limits, 2,
                                     std::max(1.0, alone / ideal))
                             .least());
}

} // namespace einsumc
