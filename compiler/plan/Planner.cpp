//===- Planner.cpp - schedules for given ranks ------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Planner.h"

#include "compiler/ir/Moves.h"
#include "compiler/plan/MemoryPrices.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace einsumc {

bool isLarge(const Tree &tree) {
  constexpr NodeId kSmallTree = 40;
  return tree.size() > kSmallTree;
}

Planner::Planner(CandidateLists &lists, const PlanOptions &options, std::vector<RankRange> ranges)
    : lists(lists), tree(lists.tree), machine(lists.machine), transfers(lists.transfers),
      options(options), ranges(std::move(ranges)), uses(usesIn(tree)) {
  decide();
}

bool Planner::isBetterThan(const Planner &other) const {
  if (options.memory) {
    const auto memory = static_cast<double>(*options.memory);
    if (std::max(bytes(), other.bytes()) > memory)
      return bytes() < other.bytes();
  }
  constexpr double kDoubt = 1.02; // Of two that are about as fast the simpler one is chosen.
  return kDoubt * seconds() < other.seconds();
}

double Planner::bytes() const {
  if (!bytesOfChosen)
    bytesOfChosen = options.bytesOf(tree, schedule());
  return *bytesOfChosen;
}

bool Planner::isOverMemory() const {
  return options.memory && storedBytes(tree, schedule()) > static_cast<double>(*options.memory);
}

bool Planner::mayHaveTooManyRanks() const {
  double computing = 0;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (!tables->of(id).candidates.empty())
      computing +=
          tables->of(id).candidates[chosen[static_cast<std::size_t>(id)]].cost.computeSeconds;
  return !isSparing && 2 * computing < seconds() - tables->readSeconds(chosen);
}

std::vector<std::vector<Alternative>> Planner::alternatives(std::size_t most) const {
  std::vector<std::vector<Alternative>> all(static_cast<std::size_t>(tree.size()));
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.node(id).kind != NodeKind::Input)
      all[static_cast<std::size_t>(id)] = alternativesOf(id, most);
  return all;
}

void Planner::decide() {
  tables.emplace(tree, transfers, options.ranks, choices(), options.isDraft);
  chosen = tables->cheapest();
  const auto memory = static_cast<double>(options.memory.value_or(0));
  if (!options.memory || bytes() <= memory)
    return;
  bytesOfChosen.reset();
  isSparing = true;
  tables.emplace(tree, transfers, options.ranks, choices(), options.isDraft);
  const auto bytes = [&](const std::vector<std::size_t> &tried) {
    return options.bytesOf(tree, completed(tried));
  };
  chosen = cheapestWithin(*tables, memory, bytes, !options.isDraft);
}

std::vector<TensorChoices> Planner::choices() {
  std::vector<TensorChoices> all(static_cast<std::size_t>(tree.size()));
  std::vector<CandidateLists::NodeOn> open; // Nobody has given their schedules.
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.node(id).kind != NodeKind::Input && options.fixed.nodes.count(id) == 0)
      open.push_back({id, ranges[static_cast<std::size_t>(id)]});
  lists.prepare(open, isSparing);
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.node(id).kind != NodeKind::Input)
      addCandidates(id, all[static_cast<std::size_t>(id)]);
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.node(id).kind == NodeKind::Input)
      addPlacements(id, all);
  return all;
}

void Planner::addCandidates(NodeId id, TensorChoices &choices) {
  if (auto fixed = options.fixed.nodes.find(id); fixed != options.fixed.nodes.end())
    choices.candidates = lists.of(id, fixed->second);
  else
    choices.candidates = lists.of(id, ranges[static_cast<std::size_t>(id)], isSparing);
  for (const Candidate &candidate : choices.candidates) {
    choices.homes.push_back(candidate.home);
    choices.seconds.push_back(candidate.score);
    if (tree.node(id).isOutput)
      choices.finalSeconds.push_back(
          transfers.moveSeconds(tree, id, candidate.home, endOf(id, candidate.home)));
  }
}

std::vector<std::vector<Planner::Use>> Planner::usesIn(const Tree &tree) {
  std::vector<std::vector<Use>> uses(static_cast<std::size_t>(tree.size()));
  for (NodeId user = 0; user < tree.size(); ++user)
    for (std::size_t o = 0; o < tree.node(user).operands.size(); ++o)
      uses[static_cast<std::size_t>(tree.node(user).operands[o].node)].push_back(
          {user, static_cast<Role>(o)});
  return uses;
}

