//===- ChooseSlices.cpp - the dims along which a tree is evaluated part by part ---------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/ChooseSlices.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <utility>

namespace einsumc {

namespace {

/// Slices that take longer than all that one waits for are no answer.
constexpr int64_t kMostSlices = int64_t{1} << 20;
/// Times the memory from which on dims are cut faster.
constexpr double kMuch = 4;

class Search {
public:
  Search(const Tree &tree, double memory, const std::function<SlicedCost(const Slices &)> &compared,
         const std::function<double(const Slices &)> &bytes)
      : tree(tree), memory(memory), compared(compared), bytes(bytes) {
    // The dims of the tensors that need the most, which are few, are those that help.
    constexpr std::size_t kMostDims = 12;
    std::vector<double> weights(tree.dims().size());
    for (NodeId id = 0; id < tree.size(); ++id)
      for (const DimId dim : tree.node(id).dims)
        weights[static_cast<std::size_t>(dim)] += static_cast<double>(tree.elements(id));
    for (DimId dim = 0; dim < static_cast<DimId>(weights.size()); ++dim)
      if (tree.dim(dim).extent > 1 && weights[static_cast<std::size_t>(dim)] > 0)
        dims.push_back(dim);
    llvm::stable_sort(dims, [&](DimId a, DimId b) {
      return weights[static_cast<std::size_t>(a)] > weights[static_cast<std::size_t>(b)];
    });
    dims.resize(std::min(dims.size(), kMostDims));
  }

  Slices run(double needed) {
    Slices slices;
    SlicedCost now = compared(slices);
    for (; needed > memory; needed = bytes(slices)) {
      std::optional<std::pair<Slices, SlicedCost>> best;
      for (const DimId dim : dims)
        if (std::optional<Slices> finer = cutFurther(slices, dim, needed > kMuch * memory)) {
          const SlicedCost with = compared(*finer);
          if (with.bytes < now.bytes && (!best || isBetter(with, best->second, now)))
            best = {std::move(*finer), with};
        }
      if (!best)
        return slices;
      std::tie(slices, now) = *std::move(best);
    }
    return slices;
  }

private:
  /// One dim in the next larger number of parts that divides it, at least twice as many if far.
  std::optional<Slices> cutFurther(Slices slices, DimId dim, bool isFar) const {
    auto slice = llvm::find_if(slices, [&](const Slice &one) { return one.dim == dim; });
    if (slice == slices.end())
      slice = slices.insert(slices.end(), Slice{dim, 1});
    const int64_t extent = tree.dim(dim).extent;
    const int64_t least = isFar ? std::min(2 * slice->parts, extent) : 0;
    do
      if (++slice->parts > extent)
        return std::nullopt;
    while (extent % slice->parts != 0 || slice->parts < least);
    if (!checkSlices(tree, slices).empty() || countSlices(slices) > kMostSlices)
      return std::nullopt;
    return inOrder(std::move(slices));
  }

  /// Dims of outputs outside.
  Slices inOrder(Slices slices) const {
    std::stable_partition(slices.begin(), slices.end(), [&](const Slice &slice) {
      return llvm::any_of(tree.nodes(), [&](const Node &node) {
        return node.isOutput && llvm::is_contained(node.dims, slice.dim);
      });
    });
    return slices;
  }

  bool isBetter(const SlicedCost &a, const SlicedCost &b, const SlicedCost &now) const {
    const bool aFits = a.bytes <= memory, bFits = b.bytes <= memory;
    if (aFits != bFits)
      return aFits;
    if (aFits)
      return a.seconds < b.seconds;
    // Bytes saved for each second, each compared with what there is now.
    auto worth = [&](const SlicedCost &of) {
      return (now.bytes / of.bytes) / std::max(of.seconds / now.seconds, 1e-3);
    };
    return worth(a) > worth(b);
  }

  const Tree &tree;
  const double memory;
  const std::function<SlicedCost(const Slices &)> &compared;
  const std::function<double(const Slices &)> &bytes;
  std::vector<DimId> dims;
};

} // namespace

Slices chooseSlices(const Tree &tree, double memory, double whole,
                    const std::function<SlicedCost(const Slices &)> &compared,
                    const std::function<double(const Slices &)> &bytes) {
  return Search(tree, memory, compared, bytes).run(whole);
}

} // namespace einsumc
