//===- main.cpp - einsumc-sim: what a schedule would take on a machine ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Report.h"
#include "Simulation.h"

#include "../einsumc/FixedSchedule.h"
#include "../einsumc/InputOptions.h"
#include "../einsumc/PlanTree.h"
#include "../einsumc/ReadInputs.h"
#include "compiler/order/GreedyOrder.h"
#include "compiler/order/Normalise.h"
#include "compiler/support/CommandLine.h"
#include "einsumc/Config.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace einsumc;

namespace {

namespace cl = llvm::cl;

constexpr int kSuccess = 0, kMistake = 1, kUsage = 2;
constexpr llvm::StringLiteral kTool = "einsumc-sim";
/// So many ranks' messages can be followed one by one in some minutes.
constexpr int64_t kMostDetailed = 1024;

struct CommandLine {
  cl::OptionCategory category{"einsumc-sim options"};
  InputOptions inputs{category};
  cl::opt<std::string> topology{
      "topology",
      cl::desc("Network between the nodes: full, ring, torus:AxBxC, fattree:K (default: "
               "the machine's)"),
      cl::value_desc("T"), cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Write JSON instead of a table"), cl::cat(category)};
  cl::opt<unsigned> busiest{"busiest", cl::desc("Busiest links to show (default 5)"), cl::init(5),
                            cl::value_desc("N"), cl::cat(category)};
  cl::opt<bool> detail{"detail",
                       cl::desc("Follow every message (up to 1024 ranks) instead of phases in "
                                "which ranks act alike"),
                       cl::cat(category)};
};

int simulate(const CommandLine &line, Options options) {
  options.maySlice = false; // What does not fit is shown as it is.
  Diagnostics diagnostics;
  const std::optional<Tree> read = readTree(options, diagnostics);
  if (!read)
    return kMistake;
  const std::optional<Tree> declared = orderGreedily(normalise(*read), diagnostics);
  std::optional<Machine> machine = machineToUse(options, diagnostics);
  if (!declared || !machine)
    return kMistake;
  if (line.topology.getNumOccurrences() > 0)
    machine->topology = line.topology;
  const std::optional<PartialSchedule> given =
      fixedSchedule(*declared, *machine, options, diagnostics);
  if (!given)
    return kMistake;
  if (!checkNodes(*machine, options.ranks, kTool))
    return kMistake;
  const Network network(*machine, options.ranks);
  const PlannedTree planned = planTree(*declared, *machine, *given, options);
  const Tree &tree = planned.tree;
  const Schedule &schedule = planned.schedule;
  if (!schedule.slices.empty())
    llvm::errs() << kTool << ": note: one of " << countSlices(schedule.slices)
                 << " slices is simulated\n";

  const sim::Simulation simulation = (line.detail ? sim::simulateMessages : sim::simulatePhases)(
      tree, *machine, schedule, network);
  (line.json ? sim::printJson : sim::printTable)(
      {tree, *machine, schedule, network, planned.bytes()}, simulation, line.busiest, llvm::outs());
  return kSuccess;
}

} // namespace

int main(int argc, char **argv) {
  llvm::setBugReportMsg("einsumc-sim: this is a bug in einsumc. Please report it with the command "
                        "line, the input and the lines below.\n");
  const llvm::InitLLVM init(argc, argv);
  removeForeignOptions();
  CommandLine line;
  cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << kTool << " " EINSUMC_VERSION "\n"; });
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (!cl::ParseCommandLineOptions(
          argc, argv,
          "Simulates how a schedule of an einsum tree runs on a machine: the time of every node, "
          "and what passes the network's links\n",
          &stream)) {
    llvm::errs() << problems;
    return kUsage;
  }
  Options options;
  if (!fillInputs(line.inputs, kTool, options))
    return kUsage;
  if (line.detail && options.ranks > kMostDetailed) {
    usageError(kTool, "--detail follows the messages of 1024 ranks at most");
    return kUsage;
  }
  if (line.topology.getNumOccurrences() > 0 && !isTopology(line.topology)) {
    usageError(kTool, "--topology is full, ring, torus:AxBxC or fattree:K, K even");
    return kUsage;
  }
  return simulate(line, options);
}
