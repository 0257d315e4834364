//===- FixedSchedule.cpp - what the user decided of the schedule ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "FixedSchedule.h"

#include "Output.h"

#include "compiler/plan/Algorithms.h"
#include "compiler/plan/Cost.h"
#include "compiler/support/Text.h"

#include "llvm/Support/raw_ostream.h"

namespace einsumc {

namespace {

class Forcing {
public:
  Forcing(const Tree &tree, const Machine &machine, const Options &options,
          Diagnostics &diagnostics, PartialSchedule &fixed)
      : tree(tree), machine(machine), transfers(machine, options.ranks), options(options),
        diagnostics(diagnostics), fixed(fixed) {}

  /// Applies one NODE=NAME if its NODE is `*`, or is not, as \p wantAll says.
  void apply(llvm::StringRef text, bool wantAll) {
    const auto [node, name] = text.split('=');
    if (!text.contains('='))
      return wantAll ? void() : error(text, "expected NODE=NAME");
    if ((node == "*") != wantAll)
      return;
    if (wantAll)
      return applyToAll(name);
    const std::optional<NodeId> id = tree.find(node);
    if (!id)
      return error(node, "the tree has no node '" + node + "'");
    if (tree.node(*id).kind == NodeKind::Input)
      return error(node, "'" + node + "' is an input: nothing is computed for it");
    force(*id, name, true);
  }

private:
  void applyToAll(llvm::StringRef name) {
    if (const std::string problem = checkAlgorithm(name); !problem.empty())
      return error(name, problem);
    bool any = false;
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).kind != NodeKind::Input)
        any = force(id, name, false) || any;
    if (!any)
      error(name, "no node of the tree has the dims that '" + name + "' needs");
  }

  bool force(NodeId id, llvm::StringRef name, bool mustWork) {
    const auto seconds = [&](const NodeSchedule &on) {
      return runCost(tree, id, on, machine, transfers).seconds;
    };
    std::variant<NodeSchedule, std::string> result =
        scheduleByName(tree, id, name, options.ranks, seconds);
    if (auto *schedule = std::get_if<NodeSchedule>(&result)) {
      fixed.nodes[id] = std::move(*schedule);
      return true;
    }
    if (mustWork)
      error(name, std::get<std::string>(result));
    return false;
  }

  void error(llvm::StringRef where, const llvm::Twine &message) {
    diagnostics.error(llvm::SMLoc::getFromPointer(where.data()), message);
  }

  const Tree &tree;
  const Machine &machine;
  const TransferCost transfers;
  const Options &options;
  Diagnostics &diagnostics;
  PartialSchedule &fixed;
};

} // namespace

std::optional<PartialSchedule> fixedSchedule(const Tree &tree, const Machine &machine,
                                             const Options &options, Diagnostics &diagnostics) {
  PartialSchedule fixed;
  if (options.planFile) {
    const std::optional<llvm::StringRef> text = readFile(*options.planFile, diagnostics);
    if (!text)
      return std::nullopt;
    std::optional<PartialSchedule> read = readPlan(*text, tree, options.ranks, diagnostics);
    if (!read)
      return std::nullopt;
    fixed = std::move(*read);
  }
  if (!options.slices.empty()) {
    const llvm::StringRef text = diagnostics.addText("<--slice>", join(options.slices, ","));
    Lexer lexer(text, diagnostics, Lexer::Comments::None);
    std::optional<Slices> slices = readSlices(lexer, tree, diagnostics);
    if (!slices)
      return std::nullopt;
    if (!lexer.peek().isEnd()) {
      lexer.unexpected("expected ','");
      return std::nullopt;
    }
    fixed.slices = std::move(*slices);
  } else if (options.isWhole) {
    fixed.slices.clear();
  }
  const Tree slice = slicedTree(tree, fixed.slices);
  Forcing forcing(slice, machine, options, diagnostics, fixed);
  std::vector<llvm::StringRef> texts;
  for (const std::string &text : options.algorithms)
    texts.push_back(diagnostics.addText("<--algorithm>", text));
  for (const bool wantAll : {true, false})
    for (llvm::StringRef text : texts)
      forcing.apply(text, wantAll);
  if (diagnostics.hasErrors())
    return std::nullopt;
  return fixed;
}

bool checkMemory(const Tree &tree, const Schedule &schedule, const MemoryNeed &need,
                 int64_t memory) {
  const auto allowed = static_cast<std::size_t>(memory);
  if (need.bytes() <= allowed)
    return true;
  NodeId largest = 0;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.elements(id) > tree.elements(largest))
      largest = id;
  const double bytes = static_cast<double>(tree.elements(largest)) *
                       static_cast<double>(sizeInBytes(tree.elementType()));
  std::string slices;
  if (!schedule.slices.empty())
    slices = " in each of " + std::to_string(countSlices(schedule.slices)) + " slices";
  const auto textOf = [](std::size_t count) { return bytesText(static_cast<double>(count)); };
  llvm::errs() << "einsumc: error: a rank needs " << textOf(need.bytes()) << " at a time" << slices
               << " but may use " << textOf(allowed) << "; the largest tensor is '"
               << tree.node(largest).name << "' with " << bytesText(bytes) << " over all ranks; "
               << textOf(need.bytes() - allowed) << " are missing";
  if (const std::size_t work = need.bytes() - need.tensors.bytes(); work > 0)
    llvm::errs() << ", where messages and scratch take " << textOf(work);
  llvm::errs() << ". Use more ranks, or force a schedule that copies less.\n";
  return false;
}

} // namespace einsumc
