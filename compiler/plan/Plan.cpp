//===- Plan.cpp - chooses how every node and tensor lies on the ranks -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Plan.h"

#include "compiler/plan/NodeEstimate.h"
#include "compiler/plan/Planner.h"
#include "compiler/plan/RankGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace einsumc {

namespace {

/// Gives the nodes' ranks in some ways and takes what is best: all ranks for every node; fewer,
/// where messages are most of the time; groups for independent parts of the tree.
class PlannerChoice {
public:
  PlannerChoice(const Tree &tree, const Machine &machine, const PlanOptions &options)
      : tree(tree), options(options), draft(draftOf(options)), anyMemory(withoutMemory(draft)),
        lists(tree, machine, options.ranks, options.isRough),
        estimate(tree, machine,
                 [&options](NodeId node) { return options.fixed.nodes.count(node) == 0; }) {}

  std::unique_ptr<Planner> run() {
    if (isLarge(tree) && options.mayGroup && tryClearGroups() && !best->isShortOfMemory())
      return std::move(best);
    if (tryRanges(onRanks(options.ranks)) && !best->isOverMemory())
      onAll = best->seconds();
    if (!isAnyFree())
      return std::move(best);
    int64_t used = options.ranks;
    for (int64_t fewer = used / kFewer; fewer > 0 && best->mayHaveTooManyRanks(); fewer /= kFewer) {
      if (!tryRanges(onRanks(fewer)))
        break;
      used = fewer;
    }
    if (options.mayGroup)
      tryGroups(std::min(options.ranks, kFewer * used));
    if (isBestDraft)
      improveDraft();
    return std::move(best);
  }

  /// Of the first choice, with all ranks for each node; nothing if that was left out.
  std::optional<double> secondsOnAllRanks() const { return onAll; }

private:
  static constexpr int64_t kFewer = 4;

  static PlanOptions draftOf(PlanOptions options) {
    options.isDraft = true;
    return options;
  }
  static PlanOptions withoutMemory(PlanOptions options) {
    options.memory.reset();
    return options;
  }

