//===- ExplainReason.cpp - what decided between schedules of a node ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "ExplainReason.h"

#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace einsumc {

namespace {

/// Shares of the time that are not worth mentioning, and those that are roundings.
constexpr double kLittle = 0.005, kRounding = 1e-9;

/// How much longer one time is than another, as a share of it.
double longer(double seconds, double than) {
  if (seconds == than)
    return 0;
  return than > 0 ? seconds / than - 1 : HUGE_VAL;
}

std::string percent(double share) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g %%", 100 * std::abs(share));
  return text;
}

/// The algorithm; where that does not tell two apart, with the schedule.
std::string describe(const Tree &tree, NodeId node, const Alternative &one,
                     const Alternative &other) {
  const std::string name = algorithmName(tree, node, one.schedule);
  std::string text = "'" + name + "'";
  if (name == algorithmName(tree, node, other.schedule))
    text += " as " + nodeScheduleText(tree, node, one.schedule);
  return text;
}

/// What grows most from one alternative to another.
const char *difference(const Alternative &from, const Alternative &to) {
  const auto hidden = [](const NodeCost &cost) {
    return cost.computeSeconds + cost.transferSeconds + cost.supplySeconds - cost.seconds;
  };
  const auto elsewhere = [](const Alternative &of) {
    return of.seconds - of.readSeconds - of.cost.seconds - of.otherComputeSeconds;
  };
  const double moreHidden = std::max(hidden(to.cost) - hidden(from.cost), 0.0);
  const std::array<std::pair<double, const char *>, 6> parts = {{
      {to.cost.computeSeconds - from.cost.computeSeconds, "in the computation"},
      {to.cost.transferSeconds - from.cost.transferSeconds - moreHidden,
       "in transfers that nothing hides"},
      {to.cost.supplySeconds - from.cost.supplySeconds,
       "in moving operands to where it needs them"},
      {to.readSeconds - from.readSeconds, "in reading inputs"},
      {to.otherComputeSeconds - from.otherComputeSeconds, "in what other nodes compute"},
      {elsewhere(to) - elsewhere(from), "in what other nodes move or wait for"},
  }};
  return std::max_element(parts.begin(), parts.end())->second;
}

/// What of a node makes the planner doubt it more than another.
const char *doubted(const NodeSchedule &on, const NodeSchedule &than) {
  const auto has = [](const NodeSchedule &of, auto &&is) { return llvm::any_of(of.axes, is); };
  const auto gets = [](const AxisSchedule &axis) { return axis.movement == Movement::Get; };
  const auto steps = [](const AxisSchedule &axis) { return isStepping(axis.movement); };
  const auto cuts = [](const NodeSchedule &of) {
    return llvm::count_if(of.axes, [](const AxisSchedule &axis) { return axis.loopDim; });
  };
  if (has(on, gets) && !has(than, gets))
    return "its one-sided transfers";
  if (has(on, steps) && !has(than, steps))
    return "its stepping loop";
  if (cuts(on) > cuts(than))
    return "the axes that cut its work";
  return "what the tree does with it";
}

/// Why something that is not slower lost.
std::string reasonOfEqual(const Alternative &chosen, const Alternative &next,
                          const std::string &name) {
  const double share = longer(next.seconds, chosen.seconds);
  const double counted = longer(next.countedSeconds(), chosen.countedSeconds());
  const double summed = longer(next.sumSeconds, chosen.sumSeconds);
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "with " << name << " the tree would take "
      << (std::abs(share) < kLittle ? "as long" : percent(share) + " less");
  if (counted > kRounding && next.doubtSeconds > chosen.doubtSeconds)
    out << llvm::format(", but is doubted by %.3g s more, for ",
                        next.doubtSeconds - chosen.doubtSeconds)
        << doubted(next.schedule, chosen.schedule);
  else if (counted > kRounding)
    out << " or a little longer";
  else if (summed > kRounding)
    out << ", but all nodes and the reading of each input, added up, " << percent(summed)
        << " more";
  else if (counted > -kRounding)
    out << ": of equals the first is taken";
  else
    out << ", which the search, not exact for such trees, has missed";
  return text;
}

} // namespace

std::string reasonOfChosen(const Tree &tree, NodeId node, const std::vector<Alternative> &list,
                           std::optional<int64_t> memory) {
  if (list.size() == 1)
    return "with moves before and after it, it is as fast as all others";
  const Alternative &chosen = list.front(), &next = list[1];
  const std::string name = describe(tree, node, next, chosen);
  const double share = longer(next.seconds, chosen.seconds);
  if (share >= kLittle)
    return "with " + name + " the tree would take " + percent(share) + " longer, most of it " +
           difference(chosen, next);
  if (memory && next.bytes > static_cast<double>(*memory))
    return name + " would need more memory than there is, " + bytesText(next.bytes);
  return reasonOfEqual(chosen, next, name);
}

std::string reasonOfFixed(const Tree &tree, NodeId node, const std::vector<Alternative> &list) {
  const Alternative &fixed = list.front();
  const std::string given = "given by --plan or --algorithm";
  if (fixed.isPlanned)
    return given + ", as the planner has it, too";
  const auto planned = llvm::find_if(list, [](const Alternative &one) { return one.isPlanned; });
  if (planned == list.end())
    return given;
  const double share = longer(fixed.countedSeconds(), planned->countedSeconds());
  const std::string costs = std::abs(share) < kLittle ? "as long"
                            : share > 0               ? percent(share) + " longer"
                                                      : percent(share) + " less";
  return given + ": where nothing is, it is " + describe(tree, node, *planned, fixed) +
         "; as given the tree takes " + costs;
}

} // namespace einsumc
