//===- RankTimes.h - when the ranks are done with what they do one after the other ------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_RANKTIMES_H
#define EINSUMC_PLAN_RANKTIMES_H

#include "einsumc/Layout.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace einsumc {

/// Ranks with consecutive numbers.
struct RankRange {
  int64_t first = 0;
  int64_t size = 1;
  int64_t end() const { return first + size; }
  bool operator==(const RankRange &) const = default;
};

RankRange rangeOf(const Grid &grid);
/// The smallest range with the ranks of both.
RankRange hull(const RankRange &a, const RankRange &b);

/// What a node takes, and on which ranks.
struct NodeSeconds {
  struct Move {
    RankRange other; ///< the ranks from where an operand comes, or where an output ends
    double seconds = 0;
  };
  RankRange ranks; ///< of its grid
  std::vector<Move> supplies;
  double seconds = 0; ///< of the computation with its own transfers
  std::optional<Move> final;
};

/// The time until which every rank is busy. What ranks do together begins when all of them are
/// free, so what different ranks do takes place at the same time.
class RankTimes {
public:
  explicit RankTimes(int64_t ranks) : until{{0, 0.0}, {ranks, 0.0}} {}

  /// Something that each of the ranks does when it is free.
  void add(const RankRange &ranks, double seconds);
  /// Something that the ranks do together.
  void run(const RankRange &ranks, double seconds);
  /// The same for the ranks of two ranges.
  void run(const RankRange &ranks, const RankRange &others, double seconds);
  /// Takes so much from the time of each rank, which is then at least 0.
  void lower(double by);
  /// A node: its operands' moves one after the other, then the computation.
  void run(const NodeSeconds &node);

  /// When the last rank is done.
  double most() const;

private:
  using Entry = std::map<int64_t, double>::iterator;
  Entry begin(int64_t rank);
  double mostOf(const RankRange &ranks);
  void set(const RankRange &ranks, double seconds);

  /// By the first of some ranks with the same time; the last entry is behind the last rank.
  std::map<int64_t, double> until;
};

} // namespace einsumc

#endif // EINSUMC_PLAN_RANKTIMES_H
