//===- TransferCost.h - what redistributions and chunks under way take ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_TRANSFERCOST_H
#define EINSUMC_PLAN_TRANSFERCOST_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/Schedule.h"
#include "compiler/ir/ShapeKey.h"
#include "compiler/plan/Network.h"
#include "compiler/support/Memo.h"

#include <vector>

namespace einsumc {

/// What the rank with the largest block has of all that ranks have of a tensor, copies and sums
/// counted: blocks may be uneven, and ranks without any.
double largestShare(const Layout &layout);

/// What messages take on a machine, as alpha + beta w for those of a rank (R. W. Hockney, "The
/// communication challenge for MPP", Parallel Computing 20, 1994), beta times the congestion of
/// the network when all ranks send at a time. Remembers what it was asked, by whichever thread.
class TransferCost {
public:
  TransferCost(const Machine &machine, int64_t ranks)
      : machine(machine), ranks(ranks), network(machine, ranks) {}

  /// Of a chunk that the travellers of a stepping loop send, by traveller.
  std::vector<Link> stepLinks(const Stepping &stepping) const;

  /// Seconds from a tensor's one placement to another, over all hops of its route.
  double moveSeconds(const Tree &tree, NodeId tensor, const Placement &from,
                     const Placement &to) const;
  /// In a fraction of the time, a number that is no more than that.
  /// \pre where there are partial sums, from and to differ along their axes alone
  double moveBound(const Tree &tree, NodeId tensor, const Placement &from,
                   const Placement &to) const;
  /// The same as moveSeconds for what a node needs: nothing where what a rank stores covers it.
  /// \param isTraveller chunks of it are sent, which must lie as they are needed
  double supplySeconds(const Tree &tree, NodeId tensor, const Placement &from, const Placement &to,
                       bool isTraveller) const;
  /// The same as moveBound for supplySeconds.
  double supplyBound(const Tree &tree, NodeId tensor, const Placement &from, const Placement &to,
                     bool isTraveller) const;

  /// Seconds that are charged for an input that is read into a placement: what the busiest rank
  /// reads beyond an even share of all ranks, as Machine::inputCopies has it.
  double readSeconds(const Tree &tree, NodeId input, const Placement &placement) const;
  /// What an even share is worth.
  double evenReadSeconds(const Tree &tree, NodeId input) const;
  /// The same for what the busiest rank has of any tensor beyond an even share of the ranks of its
  /// grid: what copies are charged.
  double copySeconds(const Tree &tree, NodeId tensor, const Placement &placement) const;

private:
  double secondsBeyondShare(const Tree &tree, NodeId tensor, const Placement &placement,
                            int64_t sharers) const;
  double secondsOfReading(double bytes) const;
  /// Seconds that one exchange of messages takes: of the busiest rank its messages, the larger of
  /// what it sends and gets, and what it copies into place.
  /// \param crossing elements that cross ranks (transferVolume), of which a rank sends and gets as
  /// large a part as it has of all blocks
  double exchangeSeconds(const Layout &from, const Layout &to, int64_t crossing,
                         int64_t elementBytes) const;
  /// From one placement of a tensor to another.
  struct Way {
    double seconds = 0;
    bool isCovered = false; ///< a view of what is there does
  };
  const Way &way(const Tree &tree, NodeId tensor, const Placement &from, const Placement &to) const;
  const Link &ringLink(const GridAxis &axis) const;
  const Link &exchangeLink(const GridAxis &axis) const;

  const Machine &machine;
  const int64_t ranks;
  const Network network;
  mutable Memo<GridAxis, Link, AxisHash> knownRings, knownExchanges;
  /// By the tensor's extents, and the two placements.
  mutable Memo<ShapeKey, Way, ShapeHash> knownWays;
};

} // namespace einsumc

#endif // EINSUMC_PLAN_TRANSFERCOST_H
