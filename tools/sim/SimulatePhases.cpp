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
#include "compiler/plan/StepCost.h"
#include "compiler/plan/StepSeconds.h"
#include "compiler/plan/TransferCost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace einsumc::sim {

namespace {

using Id = EventEngine::Id;

/// Of a time, what sums and differences of times may be off.
constexpr double kRounding = 1e-12;

/// The ranks that stand for all of a loop's grid, in lock step with those for whom they stand. The
/// links stand for the busiest: of a step a link out of a node, one into a node, another one, and
/// messages within nodes; and for each traveller its own busiest one.
class LockStep final : public LoopTransport {
public:
  LockStep(EventEngine &engine, const Stepping &stepping, const Machine &machine,
           const Network &network, double elementBytes)
      : patterns(stepping, network, elementBytes), engine(engine), stepping(stepping),
        machine(machine), network(network) {}

  static std::size_t linkCount(const Stepping &stepping) {
    return kFirstTraveller + stepping.travellers.size();
  }

  std::vector<int64_t> ranks() const override { return patterns.standIns(); }
  int64_t standInFor(int64_t /*rank*/) const override { return stepping.work.grid.firstRank; }

  /// Of all steps in which any rank has messages.
  std::vector<Passage> passages(const StepTable &table, std::size_t traveller) const override {
    std::vector<Passage> result;
    for (std::size_t s = 0; s < table.steps(); ++s) {
      Box chunk = table.chunk(traveller, s);
      if (volume(chunk) > 0 && patterns.hasMessages(table.rank(), traveller, s))
        result.push_back({standInFor(table.rank()), static_cast<int64_t>(s), std::move(chunk)});
    }
    return result;
  }

  Id message(std::size_t traveller, std::size_t step, int64_t from, int64_t to,
             double bytes) override {
    return flow(std::max(from, to), traveller, step, 1, bytes); // The peer is the first stand-in.
  }

  Id collective(std::size_t traveller, std::size_t step, int64_t rank, double bytes) override {
    const int64_t extent = stepping.work.grid.extents[stepping.travellers[traveller].axis];
    return flow(rank, traveller, step, std::ceil(std::log2(extent)),
                collectiveBytes(extent, bytes));
  }

  LoopPatterns patterns;

private:
  static constexpr std::size_t kWithin = 3, kFirstTraveller = 4; ///< behind the busiest links

  Id flow(int64_t standIn, std::size_t traveller, std::size_t step, double latencies,
          double bytes) {
    const PatternLoad &pattern = patterns.at(standIn, traveller, step);
    const Link &link = pattern.busiest > 0 ? machine.betweenNodes : machine.withinNode;
    const double byte = pattern.share * network.secondsPerByte();
    const std::array<double, 3> busiest = patterns.onBusiestLinks(standIn, traveller, step);
    return engine.addFlow(static_cast<double>(pattern.inTurn) * latencies * link.alpha, bytes,
                          {{0, busiest[0] * byte},
                           {1, busiest[1] * byte},
                           {2, busiest[2] * byte},
                           {kWithin, pattern.rank * machine.withinNode.beta},
                           {kFirstTraveller + traveller, pattern.busiest * byte}});
  }

  EventEngine &engine;
  const Stepping &stepping;
  const Machine &machine;
  const Network &network;
};

class Phases {
public:
  Phases(const Tree &tree, const Machine &machine, const Schedule &schedule, const Network &network)
      : tree(tree), machine(machine), schedule(schedule), network(network),
        transferCost(machine, schedule.ranks),
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
    PartSeconds parts(tree, node, machine);
    const StepSeconds seconds(parts, stepping ? &*stepping : nullptr);
    if (stepping)
      playLoop(*stepping, seconds,
               stepCost(parts, *stepping, transferCost.stepLinks(*stepping)).hidingSeconds);
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

  void playCompute(const Layout &work, const StepSeconds &seconds) {
    for (int64_t rank = work.grid.firstRank; rank < work.grid.firstRank + work.grid.size();
         ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      computes[index] = seconds.of(work.box(rank));
      clocks[index] += computes[index];
    }
  }

  /// \param load seconds that messages take of each step's threads, by the prediction
  void playLoop(const Stepping &stepping, const StepSeconds &seconds, double load) {
    EventEngine engine(LockStep::linkCount(stepping));
    const Id begin = engine.addDelay(0);
    LockStep transport(engine, stepping, machine, network, elementBytes);
    const std::vector<LoopPart> parts = addLoop(
        engine, stepping, elementBytes, transport, [&](int64_t /*rank*/) { return begin; },
        [&](const Box &work, std::size_t step) { return seconds.of(work, step) + load; });
    engine.run();
    transport.patterns.addTo(result.linkBytes);
    double end = 0, compute = 0, transfer = 0;
    for (const LoopPart &part : parts) {
      double computeOfPart = 0;
      for (const Id id : part.steps) {
        computeOfPart += engine.end(id) - engine.begin(id);
        end = std::max(end, engine.end(id));
      }
      for (const Id id : part.transfers)
        end = std::max(end, engine.end(id));
      compute = std::max(compute, computeOfPart);
      transfer = std::max(transfer, engine.coverage(part.transfers));
    }
    advanceTogether(stepping, end, compute, transfer);
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
  const TransferCost transferCost;
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
