//===- GreedyOrder.cpp - products of many factors become contractions of two ------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/order/GreedyOrder.h"

#include "compiler/order/TreeEditor.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace einsumc {

namespace {

/// Contracts the factors of one product pair by pair.
class ProductOrder {
public:
  ProductOrder(const Tree &tree, const Node &product, TreeEditor &editor)
      : tree(tree), product(product), editor(editor) {
    for (DimId dim : product.dims)
      ++uses[dim];
    for (const Operand &operand : product.operands)
      addFactor(operand);
    for (Factor factor = 0; factor < factors.size(); ++factor)
      addCandidates(factor);
  }

  /// Adds all contractions but the last to the editor and returns that one; empty if an
  /// intermediate is too large to count.
  std::optional<Node> run() {
    while (live.size() > 2) {
      const auto [a, b] = bestPair();
      Operand result{0, resultDims(a, b)};
      std::vector<int64_t> extents;
      for (DimId dim : result.dims)
        extents.push_back(tree.dim(dim).extent);
      if (!checkedBytes(extents, 8))
        return std::nullopt;
      result.node =
          editor.addFresh(NodeKind::Product, product, result.dims, {factors[a], factors[b]});
      removeFactor(a);
      removeFactor(b);
      addFactor(std::move(result));
      addCandidates(factors.size() - 1);
    }
    Node last = product;
    last.operands = {factors[*live.begin()], factors[*live.rbegin()]};
    return last;
  }

private:
  using Factor = std::size_t;
  struct Candidate {
    double cost;
    Factor a, b;
    bool operator>(const Candidate &other) const {
      return std::tie(cost, a, b) > std::tie(other.cost, other.a, other.b);
    }
  };

  double sizeOf(const std::vector<DimId> &dims) const {
    double size = 1;
    for (DimId dim : dims)
      size *= static_cast<double>(tree.dim(dim).extent);
    return size;
  }

  /// The dims of a * b that the result or a third factor needs.
  std::vector<DimId> resultDims(Factor a, Factor b) const {
    std::vector<DimId> dims;
    const std::vector<DimId> &left = factors[a].dims;
    const std::vector<DimId> &right = factors[b].dims;
    const std::set<DimId> inLeft(left.begin(), left.end());
    const std::set<DimId> inRight(right.begin(), right.end());
    for (DimId dim : left)
      if (uses.at(dim) > 1 + static_cast<int>(inRight.count(dim)))
        dims.push_back(dim);
    for (DimId dim : right)
      if (inLeft.count(dim) == 0 && uses.at(dim) > 1)
        dims.push_back(dim);
    return dims;
  }

  void addFactor(Operand operand) {
    const Factor factor = factors.size();
    factors.push_back(std::move(operand));
    sizes.push_back(sizeOf(factors[factor].dims));
    for (DimId dim : factors[factor].dims) {
      ++uses[dim];
      holders[dim].insert(factor);
    }
    live.insert(factor);
  }

  /// Adds the pairs of a factor with the earlier ones that share a dim with it.
  void addCandidates(Factor factor) {
    std::set<Factor> neighbours;
    for (DimId dim : factors[factor].dims)
      neighbours.insert(holders[dim].begin(), holders[dim].lower_bound(factor));
    for (Factor neighbour : neighbours)
      candidates.push({cost(neighbour, factor), neighbour, factor});
  }

  void removeFactor(Factor factor) {
    for (DimId dim : factors[factor].dims) {
      --uses[dim];
      holders[dim].erase(factor);
    }
    live.erase(factor);
  }

  double cost(Factor a, Factor b) const { return sizeOf(resultDims(a, b)) - sizes[a] - sizes[b]; }

  std::pair<Factor, Factor> bestPair() {
    while (!candidates.empty()) {
      const Candidate best = candidates.top();
      candidates.pop();
      if (live.count(best.a) != 0 && live.count(best.b) != 0)
        return {best.a, best.b};
    }
    // Nothing shares a dim any more: the two smallest factors, so that outer products stay small.
    std::vector<Factor> bySize(live.begin(), live.end());
    std::partial_sort(bySize.begin(), bySize.begin() + 2, bySize.end(), [&](Factor a, Factor b) {
      return std::tie(sizes[a], a) < std::tie(sizes[b], b);
    });
    return {std::min(bySize[0], bySize[1]), std::max(bySize[0], bySize[1])};
  }

  const Tree &tree;
  const Node &product;
  TreeEditor &editor;
  std::vector<Operand> factors; ///< all that ever were; `live` says which are left
  std::vector<double> sizes;    ///< of each factor, in elements
  std::set<Factor> live;
  std::map<DimId, int> uses; ///< in how many live factors, plus the result, a dim appears
  std::map<DimId, std::set<Factor>> holders;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
};

} // namespace

std::optional<Tree> orderGreedily(const Tree &tree, Diagnostics &diagnostics) {
  TreeEditor editor(tree);
  for (const Node &source : tree.nodes()) {
    Node node = editor.renumbered(source);
    if (node.operands.size() > 2) {
      std::optional<Node> last = ProductOrder(tree, node, editor).run();
      if (!last) {
        diagnostics.error(node.where, "contracting '" + node.name +
                                          "' in the greedy order needs an intermediate with more "
                                          "elements than 64 bits can count: give an order with "
                                          "parentheses or a path");
        return std::nullopt;
      }
      node = std::move(*last);
    }
    editor.add(std::move(node));
  }
  return editor.finish();
}

} // namespace einsumc
