//===- LoopPatterns.h - who sends to whom in the steps of a loop ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SIM_LOOPPATTERNS_H
#define EINSUMC_SIM_LOOPPATTERNS_H

#include "compiler/plan/Network.h"

#include "einsumc/Stepping.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace einsumc::sim {

/// What a step's messages of one traveller, of a byte each, put on the links.
struct PatternLoad {
  int64_t messages = 0;
  double busiest = 0; ///< of the links
  double rank = 0;    ///< of messages within nodes, of the busiest rank
  int64_t inTurn = 1; ///< messages that one rank sends one after the other
  /// Of the messages, those that take place: of a ring's, not those of chunks that a rank owns.
  double share = 1;
  double repeated = 0; ///< bytes of each message in all steps
  std::vector<double> byLink;
};

/// The patterns of a loop, each worked out once for all ranks of its grid: neighbours of a ring,
/// the fetches of a step (of 64 steps where there are more, the next one for the others), the first
/// chunks of a round of two rings in lock step, a root and all others.
///
/// A few ranks stand for all: the grid's first, which has the largest blocks; where roots serve
/// their ranks in turn, the first of each of up to 16 runs of ranks, as those that are served early
/// compute and send results while others wait.
class LoopPatterns {
public:
  LoopPatterns(const Stepping &stepping, const Network &network, double elementBytes);

  std::vector<int64_t> standIns() const;
  /// Whether a traveller has messages in a step, of the ranks for which one stands.
  bool hasMessages(int64_t standIn, std::size_t traveller, std::size_t step) const;
  /// Of a step in which a traveller moves; that of neighbours for broadcasts and sums.
  const PatternLoad &at(int64_t standIn, std::size_t traveller, std::size_t step) const;

  /// What a traveller's messages of a byte put on the links that the step's travellers together
  /// load most: of a link out of a node, one into a node, and another one.
  std::array<double, 3> onBusiestLinks(int64_t standIn, std::size_t traveller, std::size_t step);
  /// Adds what has passed every link.
  void addTo(std::vector<double> &linkBytes) const;

private:
  enum class Kind : uint8_t { Neighbours, Owners, Root };
  using Key = std::tuple<std::size_t, std::size_t, Kind, std::size_t>; ///< run, traveller, -, chunk

  void divideIntoRuns();
  void orderChunks();
  void countBytes(double elementBytes);
  Kind kindOf(std::size_t traveller, std::size_t step) const;
  Key keyOf(std::size_t run, std::size_t traveller, std::size_t step) const;
  const PatternLoad &make(const Key &key);
  std::array<std::size_t, 3> busiestLinks(const std::vector<const PatternLoad *> &loads,
                                          const std::vector<double> &elements) const;
  PatternLoad load(std::size_t run, std::size_t traveller, Kind kind, std::size_t step) const;
  std::size_t runOf(int64_t rank) const;
  /// With which chunk of `owners` a rank begins.
  std::size_t firstChunk(const std::vector<int64_t> &place) const;

  const Stepping &stepping;
  const Network &network;
  std::vector<StepTable> tables; ///< of the first ranks of runs on the first traveller's axis
  std::size_t chunkCount = 1;
  /// By chunk in the order of the grid's first rank, and traveller: coordinate on its axis.
  std::vector<std::vector<int64_t>> owners;
  /// By traveller and coordinate: the first chunk that it, or one behind it, owns.
  std::vector<std::vector<std::size_t>> firstOwned;
  std::map<Key, PatternLoad> known;
  std::map<std::vector<const PatternLoad *>, std::array<std::size_t, 3>> knownLinks;
};

} // namespace einsumc::sim

#endif // EINSUMC_SIM_LOOPPATTERNS_H
