//===- PrintStages.cpp - tree, order, dot and json of --emit ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "PrintStages.h"

#include "compiler/ir/AssignStorage.h"
#include "compiler/ir/Moves.h"
#include "compiler/plan/CommunicationBound.h"
#include "compiler/plan/Cost.h"
#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace einsumc {

void printTree(const Tree &declared, const Tree &tree, const Slices &slices,
               llvm::raw_ostream &out) {
  if (!slices.empty())
    out << "# One of " << countSlices(slices) << " slices: " << describeSlices(tree, slices)
        << "\n";
  print(tree, out, [&](NodeId id) {
    const Node &before = declared.node(id);
    return before.dims == tree.node(id).dims
               ? std::string()
               : "was " + tensorText(declared, before.name, before.dims);
  });
}

void printOrder(const Tree &tree, llvm::raw_ostream &out) {
  double flops = 0;
  int64_t largest = 0;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.node(id).kind == NodeKind::Input)
      continue;
    out << equationText(tree, id)
        << llvm::format("  # %.4g flops, %lld elements\n", tree.flops(id),
                        static_cast<long long>(tree.elements(id)));
    flops += tree.flops(id);
    largest = std::max(largest, tree.elements(id));
  }
  out << llvm::format("# %.4g flops, largest result %lld elements\n", flops,
                      static_cast<long long>(largest));
}

void printDot(const PlannedTree &planned, const Machine &machine, llvm::raw_ostream &out) {
  const Tree &tree = planned.tree;
  const Schedule &schedule = planned.schedule;
  out << "digraph einsum {\n  rankdir=BT;\n  node [fontname=\"monospace\"];\n";
  const double slices = static_cast<double>(countSlices(schedule.slices));
  if (!schedule.slices.empty())
    out << "  label=\"" << countSlices(schedule.slices)
        << " slices: " << describeSlices(tree, schedule.slices) << "\";\n";
  const TransferCost transfers(machine, schedule.ranks);
  const MemoryNeed need = planned.memoryNeed();
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Node &node = tree.node(id);
    const std::string text = tensorText(tree, node.name, node.dims);
    if (node.kind == NodeKind::Input) {
      out << "  n" << id << " [shape=box, label=\"" << text << "\\n"
          << placementText(tree, id, homePlacement(tree, schedule, id)) << "\\n"
          << bytesText(blockBytes(tree, id, homePlacement(tree, schedule, id))) << " a rank\"];\n";
      continue;
    }
    const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(id)];
    const NodeCost cost = costOf(tree, machine, transfers, schedule, id);
    out << "  n" << id << " [shape=" << (node.isOutput ? "doubleoctagon" : "ellipse")
        << ", label=\"" << text << "\\n"
        << algorithmName(tree, id, on) << " " << nodeScheduleText(tree, id, on) << "\\n"
        << llvm::format("%.3g flops, %.3g s, ", slices * tree.flops(id), slices * cost.seconds)
        << bytesText(slices * cost.bytes) << " sent\\n"
        << bytesText(static_cast<double>(need.tensors.inputs + need.at(id).bytes()))
        << " a rank while it runs";
    const NodeTraffic traffic = trafficOf(tree, schedule, id);
    if (traffic.result > 0)
      out << "\\nsums: " << bytesText(slices * traffic.result);
    out << "\"];\n";
    const NodeMoves moves = movesOf(tree, schedule, id);
    for (std::size_t o = 0; o < node.operands.size(); ++o) {
      const std::vector<Placement> &hops = moves.operands[o];
      const NodeId from = node.operands[o].node;
      out << "  n" << from << " -> n" << id << " [label=\"";
      if (!hops.empty())
        out << "to " << placementText(tree, from, hops.back()) << "\\n";
      out << bytesText(slices * traffic.operands[o]) << "\"];\n";
    }
    if (const auto &final = schedule.finals[static_cast<std::size_t>(id)])
      out << "  f" << id << " [shape=plaintext, label=\"" << node.name << " at the end\\n"
          << placementText(tree, id, *final) << "\"];\n  n" << id << " -> f" << id << " [label=\""
          << bytesText(slices * traffic.final) << "\"];\n";
  }
  out << "}\n";
}

namespace {

/// Algorithms that are listed for a node.
constexpr std::size_t kListed = 8;

class JsonWriter {
public:
  JsonWriter(const PlannedTree &planned, const Machine &machine, llvm::raw_ostream &out)
      : tree(planned.tree), machine(machine), schedule(planned.schedule),
        transfers(machine, schedule.ranks),
        alternatives(einsumc::alternatives(tree, machine, planned.options, kListed).ofNode),
        need(planned.memoryNeed()), slices(static_cast<double>(countSlices(schedule.slices))),
        json(out, 2) {}

