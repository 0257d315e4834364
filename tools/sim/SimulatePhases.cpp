//===- SimulatePhases.cpp - a schedule by phases ----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "ExchangePhase.h"
#include "LoopGraph.h"
#include "LoopPatterns.h"
#include "Simulation.h"

#include "compiler/ir/Moves.h"
#include "compiler/plan/StepSeconds.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace einsumc::sim {

namespace {

using Id = EventEngine::Id;

/// Of a time, what sums and differences of times may be off.
constexpr double kRounding = 1e-12;

/// The first rank of a loop's grid, which has the largest blocks, in lock step with all others. Its
/// links stand for the busiest: of nodes out, of nodes in, messages within nodes, between nodes the
/// one that all travellers together load most, and one for each traveller.
class LockStep final : public LoopTransport {
public:
  LockStep(EventEngine &engine, const Stepping &stepping, const Machine &machine,
           const Network &network)
      : patterns(stepping, network), engine(engine), stepping(stepping), machine(machine),
        network(network), table(stepping, stepping.work.grid.firstRank) {}

  static std::size_t linkCount(const Stepping &stepping) {
    return kFirstTraveller + stepping.travellers.size();
  }

  std::vector<int64_t> ranks() const override { return {stepping.work.grid.firstRank}; }
  int64_t standInFor(int64_t /*rank*/) const override { return stepping.work.grid.firstRank; }

  /// Of all steps in which any rank has messages.
  std::vector<Passage> passages(const StepTable &table, std::size_t traveller) const override {
    const Traveller &of = stepping.travellers[traveller];
    std::vector<Passage> result;
    const bool rotates = of.role == 2 && of.movement == StepMovement::Ring;
    for (std::size_t s = 0; s < table.steps(); ++s) {
      const bool isFirst = rotates && s < static_cast<std::size_t>(stepping.pace);
      Box chunk = table.chunk(traveller, s);
      if (!isFirst && volume(chunk) > 0 && patterns.at(traveller, s).messages > 0)
        result.push_back({table.rank(), static_cast<int64_t>(s), std::move(chunk)});
    }
    return result;
  }

  Id message(std::size_t traveller, std::size_t step, int64_t /*from*/, int64_t /*to*/,
             double bytes) override {
    return flow(traveller, step, 1, bytes);
  }

  Id collective(std::size_t traveller, std::size_t step, int64_t /*rank*/, double bytes) override {
    const auto extent =
        static_cast<double>(stepping.work.grid.extents[stepping.travellers[traveller].axis]);
    return flow(traveller, step, std::ceil(std::log2(extent)), 2 * (extent - 1) / extent * bytes);
  }

  mutable LoopPatterns patterns;

private:
  static constexpr std::size_t kOut = 0, kIn = 1, kWithin = 2, kTogether = 3, kFirstTraveller = 4;

  Id flow(std::size_t traveller, std::size_t step, double latencies, double bytes) {
    PatternLoad &pattern = patterns.at(traveller, step);
    pattern.repeated += bytes;
    const Link &link = pattern.out > 0 ? machine.betweenNodes : machine.withinNode;
    const double byte = network.secondsPerByte();
    return engine.addFlow(static_cast<double>(pattern.inTurn) * latencies * link.alpha, bytes,
                          {{kOut, pattern.out * byte},
                           {kIn, pattern.in * byte},
                           {kWithin, pattern.rank * machine.withinNode.beta},
                           {kTogether, loadTogether(traveller, step) * byte},
                           {kFirstTraveller + traveller, pattern.between * byte}});
  }

  double loadTogether(std::size_t traveller, std::size_t step) {
    if (network.links() == 2 * network.nodes())
      return 0;
    std::vector<double> elements;
    elements.reserve(stepping.travellers.size());
    for (std::size_t t = 0; t < stepping.travellers.size(); ++t)
      elements.push_back(static_cast<double>(volume(table.chunk(t, step))));
    return patterns.together(step, elements)[traveller];
  }

  EventEngine &engine;
  const Stepping &stepping;
  const Machine &machine;
  const Network &network;
  const StepTable table;
};

class Phases {
public:
  Phases(const Tree &tree, const Machine &machine, const Schedule &schedule, const Network &network)
      : tree(tree), machine(machine), schedule(schedule), network(network),
        elementBytes(static_cast<double>(sizeInBytes(tree.elementType()))),
        clocks(static_cast<std::size_t>(schedule.ranks), 0) {
    result.linkBytes.assign(static_cast<std::size_t>(network.links()), 0);
  }

