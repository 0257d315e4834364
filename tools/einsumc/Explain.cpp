//===- Explain.cpp - why every node got its schedule ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Explain.h"

#include "compiler/plan/CommunicationBound.h"
#include "compiler/plan/Cost.h"
#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/WithColor.h"

#include <algorithm>
#include <array>
#include <utility>

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
    if (!schedule.slices.empty())
      out << "slices: " << countSlices(schedule.slices) << ", one after the other, "
          << describeSlices(tree, schedule.slices) << "; of the nodes, one slice is shown\n";
    explainGroups();
    const std::vector<std::vector<Alternative>> all = alternatives(tree, machine, options, kListed);
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).kind != NodeKind::Input)
        explainNode(id, all[static_cast<std::size_t>(id)]);
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

  void explainNode(NodeId id, const std::vector<Alternative> &list) {
    const Alternative &chosen = list.front();
    llvm::WithColor(out, llvm::raw_ostream::CYAN, true) << equationText(tree, id);
    out << "\n  " << algorithmName(tree, id, chosen.schedule) << ", "
        << nodeScheduleText(tree, id, chosen.schedule) << ": " << reason(id, list) << "\n";
    out << "    algorithm         seconds    compute  transfers     supply sent a rank       bytes "
           "   "
           "reading whole tree\n";
    for (const Alternative &one : list)
      printAlternative(id, one);
    printBound(id, chosen);
  }

  void printAlternative(NodeId id, const Alternative &one) {
    const auto ranks = static_cast<double>(schedule.ranks);
    if (one.isChosen)
      llvm::WithColor(out, llvm::raw_ostream::GREEN, true) << "  * ";
    else
      out << "    ";
    out << llvm::format("%-14s %10.3g %10.3g %10.3g %10.3g %11s %11s %10.3g %10.3g",
                        algorithmName(tree, id, one.schedule).c_str(), one.cost.seconds,
                        one.cost.computeSeconds, one.cost.transferSeconds, one.cost.supplySeconds,
                        bytesText(one.cost.bytes / ranks).c_str(),
                        one.bytes > 0 ? bytesText(one.bytes).c_str() : "-", one.readSeconds,
                        one.seconds)
        << "  " << nodeScheduleText(tree, id, one.schedule) << "\n";
  }

  void printBound(NodeId id, const Alternative &chosen) {
    const double bound = communicationBound(tree, id, schedule.ranks);
    if (bound == 0)
      return;
    const double sent = chosen.cost.bytes / static_cast<double>(schedule.ranks);
    out << "    lower bound of what a rank sends or gets, with any memory: " << bytesText(bound);
    if (sent > 0)
      out << llvm::format(", of which this is %.3g times", sent / bound);
    out << "\n";
  }

  std::string reason(NodeId id, const std::vector<Alternative> &list) const {
    if (options.fixed.nodes.count(id) != 0)
      return "given by --plan or --algorithm";
    if (schedule.ranks == 1)
      return "there is one rank";
    if (list.size() == 1)
      return "nothing else was worth a thought";
    const Alternative &chosen = list.front(), &next = list[1];
    const std::string name = algorithmName(tree, id, next.schedule);
    if (options.memory && next.bytes > static_cast<double>(*options.memory))
      return "'" + name + "' would need more memory than there is";
    std::string text;
    llvm::raw_string_ostream stream(text);
    const double longer = 100 * (next.seconds / chosen.seconds - 1);
    if (longer < 0.5)
      stream << "as fast as '" << name << "', which is no simpler";
    else
      stream << "with '" << name
             << llvm::format("' the tree would take %.3g %% longer, most of it ", longer)
             << difference(chosen, next);
    return text;
  }

  /// What grows most from one alternative to another.
  static std::string difference(const Alternative &from, const Alternative &to) {
    const double hidden = (to.cost.computeSeconds + to.cost.transferSeconds +
                           to.cost.supplySeconds - to.cost.seconds) -
                          (from.cost.computeSeconds + from.cost.transferSeconds +
                           from.cost.supplySeconds - from.cost.seconds);
    const std::array<std::pair<double, const char *>, 5> parts = {{
        {to.cost.computeSeconds - from.cost.computeSeconds, "in the computation"},
        {to.cost.transferSeconds - from.cost.transferSeconds - std::max(hidden, 0.0),
         "in transfers that nothing hides"},
        {to.cost.supplySeconds - from.cost.supplySeconds,
         "in moving operands to where it needs them"},
        {to.readSeconds - from.readSeconds, "in reading inputs"},
        {(to.seconds - to.readSeconds - to.cost.seconds) -
             (from.seconds - from.readSeconds - from.cost.seconds),
         "in other nodes"},
    }};
    return std::max_element(parts.begin(), parts.end())->second;
  }

  void printTotals() {
    const NodeCost total = costOf(tree, machine, schedule);
    const double moving = total.seconds - total.computeSeconds;
    out << llvm::format("total: %.3g s, of which %.3g s (%.1f %%) move data that nothing hides%s; ",
                        total.seconds, moving,
                        total.seconds > 0 ? 100 * moving / total.seconds : 0.0,
                        areGroups() ? " or wait for other groups" : "")
        << bytesText(total.bytes) << " sent, " << bytesText(options.bytesOf(tree, schedule))
        << " needed by the busiest rank at a time\n";
  }

  const Tree &tree;
  const Machine &machine;
  const PlanOptions &options;
  const Schedule &schedule;
  llvm::raw_ostream &out;
};

} // namespace

void explain(const Tree &tree, const Machine &machine, const PlanOptions &options,
             const Schedule &schedule, llvm::raw_ostream &out) {
  Explainer(tree, machine, options, schedule, out).run();
}

} // namespace einsumc