void Planner::addPlacements(NodeId input, std::vector<TensorChoices> &all) {
  TensorChoices &choices = all[static_cast<std::size_t>(input)];
  std::optional<RankRange> users;
  for (const Use &use : usesOf(input)) {
    const RankRange &of = ranges[static_cast<std::size_t>(use.user)];
    users = users ? hull(*users, of) : of;
  }
  const RankRange readers = users.value_or(RankRange{0, options.ranks});
  auto add = [&](const Placement &placement) {
    if (llvm::is_contained(choices.homes, placement))
      return;
    choices.homes.push_back(placement);
    choices.seconds.push_back(transfers.readSeconds(tree, input, placement));
  };
  if (auto fixed = options.fixed.inputs.find(input); fixed != options.fixed.inputs.end())
    return add(normalised(fixed->second));
  if (const auto pinned = pinnedPlacement(tree.node(input).pin, options.ranks))
    return add(*pinned);
  for (const auto &[user, role] : usesOf(input))
    // A schedule that is given also says how the operand is stored before it is gathered.
    if (auto fixed = options.fixed.nodes.find(user); fixed != options.fixed.nodes.end())
      add(storedPlacement(tree, user, fixed->second, role));
  if (!choices.homes.empty())
    return;
  for (const auto &[user, role] : usesOf(input))
    for (const Candidate &candidate : all[static_cast<std::size_t>(user)].candidates) {
      const Placement &need = candidate.needs[static_cast<std::size_t>(role)];
      add(need);
      if (const auto everywhere = inEveryGroup(need, readers))
        add(*everywhere);
    }
  choices.isReadInPlace = usesOf(input).size() == 1 && !isSparing;
  if (choices.isReadInPlace)
    return;
  // Blocks of even size, from which copies are made when they are needed.
  const std::vector<int64_t> extents = tree.extents(input);
  for (int p = 0; p < static_cast<int>(extents.size()); ++p)
    if (extents[static_cast<std::size_t>(p)] >= readers.size)
      add(normalised({{{readers.size}, readers.first}, {split(p)}}));
  if (choices.homes.empty() || !isOneGroup(readers))
    add(normalised({{{readers.size}, readers.first}, {copied()}}));
}

bool Planner::isOneGroup(const RankRange &readers) const {
  return llvm::all_of(ranges, [&](const RankRange &of) { return of == readers; });
}

std::optional<Placement> Planner::inEveryGroup(const Placement &need,
                                               const RankRange &readers) const {
  const RankRange own = rangeOf(need.grid);
  if (isOneGroup(readers) || own == readers || readers.size % own.size != 0 ||
      (own.first - readers.first) % own.size != 0)
    return std::nullopt;
  Placement everywhere = need;
  everywhere.grid.firstRank = readers.first;
  everywhere.grid.extents.insert(everywhere.grid.extents.begin(), readers.size / own.size);
  everywhere.axes.insert(everywhere.axes.begin(), copied());
  return normalised(everywhere);
}

std::vector<Alternative> Planner::alternativesOf(NodeId id, std::size_t most) const {
  std::vector<Alternative> found = {alternative(id, chosen)};
  found.front().isChosen = true;
  const llvm::ArrayRef<Candidate> candidates = tables->of(id).candidates;
  const std::size_t taken = chosen[static_cast<std::size_t>(id)];
  auto add = [&](std::size_t choice) {
    // The other nodes at their best, in large trees as they are.
    Alternative one = alternative(id, isLarge(tree) ? tables->withChoice(chosen, id, choice)
                                                    : tables->cheapestWith(id, choice));
    // Two may become the same when it is said how operands get there.
    if (llvm::none_of(found, [&](const Alternative &at) { return at.schedule == one.schedule; }))
      found.push_back(std::move(one));
  };
  std::set<std::string> names = {algorithmName(tree, id, found.front().schedule),
                                 algorithmName(tree, id, candidates[taken].schedule)};
  // The fastest by themselves come first: those of a name that follow are hardly better.
  for (std::size_t choice = 0; choice < candidates.size(); ++choice)
    if (names.insert(algorithmName(tree, id, candidates[choice].schedule)).second)
      add(choice);
  const bool isNameAlone = found.size() == 1;
  for (std::size_t choice = 0; isNameAlone && choice < candidates.size(); ++choice)
    if (found.size() < most && choice != taken)
      add(choice);
  std::stable_sort(found.begin() + 1, found.end(), [](const Alternative &a, const Alternative &b) {
    return a.countedSeconds() < b.countedSeconds();
  });
  found.resize(std::min(found.size(), most));
  return found;
}

