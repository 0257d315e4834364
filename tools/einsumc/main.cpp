//===- main.cpp - the compiler as a list of passes --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Explain.h"
#include "ExplainOrders.h"
#include "FixedSchedule.h"
#include "Launch.h"
#include "Options.h"
#include "Output.h"
#include "PassTimer.h"
#include "PlanTree.h"
#include "PrintStages.h"
#include "ReadInputs.h"

#include "compiler/codegen/Codegen.h"
#include "compiler/lower/Lower.h"
#include "compiler/order/GreedyOrder.h"
#include "compiler/order/Normalise.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"

using namespace einsumc;

namespace {

constexpr int kSuccess = 0, kMistake = 1, kUsage = 2;

class Driver {
public:
  explicit Driver(const Options &options) : options(options), timer(options.timePasses) {}

  int run() {
    const std::optional<Tree> read =
        timer.run("read", [&] { return readTree(options, diagnostics); });
    if (!read)
      return kMistake;
    if (options.stage == Stage::Ein)
      return write([&](llvm::raw_ostream &out) { print(*read, out); });

    const Tree normal = timer.run("normalise", [&] { return normalise(*read); });
    const std::optional<Tree> whole =
        timer.run("order", [&] { return orderGreedily(normal, diagnostics); });
    if (!whole)
      return kMistake;
    if (options.stage == Stage::Order)
      return write([&](llvm::raw_ostream &out) { printOrder(*whole, out); });

    const std::optional<Machine> machine =
        timer.run("machine", [&] { return machineToUse(options, diagnostics); });
    if (!machine || !checkNodes(*machine, options.ranks, "einsumc"))
      return kMistake;
    const std::optional<PartialSchedule> given = timer.run(
        "fixed schedule", [&] { return fixedSchedule(*whole, *machine, options, diagnostics); });
    if (!given)
      return kMistake;
    // Only slices that the memory asks for depend on a plan.
    if (options.stage == Stage::Tree && !memoryOf(options, *machine)) {
      const auto [declared, tree] = orderedSlice(*whole, *machine, *given, options);
      return write([&](llvm::raw_ostream &out) { printTree(declared, tree, given->slices, out); });
    }
    const PlannedTree planned =
        timer.run("plan", [&] { return planTree(*whole, *machine, *given, options); });
    if (options.explain) {
      explainOrders(planned.declared, planned.tree, *machine, given->orders, llvm::errs());
      explain(planned.tree, *machine, planned.options, planned.schedule, llvm::errs());
    }
    const std::optional<int64_t> memory = planned.options.memory;
    if (memory && !checkMemory(planned.tree, planned.schedule, planned.memoryNeed(), *memory))
      return kMistake;
    return finish(planned, *machine);
  }

private:
  int finish(const PlannedTree &planned, const Machine &machine) {
    const Tree &tree = planned.tree;
    const Schedule &schedule = planned.schedule;
    if (options.stage == Stage::Tree)
      return write(
          [&](llvm::raw_ostream &out) { printTree(planned.declared, tree, schedule.slices, out); });
    if (options.stage == Stage::Plan)
      return write([&](llvm::raw_ostream &out) {
        print(tree, schedule, out);
        print(tree, planned.memoryNeed(), out);
      });
    if (options.stage == Stage::Dot)
      return write([&](llvm::raw_ostream &out) { printDot(planned, machine, out); });
    if (options.stage == Stage::Json)
      return write([&](llvm::raw_ostream &out) { printJson(planned, machine, out); });

    if (options.library && !schedule.slices.empty())
      return refuseSlicedLibrary();
    const LoweredProgram program =
        timer.run("lower", [&] { return lower(tree, machine, schedule); });
    if (options.stage == Stage::Loops)
      return write([&](llvm::raw_ostream &out) { print(tree, schedule, program, out); });

    const CodegenOptions how = codegenOptions(options);
    const GeneratedCode code =
        timer.run("codegen", [&] { return generateCpp(tree, machine, schedule, program, how); });
    if (options.run && options.output == "-")
      return compileAndLaunch(code.source, options);
    if (options.library &&
        !writeFile(options.headerFile, [&](llvm::raw_ostream &out) { out << code.header; }))
      return kMistake;
    const int status = write([&](llvm::raw_ostream &out) { out << code.source; });
    return status == kSuccess && options.run ? compileAndLaunch(code.source, options) : status;
  }

  static int refuseSlicedLibrary() {
    llvm::errs()
        << "einsumc: error: --library does not go with slices: who calls a library fills the "
           "inputs of the whole tree at once. Write a program, or use more ranks.\n";
    return kMistake;
  }

  /// Writes the output and, when asked for, the dependency file.
  int write(llvm::function_ref<void(llvm::raw_ostream &)> print) {
    const bool written =
        writeFile(options.output, print) && (!options.dependencyFile || writeDependencies(options));
    return written ? kSuccess : kMistake;
  }

  const Options &options;
  Diagnostics diagnostics;
  PassTimer timer;
};

} // namespace

int main(int argc, char **argv) {
  llvm::setBugReportMsg("einsumc: this is a bug in einsumc. Please report it with the command "
                        "line, the input and the lines below.\n");
  const llvm::InitLLVM init(argc, argv);
  const std::optional<Options> options = parseOptions(argc, argv);
  return options ? Driver(*options).run() : kUsage;
}