  void run() {
    json.object([&] {
      json.attribute("dtype", name(tree.elementType()));
      json.attribute("ranks", schedule.ranks);
      json.attribute("predicted_tensor_bytes", storedBytes(tree, schedule));
      writeMemory();
      writeTotals();
      json.attributeArray("slices", [&] {
        for (const Slice &slice : schedule.slices)
          json.object([&] {
            json.attribute("dim", tree.dim(slice.dim).name);
            json.attribute("parts", slice.parts);
          });
      });
      json.attributeObject("dims", [&] {
        for (const Dim &dim : tree.dims())
          json.attribute(dim.name, dim.extent);
      });
      json.attributeArray("nodes", [&] {
        for (NodeId id = 0; id < tree.size(); ++id)
          json.object([&] { writeNode(id); });
      });
    });
  }

private:
  void writeTotals() {
    const NodeCost total = costOf(tree, machine, schedule);
    json.attribute("predicted_seconds", total.seconds);
    json.attribute("predicted_compute_seconds", total.computeSeconds);
    json.attribute("moving_share",
                   total.seconds > 0 ? 1 - total.computeSeconds / total.seconds : 0.0);
    json.attribute("predicted_bytes", total.bytes);
  }

  /// Of the busiest rank.
  void writeMemory() {
    json.attribute("predicted_peak_bytes", need.bytes());
    json.attribute("threads", need.threads);
    json.attributeObject("memory", [&] {
      json.attribute("rank", need.rank);
      json.attribute("inputs", need.tensors.inputs);
      json.attribute("sums_of_slices", need.tensors.sums);
      json.attribute("results_and_chunks", need.tensors.shared);
      json.attribute("messages", need.messages);
      json.attribute("scratch", need.scratch());
    });
  }

  void writeNode(NodeId id) {
    const Node &node = tree.node(id);
    json.attribute("name", node.name);
    json.attributeArray("dims", [&] {
      for (DimId dim : node.dims)
        json.value(tree.dim(dim).name);
    });
    json.attribute("output", node.isOutput);
    json.attribute("placement", placementText(tree, id, homePlacement(tree, schedule, id)));
    if (node.kind == NodeKind::Input)
      return;
    json.attribute("equation", equationText(tree, id));
    json.attributeArray("operands", [&] {
      for (const Operand &operand : node.operands)
        json.value(tree.node(operand.node).name);
    });
    const RankTraffic traffic = rankTraffic(tree, schedule, id);
    writeSchedule(id, schedule.nodes[static_cast<std::size_t>(id)],
                  slices * costOf(tree, machine, transfers, schedule, id), slices * traffic.moved);
    writeMemory(id);
    json.attribute("flops", slices * tree.flops(id));
    const double bound = slices * communicationBound(tree, id, schedule.ranks);
    json.attribute("communication_bound_bytes", bound);
    json.attribute("held_bytes_per_rank", slices * traffic.held);
    if (bound > 0)
      json.attribute("communication_ratio", slices * (traffic.moved + traffic.held) / bound);
    json.attributeArray("alternatives", [&] {
      for (const Alternative &one : alternatives[static_cast<std::size_t>(id)])
        json.object([&] {
          writeSchedule(id, one.schedule, one.cost, one.traffic.moved);
          if (one.bytes > 0)
            json.attribute("predicted_peak_bytes", one.bytes);
          json.attribute("reading_seconds", one.readSeconds);
          json.attribute("doubt_seconds", one.doubtSeconds);
          json.attribute("tree_seconds", one.seconds);
          json.attribute("chosen", one.isChosen);
        });
    });
  }

  /// While a node runs, beside inputs and sums of slices.
  void writeMemory(NodeId id) {
    const MemoryNeed::Node &of = need.at(id);
    json.attributeObject("memory", [&] {
      json.attribute("results", of.results);
      json.attribute("chunks", of.chunks);
      json.attribute("messages", of.messages);
      json.attribute("scratch", of.scratch);
    });
  }

  /// \param cost of all slices, as is what the busiest rank moves
  void writeSchedule(NodeId id, const NodeSchedule &on, const NodeCost &cost, double moved) {
    json.attribute("algorithm", algorithmName(tree, id, on));
    json.attribute("schedule", nodeScheduleText(tree, id, on));
    json.attribute("predicted_seconds", cost.seconds);
    json.attribute("predicted_compute_seconds", cost.computeSeconds);
    json.attribute("predicted_transfer_seconds", cost.transferSeconds);
    json.attribute("predicted_supply_seconds", cost.supplySeconds);
    json.attribute("predicted_bytes", cost.bytes);
    json.attribute("moved_bytes_per_rank", moved);
  }

  const Tree &tree;
  const Machine &machine;
  const Schedule &schedule;
  const TransferCost transfers;
  const std::vector<std::vector<Alternative>> alternatives;
  const MemoryNeed need;
  const double slices; ///< how many
  llvm::json::OStream json;
};

} // namespace

void printJson(const PlannedTree &planned, const Machine &machine, llvm::raw_ostream &out) {
  JsonWriter(planned, machine, out).run();
  out << "\n";
}

} // namespace einsumc