  Simulation run() {
    for (NodeId node = 0; node < tree.size(); ++node)
      if (tree.node(node).kind != NodeKind::Input)
        playNode(node);
    return std::move(result);
  }

private:
  void playNode(NodeId node) {
    const std::vector<double> begins = clocks;
    computes.assign(clocks.size(), 0);
    transfers.assign(clocks.size(), 0);
    const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(node)];
    const NodeHops hops = hopsOf(tree, schedule, node);
    for (const Hop &hop : hops.before)
      playHop(hop);
    const std::optional<Stepping> stepping = steppingOf(tree, node, on);
    StepSeconds seconds(tree, node, machine, stepping ? &*stepping : nullptr);
    if (stepping)
      playLoop(*stepping, seconds);
    else
      playCompute(workLayout(tree, node, on), seconds);
    for (const Hop &hop : hops.after)
      playHop(hop);

    SimulatedNode record;
    record.node = node;
    record.bytes = trafficBytes(tree, schedule, node);
    for (std::size_t rank = 0; rank < clocks.size(); ++rank) {
      record.computeSeconds = std::max(record.computeSeconds, computes[rank]);
      record.transferSeconds = std::max(record.transferSeconds, transfers[rank]);
      const double idle = clocks[rank] - begins[rank] - computes[rank];
      if (idle > kRounding * clocks[rank])
        record.waitSeconds = std::max(record.waitSeconds, idle);
    }
    const double latest = std::max(result.seconds, *std::ranges::max_element(clocks));
    record.seconds = latest - std::exchange(result.seconds, latest);
    result.nodes.push_back(record);
  }

  void playHop(const Hop &hop) {
    ExchangePhase phase(hop.from, hop.to, elementBytes, machine, network);
    phase.play(clocks, transfers);
    for (std::size_t link = 0; link < result.linkBytes.size(); ++link)
      result.linkBytes[link] += phase.linkBytes()[link];
  }

  void playCompute(const Layout &work, StepSeconds &seconds) {
    for (int64_t rank = work.grid.firstRank; rank < work.grid.firstRank + work.grid.size();
         ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      computes[index] = seconds.of(work.box(rank));
      clocks[index] += computes[index];
    }
  }

  void playLoop(const Stepping &stepping, StepSeconds &seconds) {
    EventEngine engine(LockStep::linkCount(stepping));
    const Id begin = engine.addDelay(0);
    LockStep transport(engine, stepping, machine, network);
    const std::vector<LoopPart> parts = addLoop(
        engine, stepping, elementBytes, transport, [&](int64_t /*rank*/) { return begin; },
        [&](const Box &work, std::size_t step) { return seconds.of(work, step); });
    engine.run();
    transport.patterns.addTo(result.linkBytes);
    double end = 0, compute = 0;
    for (const Id id : parts.front().steps) {
      compute += engine.end(id) - engine.begin(id);
      end = std::max(end, engine.end(id));
    }
    for (const Id id : parts.front().transfers)
      end = std::max(end, engine.end(id));
    advanceTogether(stepping, end, compute, engine.coverage(parts.front().transfers));
  }

  /// Ranks that pass chunks to each other, on whatever way, begin when the last of them does.
  void advanceTogether(const Stepping &stepping, double seconds, double compute, double transfer) {
    const Grid &grid = stepping.work.grid;
    auto groupOf = [&](int64_t rank) {
      std::vector<int64_t> place = grid.coordinates(rank);
      for (const Traveller &traveller : stepping.travellers)
        place[traveller.axis] = 0;
      return static_cast<std::size_t>(grid.rankAt(place));
    };
    std::vector<double> begins(clocks.size(), 0);
    for (int64_t rank = grid.firstRank; rank < grid.firstRank + grid.size(); ++rank)
      begins[groupOf(rank)] =
          std::max(begins[groupOf(rank)], clocks[static_cast<std::size_t>(rank)]);
    for (int64_t rank = grid.firstRank; rank < grid.firstRank + grid.size(); ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      clocks[index] = begins[groupOf(rank)] + seconds;
      computes[index] += compute;
      transfers[index] += transfer;
    }
  }

  const Tree &tree;
  const Machine &machine;
  const Schedule &schedule;
  const Network &network;
  const double elementBytes;
  std::vector<double> clocks;              ///< by rank: when it is done with what was played
  std::vector<double> computes, transfers; ///< by rank: seconds of the node at hand
  Simulation result;
};

} // namespace

Simulation simulatePhases(const Tree &tree, const Machine &machine, const Schedule &schedule,
                          const Network &network) {
  return Phases(tree, machine, schedule, network).run();
}

} // namespace einsumc::sim
