//===- InputOptions.cpp - the command line's words for what is planned ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "InputOptions.h"

#include "compiler/ir/Machine.h"

#include "llvm/Support/raw_ostream.h"

namespace einsumc {

namespace cl = llvm::cl;

InputOptions::InputOptions(cl::OptionCategory &category)
    : input(cl::Positional, cl::desc("[INPUT.ein]"), cl::cat(category)),
      tree("tree",
           cl::desc("Compile a bracketed tree, e.g. "
                    "'[[0,1],[1,2]->[0,2]],[2,3]->[0,3]'; needs --sizes"),
           cl::value_desc("T"), cl::cat(category)),
      einsum("einsum", cl::desc("Compile an einsum, e.g. 'ij,jk->ik'; needs --sizes"),
             cl::value_desc("E"), cl::cat(category)),
      sizes("sizes", cl::desc("Extents: in the order of the sorted dims, or i=3,j=4"),
            cl::value_desc("S"), cl::cat(category)),
      path("path", cl::desc("Order of an einsum's contractions, e.g. '(0,1),(0,1)'"),
           cl::value_desc("P"), cl::cat(category)),
      dtype("dtype", cl::desc("Type of --tree and --einsum: f32 (default), f64"), cl::init("f32"),
            cl::value_desc("T"), cl::cat(category)),
      ranks("ranks", cl::desc("Ranks to plan for (default 1)"), cl::init(1), cl::value_desc("P"),
            cl::cat(category)),
      machine("machine",
              cl::desc("Machine file, or laptop, two-socket, cluster-100g (default: built in)"),
              cl::value_desc("FILE"), cl::cat(category)),
      plan("plan",
           cl::desc("Take the schedule from FILE; what it leaves out is "
                    "planned"),
           cl::value_desc("FILE"), cl::cat(category)),
      algorithms(
          "algorithm",
          cl::desc(
              "Force an algorithm for a node ('*': all that can), e.g. T=ring_m(dim=i,pace=2)"),
          cl::value_desc("NODE=NAME"), cl::cat(category)),
      dimOrder(
          "dim-order", cl::desc("How intermediates are stored:"), cl::init(DimOrderChoice::Chosen),
          cl::values(clEnumValN(DimOrderChoice::Chosen, "chosen",
                                "in the orders that are estimated to be fastest (default)"),
                     clEnumValN(DimOrderChoice::Declared, "declared",
                                "as the input declares them, but for those that --plan orders")),
          cl::cat(category)),
      groups("groups", cl::desc("Independent nodes at the same time:"),
             cl::init(GroupChoice::Chosen),
             cl::values(clEnumValN(GroupChoice::Chosen, "chosen",
                                   "on groups of ranks where that is estimated to be faster "
                                   "(default)"),
                        clEnumValN(GroupChoice::None, "none",
                                   "one after the other, each on as many ranks as help")),
             cl::cat(category)) {}

bool usageError(llvm::StringRef tool, const llvm::Twine &message) {
  llvm::errs() << tool << ": " << message << "\nTry '" << tool << " --help'.\n";
  return false;
}

std::optional<std::string> given(const cl::opt<std::string> &option) {
  return option.getNumOccurrences() > 0 ? std::optional(option.getValue()) : std::nullopt;
}

namespace {

bool checkInputs(const Options &options, llvm::StringRef tool) {
  const int inputs = static_cast<int>(options.inputFile.has_value()) +
                     static_cast<int>(options.tree.has_value()) +
                     static_cast<int>(options.einsum.has_value());
  if (inputs == 0)
    return usageError(tool, "nothing to compile: give INPUT.ein, --tree or --einsum");
  if (inputs > 1)
    return usageError(tool, "give only one of INPUT.ein, --tree and --einsum");
  if (options.path && !options.einsum)
    return usageError(tool, "--path goes with --einsum");
  return true;
}

} // namespace

bool fillInputs(const InputOptions &line, llvm::StringRef tool, Options &options) {
  options.inputFile = given(line.input);
  options.tree = given(line.tree);
  options.einsum = given(line.einsum);
  options.path = given(line.path);
  options.sizes = line.sizes;
  if (!checkInputs(options, tool))
    return false;
  if (options.inputFile && (line.sizes.getNumOccurrences() + line.dtype.getNumOccurrences() > 0))
    return usageError(tool, "--sizes and --dtype go with --tree and --einsum; .ein files say both");
  const std::optional<ElementType> type = elementTypeFromName(line.dtype);
  if (!type)
    return usageError(tool, "unknown --dtype '" + line.dtype + "': f32 or f64");
  options.elementType = *type;
  options.ranks = line.ranks;
  if (options.ranks < 1 || options.ranks > (1 << 24))
    return usageError(tool, "--ranks must be from 1 to 16777216");
  const std::optional<std::string> machine = given(line.machine);
  (machine && builtInMachine(*machine) ? options.machineName : options.machineFile) = machine;
  options.planFile = given(line.plan);
  options.algorithms.assign(line.algorithms.begin(), line.algorithms.end());
  options.dimOrder = line.dimOrder;
  options.groups = line.groups;
  return true;
}

} // namespace einsumc
