//===- Explain.cpp - why every node got its schedule ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Explain.h"

#include "compiler/ir/AssignStorage.h"
#include "compiler/plan/Algorithms.h"
#include "compiler/plan/Cost.h"
#include "compiler/support/Text.h"

#include "llvm/Support/Format.h"

namespace einsumc {

namespace {

class Explainer {
public:
  Explainer(const Tree &tree, const Machine &machine, const Schedule &schedule,
            const PartialSchedule &fixed, llvm::raw_ostream &out)
      : tree(tree), machine(machine), schedule(schedule), fixed(fixed), out(out) {}

  void run() {
    const auto slices = static_cast<double>(countSlices(schedule.slices));
    if (!schedule.slices.empty())
      out << "slices: " << countSlices(schedule.slices) << ", one after the other, "
          << describeSlices(tree, schedule.slices) << "; of the nodes, one slice is shown\n";
    NodeCost total;
    for (NodeId id = 0; id < tree.size(); ++id) {
      if (tree.node(id).kind == NodeKind::Input)
        continue;
      explainNode(id);
      const NodeCost cost = costOf(tree, machine, schedule, id);
      total.seconds += slices * cost.seconds;
      total.computeSeconds += slices * cost.computeSeconds;
      total.bytes += slices * cost.bytes;
    }
    out << llvm::format("total: %.3g s, of which %.3g s move data; ", total.seconds,
                        total.seconds - total.computeSeconds)
        << bytesText(total.bytes) << " sent, " << bytesText(storedBytes(tree, schedule))
        << " needed by the busiest rank at a time for tensors\n";
  }

private:
  void explainNode(NodeId id) {
    const NodeSchedule &chosen = schedule.nodes[static_cast<std::size_t>(id)];
    out << equationText(tree, id) << "\n  " << nodeScheduleText(tree, id, chosen) << ": "
        << reason(id, chosen) << "\n";
    bool listed = false;
    for (const std::string &name : algorithmNames()) {
      std::variant<NodeSchedule, std::string> candidate =
          scheduleByName(tree, id, name, schedule.ranks);
      auto *node = std::get_if<NodeSchedule>(&candidate);
      if (!node)
        continue;
      const bool isChosen = *node == chosen;
      listed = listed || isChosen;
      printCandidate(id, name, *node, isChosen);
    }
    if (!listed)
      printCandidate(id, algorithmName(tree, id, chosen), chosen, true);
  }

  void printCandidate(NodeId id, const std::string &name, const NodeSchedule &node, bool chosen) {
    Schedule other = schedule;
    other.nodes[static_cast<std::size_t>(id)] = node;
    const NodeCost cost = costOf(tree, machine, other, id);
    out << (chosen ? "  * " : "    ") << llvm::left_justify(name, 9)
        << llvm::format(" %9.3g s, compute %9.3g s, sent ", cost.seconds, cost.computeSeconds)
        << bytesText(cost.bytes) << "  " << nodeScheduleText(tree, id, node) << "\n";
  }

  std::string reason(NodeId id, const NodeSchedule &chosen) const {
    if (fixed.nodes.count(id) != 0)
      return "given by --plan or --algorithm";
    if (schedule.ranks == 1)
      return "there is one rank";
    const std::optional<DimId> loop =
        chosen.axes.empty() ? std::nullopt : chosen.axes.front().loopDim;
    if (!loop)
      return "too small for messages to pay, so every rank computes it";
    const std::string dim =
        "'" + tree.dim(*loop).name + "' (" + std::to_string(tree.dim(*loop).extent) + ")";
    switch (classOf(tree, id, *loop)) {
    case DimClass::C:
      return dim + " is in all its tensors: cut along it, nothing moves";
    case DimClass::M:
    case DimClass::N:
      return "no c dim is long enough; cut along " + dim + ", the other operand is copied";
    case DimClass::K:
      return "no c, m or n dim is long enough; cut along " + dim + ", partial sums are added";
    }
    return {};
  }

  const Tree &tree;
  const Machine &machine;
  const Schedule &schedule;
  const PartialSchedule &fixed;
  llvm::raw_ostream &out;
};

} // namespace

void explain(const Tree &tree, const Machine &machine, const Schedule &schedule,
             const PartialSchedule &fixed, llvm::raw_ostream &out) {
  Explainer(tree, machine, schedule, fixed, out).run();
}

} // namespace einsumc