Alternative Planner::alternative(NodeId id, const std::vector<std::size_t> &choices) const {
  const Schedule schedule = completed(choices);
  const auto slices = static_cast<double>(countSlices(schedule.slices));
  Alternative result;
  result.schedule = schedule.nodes[static_cast<std::size_t>(id)];
  result.cost = slices * costOf(tree, machine, transfers, schedule, id);
  const RankTraffic traffic = rankTraffic(tree, schedule, id);
  result.traffic = {slices * traffic.moved, slices * traffic.held};
  result.readSeconds = slices * tables->readSeconds(choices);
  result.seconds = slices * tables->predictedSeconds(choices);
  result.doubtSeconds = slices * tables->seconds(choices) - result.seconds;
  result.sumSeconds = slices * tables->sum(choices);
  if (isLarge(tree))
    return result;
  for (NodeId other = 0; other < tree.size(); ++other)
    if (other != id && !tables->of(other).candidates.empty())
      result.otherComputeSeconds +=
          slices * tables->of(other)
                       .candidates[choices[static_cast<std::size_t>(other)]]
                       .cost.computeSeconds;
  result.bytes = options.bytesOf(tree, schedule);
  return result;
}

Placement Planner::endOf(NodeId id, const Placement &home) const {
  if (auto fixed = options.fixed.finals.find(id); fixed != options.fixed.finals.end())
    return normalised(fixed->second);
  if (const auto pinned = pinnedPlacement(tree.node(id).pin, options.ranks))
    return *pinned;
  Placement end = home;
  for (AxisPlacement &axis : end.axes)
    axis = axis.kind == AxisKind::Partial ? copied() : axis;
  return end;
}

Schedule Planner::completed(const std::vector<std::size_t> &choices) const {
  Schedule schedule = tables->scheduleOf(choices);
  schedule.slices = options.fixed.slices;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (isFreeInput(id))
      nameAsNeeded(schedule, id);
    if (tree.node(id).kind != NodeKind::Input && options.fixed.nodes.count(id) == 0)
      nameGathers(schedule, id);
    if (!tree.node(id).isOutput || tree.node(id).kind == NodeKind::Input)
      continue;
    const Placement home = homePlacement(tree, schedule, id);
    const Placement end = endOf(id, home);
    if (end != home)
      schedule.finals[static_cast<std::size_t>(id)] = end;
  }
  return schedule;
}

bool Planner::isFreeInput(NodeId id) const {
  return tree.node(id).kind == NodeKind::Input && options.fixed.inputs.count(id) == 0 &&
         tree.node(id).pin.kind == Pin::Kind::Free;
}

void Planner::nameAsNeeded(Schedule &schedule, NodeId input) const {
  Placement &home = schedule.inputs[static_cast<std::size_t>(input)];
  std::optional<Placement> same;
  bool isNeeded = false;
  for (const auto &[user, role] : usesOf(input)) {
    const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(user)];
    const Placement need = workPlacement(tree, user, on, role);
    isNeeded = isNeeded || need == home;
    if (!same && covers(tree, input, home, need) && covers(tree, input, need, home))
      same = need;
  }
  if (same && !isNeeded)
    home = *same;
}

void Planner::nameGathers(Schedule &schedule, NodeId id) const {
  NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(id)];
  for (std::size_t o = 0; o < tree.node(id).operands.size(); ++o) {
    const auto role = static_cast<Role>(o);
    const Placement home = homePlacement(tree, schedule, tree.node(id).operands[o].node);
    if (home.grid != on.grid)
      continue;
    NodeSchedule named = on;
    for (std::size_t axis = 0; axis < on.axes.size(); ++axis) {
      AxisSchedule &it = named.axes[axis];
      if (it.loopDim && travellerOf(classOf(tree, id, *it.loopDim)) == role &&
          it.movement == Movement::None && home.axes[axis].kind == AxisKind::Split)
        it = {it.loopDim, split(home.axes[axis].position, 1), Movement::Gather, 1};
    }
    if (storedPlacement(tree, id, named, role) == home &&
        checkNodeSchedule(tree, id, named, schedule.ranks).empty())
      on = std::move(named);
  }
}

} // namespace einsumc
