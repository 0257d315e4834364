//===- Planner.h - schedules for given ranks --------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_PLANNER_H
#define EINSUMC_PLAN_PLANNER_H

#include "compiler/plan/CandidateLists.h"
#include "compiler/plan/ChoiceTables.h"
#include "compiler/plan/Plan.h"

#include <optional>
#include <vector>

namespace einsumc {

/// Whether whole trees take too long to be looked at again and again.
bool isLarge(const Tree &tree);

/// Chooses, with the ranks given that may compute each node.
class Planner {
public:
  /// \param lists of the tree on the options' ranks
  /// \param ranges by node
  Planner(CandidateLists &lists, const PlanOptions &options, std::vector<RankRange> ranges);

  Schedule schedule() const { return completed(chosen); }

  /// Of the whole tree, with reading inputs and what is added for doubt.
  double seconds() const { return tables->seconds(chosen); }

  /// Whether this takes less time than a simpler choice does, or fits the memory when that does
  /// not.
  bool isBetterThan(const Planner &other) const;

  /// That the busiest rank needs.
  double bytes() const;

  /// Whether even what was chosen does not fit the memory.
  bool isOverMemory() const;

  /// By node: the ranks that may compute it.
  const std::vector<RankRange> &allRanges() const { return ranges; }

  /// Whether what would be fastest does not fit the memory.
  bool isShortOfMemory() const { return isSparing; }

  /// Whether fewer ranks may be faster: most of the time goes to transfers, and memory suffices.
  bool mayHaveTooManyRanks() const;

  std::vector<std::vector<Alternative>> alternatives(std::size_t most) const;

private:
  void decide();

  std::vector<TensorChoices> choices();

  void addCandidates(NodeId id, TensorChoices &choices);

  /// An operand of a node.
  struct Use {
    NodeId user;
    Role role;
  };
  static std::vector<std::vector<Use>> usesIn(const Tree &tree);
  const std::vector<Use> &usesOf(NodeId tensor) const {
    return uses[static_cast<std::size_t>(tensor)];
  }

  /// Wherever a user needs an input, it may lie.
  void addPlacements(NodeId input, std::vector<TensorChoices> &all);

  /// Whether all nodes may have the same ranks.
  bool isOneGroup(const RankRange &readers) const;

  /// What a node of a group needs, in all groups of the same size that the readers consist of.
  std::optional<Placement> inEveryGroup(const Placement &need, const RankRange &readers) const;

  std::vector<Alternative> alternativesOf(NodeId id, std::size_t most) const;

  Alternative alternative(NodeId id, const std::vector<std::size_t> &choices) const;

  /// Where an output ends: never as partial sums.
  Placement endOf(NodeId id, const Placement &home) const;

  Schedule completed(const std::vector<std::size_t> &choices) const;

  bool isFreeInput(NodeId id) const;

  /// Writes where an input lies as its first user does, if that is the same in other words.
  void nameAsNeeded(Schedule &schedule, NodeId input) const;

  /// Says of operands that come from chunks along an axis that they are gathered along it, which
  /// is what moving them there does, and how the published algorithms put it.
  void nameGathers(Schedule &schedule, NodeId id) const;

  CandidateLists &lists;
  const Tree &tree;
  const Machine &machine;
  const TransferCost &transfers;
  const PlanOptions &options;
  const std::vector<RankRange> ranges;      ///< by node: the ranks that may compute it
  const std::vector<std::vector<Use>> uses; ///< by tensor
  bool isSparing = false;                   ///< memory is short
  std::optional<ChoiceTables> tables;
  std::vector<std::size_t> chosen;             ///< by tensor
  mutable std::optional<double> bytesOfChosen; ///< once they are counted
};

} // namespace einsumc

#endif // EINSUMC_PLAN_PLANNER_H
