//===- StepCost.cpp - what a stepping loop is predicted to take -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/StepCost.h"

#include "compiler/plan/StepSeconds.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace einsumc {

namespace {

class Player {
public:
  Player(const Tree &tree, NodeId node, const Stepping &stepping, const Machine &machine,
         const std::vector<Link> &links)
      : stepping(stepping), links(links),
        elementBytes(static_cast<double>(sizeInBytes(tree.elementType()))),
        stepSeconds(tree, node, machine, &stepping) {}

  StepCost run() {
    int64_t chunks = 1;
    for (const Traveller &traveller : stepping.travellers)
      chunks = std::max(chunks, stepping.work.grid.extents[traveller.axis]);
    constexpr int64_t kLongLoop = 24;
    return chunks * stepping.pace > kLongLoop ? estimate(static_cast<double>(chunks)) : play();
  }

private:
  StepCost play() {
    table.emplace(stepping, stepping.work.grid.firstRank);
    for (std::size_t step = 0; step < table->steps(); ++step) {
      double begin = computedAt(step, 1);
      for (std::size_t t = 0; t < stepping.travellers.size(); ++t)
        begin = std::max(begin, arrival(t, step));
      const double seconds = stepSeconds.of(table->work(step), step);
      cost.computeSeconds += seconds;
      computed.push_back(begin + seconds);
      for (std::size_t t = 0; t < stepping.travellers.size(); ++t)
        sendResult(t, step);
    }
    cost.seconds = computed.empty() ? 0 : std::max(computed.back(), linkIsFree);
    return cost;
  }

  /// All steps alike: those of the rank's own chunk compute, then the larger of compute and
  /// transfers counts.
  StepCost estimate(double chunks) {
    const int64_t parts = static_cast<int64_t>(chunks) * stepping.pace;
    const int64_t rank = stepping.work.grid.firstRank;
    Box work = stepping.work.box(rank);
    Interval &range = work[stepping.dim];
    const auto busy = static_cast<double>(std::min(parts, range.size()));
    range.end = range.begin + (range.size() + parts - 1) / parts;
    const double compute = stepSeconds.of(work, 1);
    double transfers = 0;
    for (std::size_t t = 0; t < stepping.travellers.size(); ++t)
      transfers += transferSeconds(
          t, static_cast<double>(stepping.travellers[t].chunks.localSize(rank)) * chunks / busy);
    const double own = std::min(static_cast<double>(stepping.pace), busy);
    cost.computeSeconds = busy * compute;
    cost.transferSeconds = (busy - own) * transfers;
    cost.seconds = own * compute + (busy - own) * std::max(compute, transfers);
    return cost;
  }

  /// When the step that lies so many before another was computed.
  double computedAt(std::size_t step, std::size_t before) const {
    return step < before ? 0 : computed[step - before];
  }

  bool isResult(std::size_t t) const { return stepping.travellers[t].role == 2; }

  /// When the chunk that a step needs is there.
  double arrival(std::size_t t, std::size_t step) {
    // Two slots: the one that the chunk goes to was used two steps before.
    constexpr std::size_t kSlots = 2;
    const auto pace = static_cast<std::size_t>(stepping.pace);
    if (rotatesResult(stepping)) // All ranks keep pace with each other: the neighbour had it last.
      return step < pace ? 0 : transfer(t, step, computedAt(step, pace));
    if (isResult(t))
      return step < kSlots || sent.size() < kSlots ? 0 : sent[sent.size() - kSlots];
    return table->isOwn(t, step) && !isStream(t) ? 0 : transfer(t, step, computedAt(step, kSlots));
  }

  bool isStream(std::size_t t) const {
    return stepping.travellers[t].movement == StepMovement::Stream;
  }

  /// What is added to others' sums, or goes back to the root, when a step is computed.
  void sendResult(std::size_t t, std::size_t step) {
    if (isResult(t) && !rotatesResult(stepping))
      sent.push_back(transfer(t, step, computed[step]));
  }

  /// Uses the link from a time on, or from when it is free; when the transfer is over.
  double transfer(std::size_t t, std::size_t step, double from) {
    const double seconds = transferSeconds(t, static_cast<double>(volume(table->chunk(t, step))));
    cost.transferSeconds += seconds;
    linkIsFree = std::max(linkIsFree, from) + seconds;
    return linkIsFree;
  }

  /// Of so many elements.
  double transferSeconds(std::size_t t, double elements) const {
    const Traveller &traveller = stepping.travellers[t];
    const Link &link = links[t];
    const auto ranks = static_cast<double>(stepping.work.grid.extents[traveller.axis]);
    const double words = elements * elementBytes;
    const double stages = std::ceil(std::log2(ranks));
    switch (traveller.movement) {
    case StepMovement::Bcast:
      return link.alpha * stages + link.beta * words * std::min(stages, 2 * (ranks - 1) / ranks);
    case StepMovement::Stream:
      return (ranks - 1) * (link.alpha + link.beta * words);
    case StepMovement::Ring:
      return link.alpha + link.beta * words;
    case StepMovement::Get: // It is asked for.
      return 2 * link.alpha + link.beta * words;
    }
    return 0;
  }

  const Stepping &stepping;
  const std::vector<Link> &links;
  const double elementBytes;
  StepSeconds stepSeconds;
  std::optional<StepTable> table;
  std::vector<double> computed; ///< by step: when
  std::vector<double> sent;     ///< when results were
  double linkIsFree = 0;
  StepCost cost;
};

} // namespace

StepCost stepCost(const Tree &tree, NodeId node, const Stepping &stepping, const Machine &machine,
                  const std::vector<Link> &links) {
  return Player(tree, node, stepping, machine, links).run();
}

} // namespace einsumc
