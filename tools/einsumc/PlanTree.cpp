//===- PlanTree.cpp - from a tree of contractions to its schedule -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "PlanTree.h"

#include "ReadInputs.h"

#include "compiler/plan/ChooseSlices.h"
#include "compiler/plan/Cost.h"
#include "compiler/plan/OrderDims.h"
#include "compiler/support/Text.h"

#include "llvm/Support/raw_ostream.h"

#include <utility>

namespace einsumc {

std::pair<Tree, Tree> orderedSlice(const Tree &whole, const Machine &machine,
                                   const PartialSchedule &given, const Options &options) {
  Tree declared = slicedTree(whole, given.slices);
  Tree tree = options.dimOrder == DimOrderChoice::Chosen
                  ? orderDims(declared, machine, given.orders)
                  : reordered(declared, given.orders);
  return {std::move(declared), std::move(tree)};
}

namespace {

/// How much is thought about a plan: of those that are made, of those that say whether one exists,
/// of those that are compared with many others.
enum class Effort { Full, Draft, Rough };

PlannedTree planSlice(const Tree &whole, const Machine &machine, const PartialSchedule &given,
                      const Options &options, Effort effort = Effort::Full) {
  auto [declared, tree] = orderedSlice(whole, machine, given, options);
  const auto count = std::make_shared<MemoryCount>(machine);
  PlanOptions how{options.ranks,
                  reordered(given, declared, tree),
                  memoryOf(options, machine),
                  options.groups == GroupChoice::Chosen,
                  effort != Effort::Full,
                  effort == Effort::Rough,
                  [count](const Tree &of, const Schedule &schedule) {
                    return static_cast<double>(count->of(of, schedule).bytes());
                  }};
  Schedule schedule = plan(tree, machine, how);
  return {std::move(declared), std::move(tree), std::move(how), std::move(schedule), count};
}

} // namespace

PlannedTree planTree(const Tree &whole, const Machine &machine, const PartialSchedule &given,
                     const Options &options) {
  PlannedTree planned = planSlice(whole, machine, given, options);
  const std::optional<int64_t> memory = planned.options.memory;
  const double needed = memory ? planned.bytes() : 0;
  if (!memory || needed <= static_cast<double>(*memory) || !given.slices.empty() ||
      options.library || !options.maySlice)
    return planned;
  PartialSchedule with = given;
  Options oneByOne = options; // Many slices are tried, so each in little time.
  oneByOne.groups = GroupChoice::None;
  const auto planWith = [&](const Slices &tried, Effort effort) {
    with.slices = tried;
    return planSlice(whole, machine, with, oneByOne, effort);
  };
  const auto compared = [&](const Slices &tried) {
    const PlannedTree rough = planWith(tried, Effort::Rough);
    return SlicedCost{rough.bytes(), costOf(rough.tree, machine, rough.schedule).seconds};
  };
  const auto bytes = [&](const Slices &tried) { return planWith(tried, Effort::Draft).bytes(); };
  const Slices slices = chooseSlices(whole, static_cast<double>(*memory), needed, compared, bytes);
  if (slices.empty())
    return planned;
  with.slices = slices;
  for (const Options &how : {options, oneByOne}) {
    planned = planSlice(whole, machine, with, how);
    if (planned.bytes() <= static_cast<double>(*memory))
      break;
  }
  if (planned.bytes() > static_cast<double>(*memory))
    return planned;
  llvm::errs() << "einsumc: note: a rank would need " << bytesText(needed) << " but may use "
               << bytesText(static_cast<double>(*memory)) << ", so the tree is evaluated in "
               << countSlices(slices)
               << " slices: " << describeSlices(planned.tree, planned.schedule.slices) << "\n";
  return planned;
}

} // namespace einsumc
