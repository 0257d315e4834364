//===- Explain.cpp - why every node got its schedule ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Explain.h"

#include "ExplainReason.h"

#include "compiler/plan/CommunicationBound.h"
#include "compiler/plan/Cost.h"
#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/WithColor.h"

#include <algorithm>

namespace einsumc {

namespace {

/// Algorithms that are listed for a node.
constexpr std::size_t kListed = 6;

class Explainer {
public:
  Explainer(const Tree &tree, const Machine &machine, const PlanOptions &options,
            const Schedule &schedule, llvm::raw_ostream &out)
      : tree(tree), machine(machine), options(options), schedule(schedule), out(out) {}

  void run() {
    all = alternatives(tree, machine, options, kListed);
    if (!schedule.slices.empty())
      out << "slices: " << countSlices(schedule.slices) << ", one after the other, "
          << describeSlices(tree, schedule.slices)
          << "; equations and grids are of one, seconds and bytes moved of all\n";
    explainGroups();
    explainRanks();
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).kind != NodeKind::Input)
        explainNode(id, all.ofNode[static_cast<std::size_t>(id)]);
    printTotals();
  }

private:
  /// Whether some nodes are computed by ranks that do not begin with the first.
  bool areGroups() const {
    return llvm::any_of(schedule.nodes,
                        [](const NodeSchedule &on) { return on.grid.firstRank != 0; });
  }

  /// What it gains that groups of ranks compute independent nodes at the same time.
  void explainGroups() {
    if (!options.mayGroup || !areGroups())
      return;
    PlanOptions one = options;
    one.mayGroup = false;
    const double seconds = costOf(tree, machine, schedule).seconds;
    const double longer = costOf(tree, machine, plan(tree, machine, one)).seconds / seconds - 1;
    if (longer > 0)
      out << llvm::format(
          "groups of ranks compute independent nodes at the same time: one after the "
          "other would take %.3g %% longer\n",
          100 * longer);
  }

  /// Why some ranks have nothing to do in the whole tree.
  void explainRanks() {
    int64_t used = 0;
    for (const RankRange &range : all.ranges)
      used = std::max(used, range.end());
    if (used < schedule.ranks && all.onAllRanks && all.countedSeconds > 0)
      out << llvm::format("at most %lld of %lld ranks compute a node: with all of them the tree "
                          "would count %.3g %% longer\n",
                          static_cast<long long>(used), static_cast<long long>(schedule.ranks),
                          100 * (*all.onAllRanks / all.countedSeconds - 1));
  }

  void explainNode(NodeId id, const std::vector<Alternative> &list) {
    const Alternative &chosen = list.front();
    llvm::WithColor(out, llvm::raw_ostream::CYAN, true) << equationText(tree, id);
    out << "\n  " << algorithmName(tree, id, chosen.schedule) << ", "
        << nodeScheduleText(tree, id, chosen.schedule) << ": " << reason(id, list) << "\n";
    out << "    algorithm         seconds    compute  transfers     supply moved a rank      "
           "memory "
           "   reading      doubt whole tree\n";
    for (const Alternative &one : list)
      printAlternative(id, one);
    printBound(id, chosen);
  }

  void printAlternative(NodeId id, const Alternative &one) {
    if (one.isChosen)
      llvm::WithColor(out, llvm::raw_ostream::GREEN, true) << "  * ";
    else
      out << "    ";
    out << llvm::format("%-14s %10.3g %10.3g %10.3g %10.3g %12s %11s %10.3g %10.3g %10.3g",
                        algorithmName(tree, id, one.schedule).c_str(), one.cost.seconds,
                        one.cost.computeSeconds, one.cost.transferSeconds, one.cost.supplySeconds,
                        bytesText(one.traffic.moved).c_str(),
                        one.bytes > 0 ? bytesText(one.bytes).c_str() : "-", one.readSeconds,
                        one.doubtSeconds, one.countedSeconds())
        << "  " << nodeScheduleText(tree, id, one.schedule) << "\n";
  }

  void printBound(NodeId id, const Alternative &chosen) {
    const double bound = static_cast<double>(countSlices(schedule.slices)) *
                         communicationBound(tree, id, schedule.ranks);
    if (bound == 0)
      return;
    const RankTraffic &traffic = chosen.traffic;
    out << "    lower bound of what a rank moves, with any memory: " << bytesText(bound)
        << llvm::format(", of which this is %.3g times", (traffic.moved + traffic.held) / bound);
    if (traffic.held > 0)
      out << ", with the " << bytesText(traffic.held) << " that lie there beyond an even share";
    out << "\n";
  }

  std::string reason(NodeId id, const std::vector<Alternative> &list) const {
    if (options.fixed.nodes.count(id) != 0)
      return reasonOfFixed(tree, id, list);
    if (schedule.ranks == 1)
      return "there is one rank";
    if (all.ranges[static_cast<std::size_t>(id)].size == 1)
      return "the planner gives it one rank";
    return reasonOfChosen(tree, id, list, options.memory);
  }

  void printTotals() {
    const NodeCost total = costOf(tree, machine, schedule);
    const double moving = total.seconds - total.computeSeconds;
    out << llvm::format("total: %.3g s, of which %.3g s (%.1f %%) move data that nothing hides%s; ",
                        total.seconds, moving,
                        total.seconds > 0 ? 100 * moving / total.seconds : 0.0,
                        areGroups() ? " or wait for other groups" : "")
        << bytesText(total.bytes) << " sent, " << bytesText(options.bytesOf(tree, schedule))
        << " needed by the busiest rank at a time\n"
        << "columns: seconds of the node; bytes that the busiest rank moves: sends, gets, or reads "
           "beyond an even share;\n  memory that it needs at a time for the whole tree; "
           "seconds that reading inputs and doubt add to the whole tree, and these\n";
  }

  const Tree &tree;
  const Machine &machine;
  const PlanOptions &options;
  const Schedule &schedule;
  llvm::raw_ostream &out;
  Alternatives all;
};

} // namespace

void explain(const Tree &tree, const Machine &machine, const PlanOptions &options,
             const Schedule &schedule, llvm::raw_ostream &out) {
  Explainer(tree, machine, options, schedule, out).run();
}

} // namespace einsumc
