//===- SimulateMessages.cpp - a schedule message by message -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "LoopGraph.h"
#include "Simulation.h"

#include "compiler/ir/Moves.h"
#include "compiler/plan/StepCost.h"
#include "compiler/plan/StepSeconds.h"
#include "compiler/plan/TransferCost.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

namespace einsumc::sim {

namespace {

using Id = EventEngine::Id;

/// The links of a network as the engine's: behind them what ranks send and receive within nodes.
class FlowMaker {
public:
  FlowMaker(EventEngine &engine, const Machine &machine, const Network &network, int64_t ranks)
      : engine(engine), machine(machine), network(network), ranks(ranks),
        linkBytes(static_cast<std::size_t>(network.links()), 0) {}

  static std::size_t linkCount(const Network &network, int64_t ranks) {
    return static_cast<std::size_t>(network.links() + 2 * ranks);
  }

  Id message(int64_t from, int64_t to, double bytes) {
    return flow(from, to, alpha(from, to), bytes);
  }

  /// The same in two parts, of which the first one keeps its ranks from others.
  Id start(int64_t from, int64_t to) { return engine.addDelay(alpha(from, to)); }
  Id started(Id start, int64_t from, int64_t to, double bytes) {
    const Id id = flow(from, to, 0, bytes);
    engine.after(id, start);
    return id;
  }

  /// Every rank of a line sends so many bytes to the one before it.
  Id aroundLine(const std::vector<int64_t> &line, double latencies, double bytes) {
    std::vector<LinkShare> shares;
    double largest = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const int64_t from = line[i], to = line[(i + line.size() - 1) % line.size()];
      addRoute(from, to, bytes, shares);
      largest = std::max(largest, alpha(from, to));
    }
    return engine.addFlow(latencies * largest, bytes, std::move(shares));
  }

  std::vector<double> takeLinkBytes() { return std::move(linkBytes); }

private:
  Id flow(int64_t from, int64_t to, double latency, double bytes) {
    std::vector<LinkShare> shares;
    addRoute(from, to, bytes, shares);
    return engine.addFlow(latency, bytes, std::move(shares));
  }

  double alpha(int64_t from, int64_t to) const {
    return network.isWithinNode(from, to) ? machine.withinNode.alpha : machine.betweenNodes.alpha;
  }

  void addRoute(int64_t from, int64_t to, double bytes, std::vector<LinkShare> &shares) {
    if (network.isWithinNode(from, to)) {
      shares.push_back({static_cast<std::size_t>(network.links() + from), machine.withinNode.beta});
      shares.push_back(
          {static_cast<std::size_t>(network.links() + ranks + to), machine.withinNode.beta});
      return;
    }
    llvm::SmallVector<int64_t> links;
    network.route(from, to, links);
    for (const int64_t link : links) {
      shares.push_back({static_cast<std::size_t>(link), network.secondsPerByte()});
      linkBytes[static_cast<std::size_t>(link)] += bytes;
    }
  }

  EventEngine &engine;
  const Machine &machine;
  const Network &network;
  const int64_t ranks;
  std::vector<double> linkBytes;
};

/// All ranks of a loop, each for itself.
class AllRanks final : public LoopTransport {
public:
  AllRanks(const Stepping &stepping, FlowMaker &flows) : stepping(stepping), flows(flows) {}

  std::vector<int64_t> ranks() const override {
    std::vector<int64_t> all(static_cast<std::size_t>(stepping.work.grid.size()));
    std::iota(all.begin(), all.end(), stepping.work.grid.firstRank);
    return all;
  }
  int64_t standInFor(int64_t rank) const override { return rank; }

  std::vector<Passage> passages(const StepTable &table, std::size_t traveller) const override {
    const Traveller &of = stepping.travellers[traveller];
    return of.role == 2 && of.movement != StepMovement::Ring ? table.departures(traveller)
                                                             : table.arrivals(traveller);
  }

  Id message(std::size_t /*traveller*/, std::size_t /*step*/, int64_t from, int64_t to,
             double bytes) override {
    return flows.message(from, to, bytes);
  }

  Id collective(std::size_t traveller, std::size_t /*step*/, int64_t rank, double bytes) override {
    const std::size_t axis = stepping.travellers[traveller].axis;
    const int64_t extent = stepping.work.grid.extents[axis];
    std::vector<int64_t> place = stepping.work.grid.coordinates(rank), line;
    for (place[axis] = 0; place[axis] < stepping.work.grid.extents[axis]; ++place[axis])
      line.push_back(stepping.work.grid.rankAt(place));
    return flows.aroundLine(line, std::ceil(std::log2(extent)), collectiveBytes(extent, bytes));
  }

private:
  const Stepping &stepping;
  FlowMaker &flows;
};

class Replay {
public:
  Replay(const Tree &tree, const Machine &machine, const Schedule &schedule, const Network &network)
      : tree(tree), machine(machine), schedule(schedule), transferCost(machine, schedule.ranks),
        elementBytes(static_cast<double>(sizeInBytes(tree.elementType()))),
        engine(FlowMaker::linkCount(network, schedule.ranks)),
        flows(engine, machine, network, schedule.ranks) {
    for (int64_t rank = 0; rank < schedule.ranks; ++rank)
      here.push_back(engine.addDelay(0));
  }

  Simulation run() {
    for (NodeId node = 0; node < tree.size(); ++node)
      if (tree.node(node).kind != NodeKind::Input)
        addNode(node);
    engine.run();
    Simulation result;
    for (const NodeRecord &record : records)
      result.nodes.push_back(evaluate(record, result.seconds));
    result.linkBytes = flows.takeLinkBytes();
    return result;
  }

private:
  /// What the ranks do for a node, by rank.
  struct NodeRecord {
    NodeId node = 0;
    std::vector<Id> begins, ends;
    std::vector<std::vector<Id>> computes, transfers;
  };

