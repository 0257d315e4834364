//===- StepCost.cpp - what a stepping loop is predicted to take -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/StepCost.h"

#include "compiler/plan/LocalCost.h"
#include "compiler/plan/StepSeconds.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace einsumc {

namespace {

/// What chunks take on their way.
class ChunkTransfers {
public:
  ChunkTransfers(const Stepping &stepping, const std::vector<Link> &links, ElementType type)
      : stepping(stepping), links(links), elementBytes(static_cast<double>(sizeInBytes(type))) {}

  int64_t ranks(std::size_t t) const {
    return stepping.work.grid.extents[stepping.travellers[t].axis];
  }

  /// Of a traveller's chunk, or part of one, of so many elements.
  double seconds(std::size_t t, double elements) const {
    const Link &link = links[t];
    const auto count = static_cast<double>(ranks(t));
    const double words = elements * elementBytes;
    const double stages = std::ceil(std::log2(count));
    switch (stepping.travellers[t].movement) {
    case StepMovement::Bcast:
      return link.alpha * stages + link.beta * words * std::min(stages, 2 * (count - 1) / count);
    case StepMovement::Stream:
      return (count - 1) * (link.alpha + link.beta * words);
    case StepMovement::Ring:
      return link.alpha + link.beta * words;
    case StepMovement::Get: // It is asked for.
      return 2 * link.alpha + link.beta * words;
    }
    return 0;
  }

private:
  const Stepping &stepping;
  const std::vector<Link> &links;
  const double elementBytes;
};

bool isLong(const Stepping &stepping) {
  constexpr int64_t kLongLoop = 24;
  return mostChunks(stepping) * stepping.pace > kLongLoop;
}

/// The steps of a long loop, which are taken to be alike.
struct AlikeSteps {
  Box work;             ///< of one
  double busy = 0;      ///< steps with something to compute
  double own = 0;       ///< of these, with the rank's own chunk
  double transfers = 0; ///< seconds of the transfers of each of the others

  AlikeSteps(const Stepping &stepping, const ChunkTransfers &chunks) {
    const int64_t count = mostChunks(stepping), parts = count * stepping.pace;
    const int64_t rank = stepping.work.grid.firstRank;
    work = stepping.work.box(rank);
    Interval &range = work[stepping.dim];
    busy = static_cast<double>(std::min(parts, range.size()));
    range.end = range.begin + (range.size() + parts - 1) / parts;
    own = std::min(static_cast<double>(stepping.pace), busy);
    for (std::size_t t = 0; t < stepping.travellers.size(); ++t) {
      const auto stored = static_cast<double>(stepping.travellers[t].chunks.largestSize());
      transfers += chunks.seconds(t, stored * static_cast<double>(count) / busy);
    }
  }
};

class Player {
public:
  Player(PartSeconds &parts, const Stepping &stepping, const std::vector<Link> &links)
      : stepping(stepping), chunks(stepping, links, parts.tree.elementType()),
        stepSeconds(parts, &stepping) {}

  StepCost run() {
    const double steps = static_cast<double>(mostChunks(stepping) * stepping.pace);
    StepCost result = isLong(stepping) ? estimate() : play();
    // Messages take threads from compute that hides them, not from threads that wait for them.
    const double transfers = result.transferSeconds;
    const double hidden = result.computeSeconds + transfers - result.seconds;
    result.hidingSeconds =
        stepSeconds.load() * (transfers > 0 ? std::clamp(hidden / transfers, 0.0, 1.0) : 1);
    result.computeSeconds += steps * result.hidingSeconds;
    result.seconds += steps * result.hidingSeconds;
    return result;
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
  StepCost estimate() {
    const AlikeSteps steps(stepping, chunks);
    const double compute = stepSeconds.of(steps.work, 1);
    const double others = steps.busy - steps.own;
    return {steps.own * compute + others * std::max(compute, steps.transfers), steps.busy * compute,
            others * steps.transfers, 0};
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
    const double seconds = chunks.seconds(t, static_cast<double>(volume(table->chunk(t, step))));
    cost.transferSeconds += seconds;
    linkIsFree = std::max(linkIsFree, from) + seconds;
    return linkIsFree;
  }

  const Stepping &stepping;
  const ChunkTransfers chunks;
  const StepSeconds stepSeconds;
  std::optional<StepTable> table;
  std::vector<double> computed; ///< by step: when
  std::vector<double> sent;     ///< when results were
  double linkIsFree = 0;
  StepCost cost;
};

/// Seconds of all transfers of a loop that is not long.
double leastTransfers(const Stepping &stepping, const ChunkTransfers &chunks) {
  const bool areAlike = llvm::all_of(stepping.travellers, [&](const Traveller &traveller) {
    return stepping.work.grid.extents[traveller.axis] == mostChunks(stepping);
  });
  double seconds = 0;
  for (std::size_t t = 0; t < stepping.travellers.size(); ++t) {
    if (stepping.travellers[t].movement == StepMovement::Stream || chunks.ranks(t) == 1)
      continue; // Streams are few: no need to count them.
    const auto elements = static_cast<double>(foreignElements(stepping.travellers[t]));
    // Where chunks are cut to match another traveller's, empty parts are not sent.
    const auto messages =
        areAlike ? static_cast<double>((chunks.ranks(t) - 1) * stepping.pace) : 1.0;
    seconds += messages * chunks.seconds(t, elements / messages);
  }
  return seconds;
}

} // namespace

StepCost stepBound(const Tree &tree, const Stepping &stepping, const Machine &machine,
                   const std::vector<Link> &links) {
  const ChunkTransfers chunks(stepping, links, tree.elementType());
  StepCost bound;
  const auto iterations = static_cast<double>(stepping.work.largestSize());
  bound.computeSeconds = leastSeconds(iterations, tree.elementType(), machine);
  if (isLong(stepping)) {
    const AlikeSteps steps(stepping, chunks);
    bound.transferSeconds = (steps.busy - steps.own) * steps.transfers;
  } else {
    bound.transferSeconds = leastTransfers(stepping, chunks);
  }
  bound.seconds = std::max(bound.computeSeconds, bound.transferSeconds);
  return bound;
}

StepCost stepCost(PartSeconds &parts, const Stepping &stepping, const std::vector<Link> &links) {
  return Player(parts, stepping, links).run();
}

} // namespace einsumc
