//===- TransferCost.cpp - what redistributions and chunks under way take ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/TransferCost.h"

#include "compiler/ir/Moves.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>

namespace einsumc {

namespace {

using Parts = llvm::SmallVector<double, 8>;

/// The parts that a layout cuts each position into, some of which may be empty.
Parts partsOf(const Layout &layout) {
  Parts parts(layout.extents.size(), 1);
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
    if (layout.axes[axis].kind == AxisKind::Split)
      parts[static_cast<std::size_t>(layout.axes[axis].position)] *=
          static_cast<double>(layout.grid.extents[axis]);
  return parts;
}

/// Parts with something in them.
Parts filledPartsOf(const Layout &layout) {
  Parts parts = partsOf(layout);
  for (std::size_t p = 0; p < parts.size(); ++p)
    parts[p] = std::min(parts[p], static_cast<double>(layout.extents[p]));
  return parts;
}

double copiesOf(const Layout &layout, AxisKind kind) {
  double result = 1;
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
    if (layout.axes[axis].kind == kind)
      result *= static_cast<double>(layout.grid.extents[axis]);
  return result;
}

/// Messages of the rank that sends or gets the most: its block meets so many of the other layout's,
/// its own among them.
double busiestMessages(const Layout &from, const Layout &to) {
  const Parts source = filledPartsOf(from), target = filledPartsOf(to);
  double in = copiesOf(from, AxisKind::Partial), out = copiesOf(to, AxisKind::Copy);
  for (std::size_t p = 0; p < source.size(); ++p) {
    in *= std::ceil(source[p] / target[p]);
    out *= std::ceil(target[p] / source[p]);
  }
  // Copies of the source share the sending.
  out = std::ceil(out / copiesOf(from, AxisKind::Copy));
  return std::max({in - 1, out - 1, 1.0});
}

/// The bytes of a tensor for each of so many ranks.
double evenShare(const Tree &tree, NodeId tensor, int64_t ranks) {
  return static_cast<double>(tree.elements(tensor) * sizeInBytes(tree.elementType())) /
         static_cast<double>(ranks);
}

/// The ranks of two grids as one axis.
GridAxis ranksOf(const Grid &a, const Grid &b) {
  const int64_t begin = std::min(a.firstRank, b.firstRank);
  const int64_t end = std::max(a.firstRank + a.size(), b.firstRank + b.size());
  return {begin, end - begin, 1, end - begin};
}

} // namespace

double largestShare(const Layout &layout) {
  double all = copiesOf(layout, AxisKind::Copy) * copiesOf(layout, AxisKind::Partial);
  for (const int64_t extent : layout.extents)
    all *= static_cast<double>(extent);
  return static_cast<double>(layout.largestSize()) / all;
}

std::vector<Link> TransferCost::stepLinks(const Stepping &stepping) const {
  std::vector<Link> links;
  for (const Traveller &traveller : stepping.travellers) {
    const GridAxis axis = axisOf(stepping.work.grid, traveller.axis);
    links.push_back(traveller.movement == StepMovement::Ring ? ringLink(axis) : exchangeLink(axis));
  }
  return links;
}

double TransferCost::exchangeSeconds(const Layout &from, const Layout &to, int64_t crossing,
                                     int64_t elementBytes) const {
  const auto volume = static_cast<double>(crossing * elementBytes);
  const double busiest = volume * std::max(largestShare(from), largestShare(to));
  // What arrives, and what was there, is read and written once.
  const double copied = 2 * static_cast<double>(to.largestSize() * elementBytes);
  double seconds = copied / machine.memoryBandwidth;
  if (volume > 0) {
    const Link &link = exchangeLink(ranksOf(from.grid, to.grid));
    seconds += link.alpha * busiestMessages(from, to) + link.beta * busiest;
  }
  return seconds;
}

const Link &TransferCost::ringLink(const GridAxis &axis) const {
  return knownRings.of(axis, [&] { return network.shiftLink(axis, 1); });
}

const Link &TransferCost::exchangeLink(const GridAxis &axis) const {
  return knownExchanges.of(axis, [&] { return network.exchangeLink(axis); });
}

const TransferCost::Way &TransferCost::way(const Tree &tree, NodeId tensor, const Placement &from,
                                           const Placement &to) const {
  ShapeKey key;
  key.reserve(tree.node(tensor).dims.size() + 5 + 4 * (from.axes.size() + to.axes.size()));
  addExtents(tree, tensor, key);
  addPlacement(from, key);
  addPlacement(to, key);
  return knownWays.of(std::move(key), [&] {
    Way result;
    Layout at = layoutOf(tree, tensor, from);
    const std::vector<Placement> hops = route(tree, tensor, from, to);
    for (const Placement &hop : hops) {
      Layout next = layoutOf(tree, tensor, hop);
      const int64_t crossing = transferVolume(at, next);
      result.seconds += exchangeSeconds(at, next, crossing, sizeInBytes(tree.elementType()));
      result.isCovered = hops.size() == 1 && crossing == 0 && !at.hasPartial();
      at = std::move(next);
    }
    return result;
  });
}

double TransferCost::moveSeconds(const Tree &tree, NodeId tensor, const Placement &from,
                                 const Placement &to) const {
  return from == to ? 0 : way(tree, tensor, from, to).seconds;
}

double TransferCost::moveBound(const Tree &tree, NodeId tensor, const Placement &from,
                               const Placement &to) const {
  if (from == to)
    return 0;
  const double block = blockBytes(tree, tensor, from);
  if (!has(from, AxisKind::Partial)) {
    // Who gets more than any rank has gets a message.
    const double needed = blockBytes(tree, tensor, to);
    const double alpha = std::min(machine.withinNode.alpha, machine.betweenNodes.alpha);
    return 2 * needed / machine.memoryBandwidth + (needed > block ? alpha : 0);
  }
  double sums = 1, added = 1;
  for (std::size_t axis = 0; axis < from.axes.size(); ++axis)
    if (from.axes[axis].kind == AxisKind::Partial) {
      const auto extent = static_cast<double>(from.grid.extents[axis]);
      sums *= extent;
      added *= to.axes[axis].kind == AxisKind::Partial ? 1 : extent;
    }
  // Each rank gets at least its part of the block from all others who have sums of it.
  const double part = block / sums;
  const Link &link = exchangeLink(ranksOf(from.grid, to.grid));
  return (added - 1) * (link.alpha + link.beta * part) + 2 * part / machine.memoryBandwidth;
}

double TransferCost::supplySeconds(const Tree &tree, NodeId tensor, const Placement &from,
                                   const Placement &to, bool isTraveller) const {
  if (from == to)
    return 0;
  const Way &taken = way(tree, tensor, from, to);
  // What a stepping loop sends are chunks, not views of more.
  return taken.isCovered && !isTraveller ? 0 : taken.seconds;
}

double TransferCost::supplyBound(const Tree &tree, NodeId tensor, const Placement &from,
                                 const Placement &to, bool isTraveller) const {
  const bool mayBeCovered =
      !isTraveller && blockBytes(tree, tensor, to) <= blockBytes(tree, tensor, from);
  return mayBeCovered ? 0 : moveBound(tree, tensor, from, to);
}

double TransferCost::readSeconds(const Tree &tree, NodeId input, const Placement &placement) const {
  return secondsBeyondShare(tree, input, placement, ranks);
}

double TransferCost::copySeconds(const Tree &tree, NodeId tensor,
                                 const Placement &placement) const {
  return secondsBeyondShare(tree, tensor, placement, placement.grid.size());
}

double TransferCost::evenReadSeconds(const Tree &tree, NodeId input) const {
  return secondsOfReading(evenShare(tree, input, ranks));
}

double TransferCost::secondsBeyondShare(const Tree &tree, NodeId tensor, const Placement &placement,
                                        int64_t sharers) const {
  const double beyond = blockBytes(tree, tensor, placement) - evenShare(tree, tensor, sharers);
  return secondsOfReading(std::max(beyond, 0.0));
}

double TransferCost::secondsOfReading(double bytes) const {
  return machine.inputCopies * exchangeLink({0, ranks, 1, ranks}).beta * bytes;
}

} // namespace einsumc