  void addNode(NodeId node) {
    const auto ranks = static_cast<std::size_t>(schedule.ranks);
    records.push_back({node, here, {}, {}, {}});
    records.back().computes.resize(ranks);
    records.back().transfers.resize(ranks);
    const NodeHops hops = hopsOf(tree, schedule, node);
    for (const Hop &hop : hops.before)
      addHop(hop);
    const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(node)];
    const std::optional<Stepping> stepping = steppingOf(tree, node, on);
    PartSeconds parts(tree, node, machine);
    const StepSeconds seconds(parts, stepping ? &*stepping : nullptr);
    if (stepping)
      addSteps(*stepping, seconds,
               stepCost(parts, *stepping, transferCost.stepLinks(*stepping)).hidingSeconds);
    else
      addCompute(workLayout(tree, node, on), seconds);
    for (const Hop &hop : hops.after)
      addHop(hop);
    records.back().ends = here;
  }

  void addCompute(const Layout &work, const StepSeconds &seconds) {
    for (int64_t rank = work.grid.firstRank; rank < work.grid.firstRank + work.grid.size();
         ++rank) {
      const Id compute = engine.addDelay(seconds.of(work.box(rank)));
      const auto index = static_cast<std::size_t>(rank);
      engine.after(compute, here[index]);
      here[index] = compute;
      records.back().computes[index].push_back(compute);
    }
  }

  /// \param load seconds that messages take of each step's threads, by the prediction
  void addSteps(const Stepping &stepping, const StepSeconds &seconds, double load) {
    AllRanks transport(stepping, flows);
    const std::vector<LoopPart> parts = addLoop(
        engine, stepping, elementBytes, transport,
        [&](int64_t rank) { return here[static_cast<std::size_t>(rank)]; },
        [&](const Box &work, std::size_t step) { return seconds.of(work, step) + load; });
    for (const LoopPart &part : parts) {
      const auto index = static_cast<std::size_t>(part.rank);
      const Id end = engine.addDelay(0);
      engine.after(end, here[index]);
      for (const std::vector<Id> *list : {&part.steps, &part.transfers})
        for (const Id id : *list)
          engine.after(end, id);
      here[index] = end;
      records.back().computes[index] = part.steps;
      std::vector<Id> &transfers = records.back().transfers[index];
      transfers.insert(transfers.end(), part.transfers.begin(), part.transfers.end());
    }
  }

  /// Messages start in the order of their distance, so that no two ranks wait for each other's
  /// turn.
  void addHop(const Hop &hop) {
    std::vector<Transfer> messages;
    const Grid &grid = hop.to.grid;
    for (int64_t to = grid.firstRank; to < grid.firstRank + grid.size(); ++to)
      for (Transfer &transfer : incomingTransfers(hop.from, hop.to, to))
        if (transfer.from != transfer.to)
          messages.push_back(std::move(transfer));
    std::ranges::stable_sort(messages, {}, [&](const Transfer &message) {
      return (message.to - message.from + schedule.ranks) % schedule.ranks;
    });
    const std::vector<Id> before = here;
    std::vector<Id> lastSent = here, lastReceived = here;
    std::vector<std::vector<Id>> own(here.size());
    for (const Transfer &message : messages) {
      const auto from = static_cast<std::size_t>(message.from);
      const auto to = static_cast<std::size_t>(message.to);
      const Id start = flows.start(message.from, message.to);
      for (const Id earlier : {lastSent[from], lastReceived[to], before[from], before[to]})
        engine.after(start, earlier);
      lastSent[from] = lastReceived[to] = start;
      const Id id = flows.started(start, message.from, message.to,
                                  static_cast<double>(volume(message.box)) * elementBytes);
      own[from].push_back(id);
      own[to].push_back(id);
      for (const auto rank : {from, to})
        records.back().transfers[rank].push_back(id);
    }
    for (std::size_t rank = 0; rank < here.size(); ++rank) {
      if (own[rank].empty())
        continue;
      here[rank] = engine.addDelay(0);
      for (const Id id : own[rank])
        engine.after(here[rank], id);
    }
  }

  double duration(const std::vector<Id> &ids) const {
    double seconds = 0;
    for (const Id id : ids)
      seconds += engine.end(id) - engine.begin(id);
    return seconds;
  }

  SimulatedNode evaluate(const NodeRecord &record, double &clock) const {
    SimulatedNode result;
    result.node = record.node;
    result.bytes = trafficBytes(tree, schedule, record.node);
    double latest = clock;
    for (std::size_t rank = 0; rank < record.ends.size(); ++rank) {
      const double compute = duration(record.computes[rank]);
      const double all = engine.end(record.ends[rank]) - engine.end(record.begins[rank]);
      result.computeSeconds = std::max(result.computeSeconds, compute);
      result.transferSeconds =
          std::max(result.transferSeconds, engine.coverage(record.transfers[rank]));
      result.waitSeconds = std::max(result.waitSeconds, all - compute);
      latest = std::max(latest, engine.end(record.ends[rank]));
    }
    result.seconds = latest - clock;
    clock = latest;
    return result;
  }

  const Tree &tree;
  const Machine &machine;
  const Schedule &schedule;
  const TransferCost transferCost;
  const double elementBytes;
  EventEngine engine;
  FlowMaker flows;
  std::vector<Id> here; ///< by rank: after which it goes on
  std::vector<NodeRecord> records;
};

} // namespace

Simulation simulateMessages(const Tree &tree, const Machine &machine, const Schedule &schedule,
                            const Network &network) {
  return Replay(tree, machine, schedule, network).run();
}

} // namespace einsumc::sim
