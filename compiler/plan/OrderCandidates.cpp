//===- OrderCandidates.cpp - orders in which a tensor may well be stored ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/OrderCandidates.h"

#include "compiler/ir/Schedule.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <tuple>

namespace einsumc {

namespace {

/// Up to so many positions all permutations are candidates.
constexpr std::size_t kAllPermutations = 4;
/// Orders of longer tensors.
constexpr std::size_t kMostOrders = 64;

/// What a use says about each position of the tensor.
struct UseView {
  std::vector<std::size_t> classes; ///< 0 to 3: the class of its dim
  std::vector<std::size_t> guides;  ///< where another tensor of the node has the dim
};

UseView viewOf(const Tree &tree, const TensorUse &use) {
  const Node &node = tree.node(use.node);
  const std::vector<DimId> &dims =
      use.operand < 0 ? node.dims : node.operands[static_cast<std::size_t>(use.operand)].dims;
  std::vector<const std::vector<DimId> *> others;
  if (use.operand >= 0)
    others.push_back(&node.dims);
  for (int o = 0; o < static_cast<int>(node.operands.size()); ++o)
    if (o != use.operand)
      others.push_back(&node.operands[static_cast<std::size_t>(o)].dims);
  UseView view;
  for (DimId dim : dims) {
    view.classes.push_back(static_cast<std::size_t>(classOf(tree, use.node, dim)));
    const auto other = llvm::find_if(
        others, [&](const std::vector<DimId> *list) { return llvm::is_contained(*list, dim); });
    view.guides.push_back(
        other == others.end()
            ? 0
            : static_cast<std::size_t>(llvm::find(**other, dim) - (*other)->begin()));
  }
  return view;
}

class Candidates {
public:
  Candidates(const Tree &tree, NodeId tensor) {
    const std::vector<int64_t> extents = tree.extents(tensor);
    for (std::size_t p = 0; p < extents.size(); ++p)
      if (extents[p] > 1)
        longer.push_back(p);
    std::vector<std::size_t> own(extents.size());
    std::iota(own.begin(), own.end(), 0);
    add(own);
  }

  std::vector<PositionOrder> run(const Tree &tree, const std::vector<TensorUse> &uses) {
    if (longer.size() <= kAllPermutations) {
      std::vector<std::size_t> moved = longer;
      while (std::next_permutation(moved.begin(), moved.end()))
        addMoved(moved);
      return std::move(orders);
    }
    std::vector<UseView> views;
    views.reserve(uses.size());
    for (const TensorUse &use : uses)
      views.push_back(viewOf(tree, use));
    for (const UseView &view : views)
      addSorted(view, view);
    for (const UseView &first : views)
      for (const UseView &second : views)
        if (&first != &second)
          addSorted(first, second);
    return std::move(orders);
  }

private:
  /// The sequences of both uses' classes, the second's within the first's.
  void addSorted(const UseView &first, const UseView &second) {
    const bool isOne = &first == &second;
    for (const std::array<std::size_t, 4> &outer : sequences(first))
      for (const std::array<std::size_t, 4> &inner :
           isOne ? std::vector{outer} : sequences(second)) {
        if (orders.size() >= kMostOrders)
          return;
        std::vector<std::size_t> moved = longer;
        llvm::stable_sort(moved, [&](std::size_t a, std::size_t b) {
          auto key = [&](std::size_t p) {
            return std::make_tuple(outer[first.classes[p]], inner[second.classes[p]],
                                   second.guides[p]);
          };
          return key(a) < key(b);
        });
        addMoved(moved);
      }
  }

  /// All ways to rank the classes that a use has.
  std::vector<std::array<std::size_t, 4>> sequences(const UseView &view) const {
    std::set<std::size_t> present;
    for (std::size_t p : longer)
      present.insert(view.classes[p]);
    std::vector<std::size_t> ranks(present.begin(), present.end());
    std::vector<std::array<std::size_t, 4>> result;
    do {
      std::array<std::size_t, 4> sequence{};
      for (std::size_t i = 0; i < ranks.size(); ++i)
        sequence[ranks[i]] = i;
      result.push_back(sequence);
    } while (std::next_permutation(ranks.begin(), ranks.end()));
    return result;
  }

  /// Adds the tree's own order with its longer positions moved to each other's places.
  void addMoved(const std::vector<std::size_t> &moved) {
    PositionOrder order = orders.front();
    for (std::size_t i = 0; i < longer.size(); ++i)
      order[longer[i]] = moved[i];
    add(std::move(order));
  }

  void add(PositionOrder order) {
    if (known.insert(order).second)
      orders.push_back(std::move(order));
  }

  std::vector<std::size_t> longer; ///< positions of extent 2 or more
  std::vector<PositionOrder> orders;
  std::set<PositionOrder> known;
};

} // namespace

std::vector<PositionOrder> orderCandidates(const Tree &tree, NodeId tensor,
                                           const std::vector<TensorUse> &uses) {
  return Candidates(tree, tensor).run(tree, uses);
}

} // namespace einsumc
