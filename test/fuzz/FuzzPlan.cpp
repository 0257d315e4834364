//===- FuzzPlan.cpp - any text as a plan file -------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/ReadEin.h"
#include "compiler/ir/AssignStorage.h"
#include "compiler/ir/ReadPlan.h"
#include "compiler/lower/Lower.h"
#include "compiler/order/GreedyOrder.h"
#include "compiler/order/Normalise.h"
#include "compiler/plan/Cost.h"
#include "compiler/plan/OrderDims.h"
#include "compiler/plan/Plan.h"

#include "llvm/Support/xxhash.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace einsumc {

namespace {

constexpr int64_t kRanks = 6;

/// A tree with every kind of node, dims of every class, a pin, and extents below the ranks.
constexpr llvm::StringLiteral kTree = "dim b=3, i=7, j=8, k=5, l=1;\n"
                                      "input A[b,i,k] split(i); input B[b,k,j]; input D[j,j];\n"
                                      "T[b,i,j] = A[b,i,k] * B[b,k,j];\n"
                                      "output Y[i,j] at root = T[b,i,j] * D[j,j];\n"
                                      "output S[j,b] = T[b,i,j];\n";

/// One of the machines, and of limits that bind or do not; the same for the same text.
Machine machineFor(llvm::StringRef text) {
  constexpr std::array kNames = {"laptop", "two-socket", "cluster-100g"};
  const std::size_t which = llvm::xxh3_64bits(text) % (kNames.size() + 1);
  return which < kNames.size() ? *builtInMachine(kNames[which]) : Machine{};
}
std::optional<int64_t> memoryFor(llvm::StringRef text) {
  constexpr std::array<int64_t, 3> kLimits = {1, 1500, 1 << 20};
  const std::size_t which = llvm::xxh3_64bits(text) / 16 % (kLimits.size() + 1);
  return which < kLimits.size() ? std::optional(kLimits[which]) : std::nullopt;
}

/// \param diagnostics has the text that the places of the tree's nodes point into
Tree treeToPlan(Diagnostics &diagnostics) {
  const std::optional<Tree> tree = readEin(diagnostics.addText("tree.ein", kTree), diagnostics);
  return *orderGreedily(normalise(*tree), diagnostics);
}

std::string printed(const Tree &tree, const Schedule &schedule) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  print(tree, schedule, stream);
  return text;
}

void require(bool condition, llvm::StringRef what, llvm::StringRef text) {
  if (condition)
    return;
  llvm::errs() << what << ":\n" << text << "\n";
  std::abort();
}

} // namespace

} // namespace einsumc

/// A plan without an error must be completed to a schedule that breaks no rule, is printed and
/// read back the same, and is lowered or refused with a message.
// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  using namespace einsumc;
  const llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  Diagnostics diagnostics(llvm::nulls());
  const Tree whole = treeToPlan(diagnostics);
  const std::optional<PartialSchedule> given =
      readPlan(diagnostics.addText("fuzz.plan", text), whole, kRanks, diagnostics);
  require(given.has_value() != diagnostics.hasErrors(), "a plan and errors, or neither", text);
  if (!given)
    return 0;

  require(checkSlices(whole, given->slices).empty(), "slices break a rule", text);
  const Tree declared = slicedTree(whole, given->slices);
  const Machine machine = machineFor(text);
  const std::optional<int64_t> memory = memoryFor(text);
  const Tree tree = orderDims(declared, machine, given->orders);
  const Schedule schedule =
      plan(tree, machine, {kRanks, reordered(*given, declared, tree), memory});
  const std::string plan = printed(tree, schedule);
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.node(id).kind != NodeKind::Input)
      require(
          checkNodeSchedule(tree, id, schedule.nodes[static_cast<std::size_t>(id)], kRanks).empty(),
          "a schedule breaks a rule", plan);
  require(storedBytes(tree, schedule) > 0, "nothing is stored", plan);

  Diagnostics again(llvm::errs());
  const std::optional<PartialSchedule> reread =
      readPlan(again.addText("printed", plan), whole, kRanks, again);
  require(reread && reread->slices == given->slices, "slices are lost", plan);
  require(reread && reordered(declared, reread->orders) == tree, "an order is lost", plan);
  require(printed(tree, einsumc::plan(tree, machine,
                                      {kRanks, reordered(*reread, declared, tree), memory})) ==
              plan,
          "the printed plan is not read as the same plan", plan);

  const LoweredProgram program = lower(tree, machine, schedule);
  const auto computed =
      llvm::count_if(tree.nodes(), [](const Node &node) { return node.kind != NodeKind::Input; });
  require(static_cast<int64_t>(program.nodes.size()) == computed, "a node is lost", plan);
  return 0;
}
