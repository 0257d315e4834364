//===- ChoiceTables.h - what the choices for the tensors of a tree cost together --------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_CHOICETABLES_H
#define EINSUMC_PLAN_CHOICETABLES_H

#include "compiler/plan/Candidates.h"
#include "compiler/plan/MinimiseSum.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <vector>

namespace einsumc {

/// What may be chosen for a tensor: of an input where it lies, of others how it is computed.
struct TensorChoices {
  std::vector<Placement> homes;         ///< by choice
  std::vector<double> seconds;          ///< by choice: computing it, or reading it there
  std::vector<double> finalSeconds;     ///< by choice, of outputs: moving it to where it ends
  llvm::ArrayRef<Candidate> candidates; ///< by choice; of inputs none; those of CandidateLists
  /// An input with a single user, which lies where that needs it: to read it elsewhere and move it
  /// sends as much as it saves in reading.
  bool isReadInPlace = false;
};

/// By node: a price of a byte that the busiest rank stores while the node runs, in seconds.
using BytePrices = std::vector<double>;

/// The choices of all tensors of a tree, with the costs that depend on one or on two neighbours.
class ChoiceTables {
public:
  /// \param ranks of the schedule
  /// \param isDraft choices of DAGs may be less than the best, in little time
  ChoiceTables(const Tree &tree, const TransferCost &transfers, int64_t ranks,
               std::vector<TensorChoices> choices, bool isDraft);

  /// By tensor: the choice with which the sum of all their times is least, and of what bytes cost.
  std::vector<std::size_t> cheapest(const BytePrices &prices = {}) const;
  /// The same with one tensor's choice given.
  std::vector<std::size_t> cheapestWith(NodeId tensor, std::size_t choice,
                                        const BytePrices &prices = {}) const;
  /// Choices with one changed, and those of the inputs that lie where it needs them.
  std::vector<std::size_t> withChoice(std::vector<std::size_t> chosen, NodeId tensor,
                                      std::size_t choice) const;
  /// Tensors, inputs among them.
  NodeId size() const { return tree.size(); }
  const TensorChoices &of(NodeId tensor) const { return choices[static_cast<std::size_t>(tensor)]; }
  /// When the last rank is done with what choices give it to do, in seconds, as it was estimated,
  /// and with what is added for doubt.
  double predictedSeconds(const std::vector<std::size_t> &chosen) const;
  double seconds(const std::vector<std::size_t> &chosen) const;
  /// The times of all tensors and moves one after the other, with what is added for doubt: the sum
  /// that `cheapest` makes least. It charges the reading of each input by itself.
  double sum(const std::vector<std::size_t> &chosen) const;
  /// What is charged for reading inputs: what the rank that reads the most reads beyond an even
  /// share of them all.
  double readSeconds(const std::vector<std::size_t> &chosen) const;
  /// The schedule that choices make; nothing is said yet of where outputs end.
  Schedule scheduleOf(const std::vector<std::size_t> &chosen) const;
  /// By node: about how many bytes the busiest rank stores with these choices while it runs:
  /// tensors that live, copies of its operands, and the memory of its stepping loop.
  std::vector<double> bytesAt(const std::vector<std::size_t> &chosen) const;

private:
  /// An operand of a node.
  struct Edge {
    NodeId tensor, user;
    std::size_t operand;
    CostTable seconds; ///< of supplying it
    CostTable bytes;   ///< of the copy that is made of it
  };

  SearchLimits limitsAt(const BytePrices &prices) const;
  std::vector<CostTable> tablesAt(const BytePrices &prices) const;

  /// An operand as a node needs it, from where it is.
  struct Supply {
    double seconds, bytes;
  };
  /// All homes of an operand's tensor, and all needs of its user.
  struct Demand;
  Demand demandOf(NodeId user, std::size_t operand) const;
  /// By home, then by need.
  std::vector<Supply> suppliesOf(const Demand &demand) const;
  void addEdges();

  double valueOf(const CostTable &edge, const std::vector<std::size_t> &chosen) const;
  /// What each rank is charged for reading inputs.
  RankTimes afterReading(const std::vector<std::size_t> &chosen) const;
  double finish(const std::vector<std::size_t> &chosen, bool withDoubt) const;

  const Tree &tree;
  const TransferCost &transfers;
  const int64_t ranks;
  const bool isDraft;
  const std::vector<TensorChoices> choices;
  std::vector<std::size_t> counts;
  std::vector<NodeId> firstUses, lastUses; ///< by tensor: the nodes while which it is stored
  std::vector<Edge> edges;

  /// Bytes by tensor and choice; counted when they are first asked for.
  struct Memory {
    std::vector<std::vector<double>> homes;
    /// Beside the result: its sums before they are added up, and chunks under way.
    std::vector<std::vector<double>> own;
  };
  const Memory &memory() const;
  mutable Memory stored;
};

} // namespace einsumc

#endif // EINSUMC_PLAN_CHOICETABLES_H
