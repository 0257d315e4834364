//===- LoopPatterns.h - who sends to whom in the steps of a loop ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SIM_LOOPPATTERNS_H
#define EINSUMC_SIM_LOOPPATTERNS_H

#include "compiler/plan/Network.h"

#include "einsumc/Stepping.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace einsumc::sim {

/// What a step's messages of one traveller, of a byte each, put on the links.
struct PatternLoad {
  int64_t messages = 0;
  double out = 0, in = 0; ///< of the busiest link of a node out, and in
  double between = 0;     ///< of the busiest other link
  double rank = 0;        ///< of messages within nodes, of the busiest rank
  int64_t inTurn = 1;     ///< messages that one rank sends one after the other
  /// Of the messages, those that take place: of a ring's, not those of chunks that a rank owns.
  double share = 1;
  double repeated = 0; ///< bytes of each message in all steps
  std::vector<double> byLink;
};

/// The patterns of a loop, each worked out once for all ranks of its grid: neighbours of a ring,
/// the fetches of a step (of 64 steps where there are more, the next one for the others), the first
/// chunks of a round of two rings in lock step, a root and all others.
class LoopPatterns {
public:
  LoopPatterns(const Stepping &stepping, const Network &network);

  /// Of a step in which a traveller moves; that of neighbours for broadcasts and sums.
  PatternLoad &at(std::size_t traveller, std::size_t step);
  /// The load of the link between nodes that the messages of a step's travellers together, of so
  /// many bytes each, load most, by traveller. \pre there are links between nodes
  std::vector<double> together(std::size_t step, const std::vector<double> &bytes);
  /// Adds what has passed every link.
  void addTo(std::vector<double> &linkBytes) const;

private:
  enum class Kind : uint8_t { Neighbours, Owners, Root };

  Kind kindOf(std::size_t traveller, std::size_t step) const;
  PatternLoad load(std::size_t traveller, Kind kind, std::size_t step) const;
  /// With which chunk of `owners` a rank begins.
  std::size_t firstChunk(const std::vector<int64_t> &place) const;

  const Stepping &stepping;
  const Network &network;
  std::size_t chunkCount = 1;
  /// By chunk in the order of the grid's first rank, and traveller: coordinate on its axis.
  std::vector<std::vector<int64_t>> owners;
  /// By traveller and coordinate: the first chunk that it, or one behind it, owns.
  std::vector<std::vector<std::size_t>> firstOwned;
  std::map<std::tuple<std::size_t, Kind, std::size_t>, PatternLoad> known;
  std::map<std::vector<const PatternLoad *>, std::size_t> knownTogether; ///< link
};

} // namespace einsumc::sim

#endif // EINSUMC_SIM_LOOPPATTERNS_H
