//===- EntryCheck.cpp - entries of a result against the sums that define them -----------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "NodeCheck.h"
#include "NodeSums.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace einsumc {
namespace {

using Index = std::vector<int64_t>;

bool holdsEntry(const Layout &layout, int64_t rank, const TensorUse &use, const Window &window) {
  if (!layout.holds(rank))
    return false;
  const Box box = layout.box(rank);
  for (std::size_t p = 0; p < box.size(); ++p) {
    const int64_t i = window[static_cast<std::size_t>(use.dims[p])].begin;
    if (i < box[p].begin || i >= box[p].end)
      return false;
  }
  return true;
}

/// The values of an entry: one, the sum, where sums are partial; else those of all its holders.
std::vector<double> entryValues(const NodeCheck &node, const Window &window) {
  const Layout &layout = *node.result.view.layout;
  const std::vector<WeightedSum> held = heldSums(node.comm, node.result, window, {});
  if (layout.hasPartial())
    return {primarySum(layout, held).value};
  std::vector<double> values;
  for (std::size_t rank = 0; rank < held.size(); ++rank)
    if (holdsEntry(layout, static_cast<int64_t>(rank), node.result, window))
      values.push_back(held[rank].value);
  return values;
}

/// Collects entries worth a look.
class EntryChoice {
public:
  EntryChoice(const NodeCheck &node, int samples) : node(node) {
    for (const int dim : node.resultDims)
      extents.push_back(node.whole[static_cast<std::size_t>(dim)].size());
    double volume = 1;
    for (const int64_t extent : extents)
      volume *= static_cast<double>(extent);
    if (volume <= samples)
      addAll(Index(extents.size()), 0);
  }

  std::set<Index> choose(int samples, uint64_t seed) {
    if (entries.empty() && std::find(extents.begin(), extents.end(), 0) == extents.end()) {
      addCorner([](const Interval &whole) { return whole.begin; });
      addCorner([](const Interval &whole) { return whole.end - 1; });
      addBlockCorners(seed);
      for (int s = 0; s < samples; ++s)
        addRandom(mixBits(seed + static_cast<uint64_t>(s)));
    }
    return entries;
  }

private:
  void addAll(Index index, std::size_t depth) {
    if (depth == extents.size()) {
      entries.insert(index);
      return;
    }
    for (index[depth] = 0; index[depth] < extents[depth]; ++index[depth])
      addAll(index, depth + 1);
  }

  template <class Pick> void addCorner(Pick &&pick) {
    Index index;
    for (const int dim : node.resultDims)
      index.push_back(pick(node.whole[static_cast<std::size_t>(dim)]));
    entries.insert(index);
  }

  /// The first and last entries of some ranks' blocks: where partitions go wrong first.
  void addBlockCorners(uint64_t seed) {
    constexpr int kRanks = 8;
    const int ranks = std::min(kRanks, node.comm.size());
    for (int i = 0; i < ranks; ++i) {
      const auto rank =
          static_cast<int64_t>(ranks < kRanks ? static_cast<uint64_t>(i)
                                              : mixBits(~seed + static_cast<uint64_t>(i)) %
                                                    static_cast<uint64_t>(node.comm.size()));
      addBlockCorners(node.result.view.layout->box(rank));
    }
  }

  void addBlockCorners(const Box &box) {
    if (volume(box) == 0)
      return;
    Index first(extents.size()), last(extents.size());
    for (std::size_t d = 0; d < node.resultDims.size(); ++d)
      for (std::size_t p = 0; p < box.size(); ++p)
        if (node.result.dims[p] == node.resultDims[d]) {
          first[d] = box[p].begin;
          last[d] = box[p].end - 1;
        }
    entries.insert(first);
    entries.insert(last);
  }

  void addRandom(uint64_t seed) {
    Index index;
    for (std::size_t d = 0; d < extents.size(); ++d)
      index.push_back(
          static_cast<int64_t>(mixBits(seed ^ mixBits(d)) % static_cast<uint64_t>(extents[d])));
    entries.insert(index);
  }

  const NodeCheck &node;
  Index extents;
  std::set<Index> entries;
};

} // namespace

Finding checkEntry(const NodeCheck &node, const std::vector<int64_t> &index) {
  Window window = node.whole;
  for (std::size_t d = 0; d < index.size(); ++d)
    window[static_cast<std::size_t>(node.resultDims[d])] = {index[d], index[d] + 1};
  const WeightedSum expected =
      expectedSum(node.comm, node.operands, window, {}, Measure::Absolute, node.chunk);
  Finding finding;
  finding.where = node.entryName(index);
  const double roundings = node.terms() + 2;
  finding.bound = roundings * (epsilonOf(node.dtype) * expected.measure + tiniestOf(node.dtype));
  for (const double value : entryValues(node, window)) {
    double error = std::abs(value - expected.value);
    if (!std::isfinite(expected.value)) { // The operands have a NaN: any such result will do.
      finding.bound = 0;
      error = std::isfinite(value) ? HUGE_VAL : 0;
    }
    if (!(error <= finding.error)) // also when it is a NaN
      finding.error = error;
  }
  return finding;
}

Finding checkEntries(const NodeCheck &node, int samples, uint64_t seed) {
  // Long sums are read once for every entry: fewer entries then.
  constexpr double kMaxTerms = 1 << 26;
  constexpr int kFewest = 4;
  const double affordable = kMaxTerms / std::max(1.0, node.terms());
  if (affordable < samples)
    samples = std::max(kFewest, static_cast<int>(affordable));
  Finding worst;
  for (const Index &index : EntryChoice(node, samples).choose(samples, seed))
    keepWorse(worst, checkEntry(node, index));
  return worst;
}

} // namespace einsumc
