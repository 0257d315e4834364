//===- Network.h - the links of a machine and who shares them ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_NETWORK_H
#define EINSUMC_PLAN_NETWORK_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/ShapeKey.h"
#include "compiler/support/Memo.h"

#include "einsumc/Layout.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace einsumc {

/// One axis of a grid of ranks, with all the lines of ranks along it.
struct GridAxis {
  int64_t firstRank = 0; ///< of the grid
  int64_t size = 1;      ///< ranks of the grid
  int64_t stride = 1;    ///< ranks between neighbouring coordinates
  int64_t extent = 1;

  int64_t coordinate(int64_t rank) const { return (rank - firstRank) / stride % extent; }
  bool operator==(const GridAxis &) const = default;
};
/// For unordered containers.
struct AxisHash {
  std::size_t operator()(const GridAxis &axis) const {
    return ShapeHash{}({axis.firstRank, axis.size, axis.stride, axis.extent});
  }
};
GridAxis axisOf(const Grid &grid, std::size_t axis);

/// A step whose multiples, cyclically, spread evenly over so many things: near the golden section,
/// and without a common factor with the number or with 2, so that the remainders of the multiples
/// by the extents of a grid or a topology mostly spread evenly, too.
int64_t evenStep(int64_t count);

/// The links between the nodes of a machine, each for one direction, and what passes them.
///
/// Ranks lie on nodes in order, `Machine::ranksPerNode` on each. A node has a link out and one in,
/// its network card, that its ranks share; messages within a node pass no link. Beyond:
///   - `full`: nothing is shared.
///   - `ring`, `torus:AxB`: a link each way between neighbours, nodes in row-major order, routes
///     along one dim after the other, the shorter way round, of equals the positive one. Fewer
///     nodes than the torus has fill it from 0 on.
///   - `fattree:K`: switches with K ports in three levels, K/2 nodes an edge switch, K/2 edge and
///     K/2 aggregation switches a pod, (K/2)^2 core switches (M. Al-Fares, A. Loukissas, A. Vahdat,
///     "A Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008, section 3). The way
///     up depends on the destination alone, the one down is the only one: to node d by the
///     aggregation switch d mod K/2 and its core switch d/(K/2) mod K/2 (E. Zahavi, "D-Mod-K
///     Routing Providing Non-Blocking Traffic for Shift Permutations on Real Life Fat Trees",
///     2010).
/// More nodes than the topology has (`nodeLimit`) make a torus longer in its first dim, and add
/// pods to a fat tree.
class Network {
public:
  /// \pre ranks >= 1
  Network(const Machine &machine, int64_t ranks);

  /// The nodes that a machine's topology has room for; nothing if any number.
  static std::optional<int64_t> nodeLimit(const Machine &machine);

  int64_t nodes() const { return nodeCount; }
  int64_t nodeOf(int64_t rank) const { return rank / perNode; }
  bool isWithinNode(int64_t from, int64_t to) const { return nodeOf(from) == nodeOf(to); }
  /// The links are numbered from 0 to this.
  int64_t links() const { return linkCount; }
  /// `node 3 out`, `node 3 -> node 4`, `edge 2 -> aggregation 1`, ...
  std::string linkName(int64_t link) const;
  /// Appends the links that a message passes, in order; none within a node.
  void route(int64_t from, int64_t to, llvm::SmallVectorImpl<int64_t> &links) const;

  /// What a byte takes on a link that a message has for itself, in seconds. `Machine::betweenNodes`
  /// has what a rank sees while all ranks of its node send, as einsumc-calibrate measures it: the
  /// ranks of a node share the rate of its link.
  double secondsPerByte() const { return between.beta / static_cast<double>(perNode); }

  /// The most messages on one link when every rank of the grid sends one to the rank `distance`
  /// coordinates before it on the axis, cyclically; 0 if none leaves its node. Such a message of w
  /// bytes takes alpha + w * secondsPerByte() * congestion. Exact; what was asked before is
  /// remembered.
  double shiftCongestion(const GridAxis &axis, int64_t distance) const;
  /// The load of the busiest link when every rank sends an equal share to every other of its axis,
  /// over what one rank sends in all; 0 if nothing leaves its node. Exact up to 2^20 messages (for
  /// `full` always); beyond an estimate from the shifts by some distances, spread evenly.
  double exchangeCongestion(const GridAxis &axis) const;

  /// alpha + beta w of each rank's message of w bytes in such a shift, beside the others'.
  Link shiftLink(const GridAxis &axis, int64_t distance) const;
  /// alpha a message, and beta for every byte that a rank sends in all, in such an exchange.
  Link exchangeLink(const GridAxis &axis) const;

private:
  friend class LinkLoads;

  /// Links in a row (cyclic in a ring), numbered one after the other.
  struct Segment {
    int64_t line = 0; ///< its first link
    int64_t length = 1;
    int64_t begin = 0; ///< of what is passed, in the line
    int64_t count = 1;
    bool isBackwards = false; ///< passed from the end
  };
  struct TorusDim {
    int64_t extent = 1;
    int64_t stride = 1; ///< nodes between neighbours
    bool wraps = true;
    int64_t firstLink = 0; ///< of those in positive direction; the negative ones follow
  };

  void makeTorus(llvm::SmallVector<int64_t> extents);
  void makeFatTree(int64_t ports);
  /// Calls for the segments of a route between nodes, the cards' among them.
  template <class Visit> void forEachSegment(int64_t from, int64_t to, Visit &&visit) const;
  template <class Visit> void forEachTorusSegment(int64_t from, int64_t to, Visit &visit) const;
  template <class Visit> void forEachTreeSegment(int64_t from, int64_t to, Visit &visit) const;
  std::string torusLinkName(const TorusDim &dim, int64_t link) const;
  std::string treeLinkName(int64_t link) const;
  double countExchange(const GridAxis &axis) const;
  /// Over all ranks and the others on their lines: the pairs on one node.
  double pairsWithinNodes(const GridAxis &axis) const;
  /// The most pairs of which one node has the first rank alone.
  double pairsLeavingNode(const GridAxis &axis) const;

  Link within, between;
  int64_t perNode = 1;
  int64_t nodeCount = 1;
  int64_t linkCount = 0;
  std::vector<TorusDim> torus;
  // Of a fat tree; the ports are those in use.
  int64_t half = 0; ///< K/2; 0: no fat tree
  int64_t edges = 0, pods = 0, edgePorts = 0, corePorts = 0;
  struct Shift {
    GridAxis axis;
    int64_t distance = 0;
    bool operator==(const Shift &) const = default;
  };
  struct ShiftHash {
    std::size_t operator()(const Shift &shift) const {
      return AxisHash{}(shift.axis) * 31 + static_cast<std::size_t>(shift.distance);
    }
  };
  mutable Memo<Shift, double, ShiftHash> knownShifts;
  mutable Memo<GridAxis, double, AxisHash> knownExchanges;
};

/// How much passes every link.
class LinkLoads {
public:
  explicit LinkLoads(const Network &network);

  /// Adds a message between ranks. Takes the same time for any length of its route.
  void add(int64_t from, int64_t to, double amount);
  /// By link. Exact for whole amounts.
  std::vector<double> byLink() const;
  double largest() const;

private:
  void addSegment(const Network::Segment &segment, double amount);

  const Network &network;
  std::vector<double> changes; ///< from one link of a line to the next
};

} // namespace einsumc

#endif // EINSUMC_PLAN_NETWORK_H