  /// Whether there is a node whose schedule is not given.
  bool isAnyFree() {
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).kind != NodeKind::Input && estimate.isFree(id))
        return true;
    return false;
  }

  /// The first ones for every node.
  std::vector<RankRange> onRanks(int64_t ranks) const {
    return std::vector<RankRange>(static_cast<std::size_t>(tree.size()), RankRange{0, ranks});
  }

  bool tryRanges(std::vector<RankRange> ranges) { return tryRanges(std::move(ranges), options); }

  /// Whether they are better than all before.
  /// \param how the options, or `draft`, or `anyMemory`: then the fastest plan must fit as it is
  bool tryRanges(std::vector<RankRange> ranges, const PlanOptions &how) {
    if (llvm::is_contained(tried, ranges))
      return false;
    auto planner = std::make_unique<Planner>(lists, how, ranges);
    tried.push_back(std::move(ranges));
    const bool mayBe =
        how.memory == options.memory || planner->bytes() <= static_cast<double>(*options.memory);
    const bool isBetter = mayBe && (!best || planner->isBetterThan(*best));
    if (isBetter) {
      best = std::move(planner);
      isBestDraft = how.isDraft && !options.isDraft;
    }
    return isBetter;
  }

  /// Plans the ranks of the best draft with all effort.
  void improveDraft() {
    auto planner = std::make_unique<Planner>(lists, options, best->allRanges());
    if (!best->isBetterThan(*planner))
      best = std::move(planner);
  }

  /// Groups that are so much faster by the estimate that a large tree is planned with them alone.
  bool tryClearGroups() {
    constexpr double kClear = 0.7;
    const std::vector<RankRange> all = onRanks(options.ranks);
    std::vector<RankRange> groups = rankGroups(tree, options.ranks, estimate);
    return groups != all && estimated(groups) < kClear * estimated(all) &&
           tryRanges(std::move(groups));
  }

  double estimated(const std::vector<RankRange> &ranges) {
    RankTimes times(options.ranks);
    for (NodeId id = 0; id < tree.size(); ++id)
      if (const RankRange &range = ranges[static_cast<std::size_t>(id)];
          tree.node(id).kind != NodeKind::Input)
        times.run(range, estimate.node(id, range.size));
    return times.most();
  }

  /// Groups of so many ranks, and of fewer as long as that helps.
  void tryGroups(int64_t most) {
    tryAllGroups(most);
    const int mayFail = isLarge(tree) ? 1 : 2;
    int failures = 0;
    for (int64_t ranks = most; ranks > 1 && failures < mayFail; ranks /= 2) {
      std::vector<RankRange> groups = rankGroups(tree, ranks, estimate);
      if (groups != onRanks(ranks) && llvm::is_contained(tried, groups))
        continue;
      const bool helps = groups != onRanks(ranks) && tryRanges(std::move(groups), draft);
      failures = helps ? 0 : failures + 1;
    }
  }

  /// All groups of a small tree on few ranks; if these are many, those that seem the fastest. Of
  /// those that are short of memory none is taken, as each would take long to plan.
  void tryAllGroups(int64_t most) {
    constexpr NodeId kFewTensors = 12;
    constexpr std::size_t kMany = 24, kTooMany = 100;
    if (tree.size() > kFewTensors || best->isShortOfMemory())
      return;
    std::vector<std::pair<double, std::vector<RankRange>>> all;
    for (std::vector<RankRange> &groups : allRankGroups(tree, most, estimate, kTooMany))
      all.emplace_back(estimated(groups), std::move(groups));
    llvm::stable_sort(all, llvm::less_first());
    all.resize(std::min(all.size(), kMany));
    for (auto &[seconds, groups] : all)
      tryRanges(std::move(groups), anyMemory);
  }

  const Tree &tree;
  const PlanOptions &options;
  const PlanOptions draft;     ///< the same for plans that are compared
  const PlanOptions anyMemory; ///< and without a limit
  CandidateLists lists;
  NodeEstimate estimate;
  std::unique_ptr<Planner> best;
  bool isBestDraft = false;
  std::optional<double> onAll;
  std::vector<std::vector<RankRange>> tried;
};

} // namespace

Schedule plan(const Tree &tree, const Machine &machine, const PlanOptions &options) {
  return PlannerChoice(tree, machine, options).run()->schedule();
}

namespace {

/// What a tree's nodes have, without regard to what they would have if nothing were fixed.
Alternatives alternativesAsFixed(const Tree &tree, const Machine &machine,
                                 const PlanOptions &options, std::size_t most) {
  PlannerChoice choice(tree, machine, options);
  const std::unique_ptr<Planner> best = choice.run();
  const auto slices = static_cast<double>(countSlices(options.fixed.slices));
  Alternatives result{best->alternatives(most), best->allRanges(), slices * best->seconds(),
                      choice.secondsOnAllRanks()};
  if (result.onAllRanks)
    *result.onAllRanks *= slices;
  return result;
}

} // namespace

Alternatives alternatives(const Tree &tree, const Machine &machine, const PlanOptions &options,
                          std::size_t most) {
  Alternatives result = alternativesAsFixed(tree, machine, options, most);
  if (options.fixed.nodes.empty())
    return result;
  PlanOptions free = options;
  free.fixed.nodes.clear();
  free.fixed.inputs.clear();
  free.fixed.finals.clear();
  const Alternatives unfixed = alternativesAsFixed(tree, machine, free, most);
  for (const auto &[node, on] : options.fixed.nodes) {
    std::vector<Alternative> &list = result.ofNode[static_cast<std::size_t>(node)];
    const NodeSchedule fixed = list.front().schedule; // The list grows.
    for (Alternative one : unfixed.ofNode[static_cast<std::size_t>(node)]) {
      one.isPlanned = one.isChosen;
      one.isChosen = false;
      if (one.schedule == fixed)
        list.front().isPlanned = one.isPlanned;
      else if (list.size() < most)
        list.push_back(std::move(one));
    }
  }
  return result;
}

} // namespace einsumc
