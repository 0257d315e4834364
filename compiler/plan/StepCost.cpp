//===- StepCost.cpp - what a stepping loop is predicted to take -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/StepCost.h"

#include "compiler/plan/LocalCost.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace einsumc {

namespace {

class Player {
public:
  Player(const Tree &tree, NodeId node, const Stepping &stepping, const Machine &machine,
         const Link &link)
      : tree(tree), node(node), stepping(stepping), machine(machine), link(link),
        table(stepping, stepping.work.grid.firstRank) {}

  StepCost run() {
    for (std::size_t step = 0; step < table.steps(); ++step) {
      double begin = computedAt(step, 1);
      for (std::size_t t = 0; t < stepping.travellers.size(); ++t)
        begin = std::max(begin, arrival(t, step));
      const double seconds = computeSeconds(step);
      cost.computeSeconds += seconds;
      computed.push_back(begin + seconds);
      for (std::size_t t = 0; t < stepping.travellers.size(); ++t)
        sendResult(t, step);
    }
    cost.seconds = computed.empty() ? 0 : std::max(computed.back(), linkIsFree);
    return cost;
  }

private:
  /// When the step that lies so many before another was computed.
  double computedAt(std::size_t step, std::size_t before) const {
    return step < before ? 0 : computed[step - before];
  }

  bool isResult(std::size_t t) const { return stepping.travellers[t].role == 2; }
  bool isRotatingResult(std::size_t t) const {
    return isResult(t) && stepping.travellers[t].movement == StepMovement::Ring;
  }

  /// When the chunk that a step needs is there.
  double arrival(std::size_t t, std::size_t step) {
    // Two slots: the one that the chunk goes to was used two steps before.
    constexpr std::size_t kSlots = 2;
    const auto pace = static_cast<std::size_t>(stepping.pace);
    if (isRotatingResult(t)) // All ranks keep pace with each other: the neighbour had it last.
      return step < pace ? 0 : transfer(t, step, computedAt(step, pace));
    if (isResult(t))
      return step < kSlots || sent.size() < kSlots ? 0 : sent[sent.size() - kSlots];
    return table.isOwn(t, step) && !isStream(t) ? 0 : transfer(t, step, computedAt(step, kSlots));
  }

  bool isStream(std::size_t t) const {
    return stepping.travellers[t].movement == StepMovement::Stream;
  }

  /// What is added to others' sums, or goes back to the root, when a step is computed.
  void sendResult(std::size_t t, std::size_t step) {
    if (isResult(t) && !isRotatingResult(t))
      sent.push_back(transfer(t, step, computed[step]));
  }

  /// Uses the link from a time on, or from when it is free; when the transfer is over.
  double transfer(std::size_t t, std::size_t step, double from) {
    linkIsFree = std::max(linkIsFree, from) + transferSeconds(t, step);
    return linkIsFree;
  }

  double transferSeconds(std::size_t t, std::size_t step) const {
    const Traveller &traveller = stepping.travellers[t];
    const auto ranks = static_cast<double>(stepping.work.grid.extents[traveller.axis]);
    const double words = static_cast<double>(volume(table.chunk(t, step))) *
                         static_cast<double>(sizeInBytes(tree.elementType()));
    const double stages = std::ceil(std::log2(ranks));
    switch (traveller.movement) {
    case StepMovement::Bcast:
      return link.alpha * stages + link.beta * words * std::min(stages, 2 * (ranks - 1) / ranks);
    case StepMovement::Stream:
      return (ranks - 1) * (link.alpha + link.beta * words);
    case StepMovement::Ring:
    case StepMovement::Get:
      return link.alpha + link.beta * words;
    }
    return 0;
  }

  double computeSeconds(std::size_t step) {
    const Box work = table.work(step);
    std::vector<int64_t> extents;
    for (const Interval &range : work)
      extents.push_back(range.size());
    const auto [found, isNew] = known.try_emplace(extents, 0);
    if (isNew && volume(work) > 0)
      found->second = localCost(localWork(tree, node, work), machine).seconds();
    return found->second;
  }

  const Tree &tree;
  const NodeId node;
  const Stepping &stepping;
  const Machine &machine;
  const Link &link;
  const StepTable table;
  std::map<std::vector<int64_t>, double> known; ///< seconds of a step, by its extents
  std::vector<double> computed;                 ///< by step: when
  std::vector<double> sent;                     ///< when results were
  double linkIsFree = 0;
  StepCost cost;
};

} // namespace

StepCost stepCost(const Tree &tree, NodeId node, const Stepping &stepping, const Machine &machine,
                  const Link &link) {
  return Player(tree, node, stepping, machine, link).run();
}

} // namespace einsumc
