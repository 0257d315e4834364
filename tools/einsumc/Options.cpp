//===- Options.cpp - the compiler's command line ----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Options.h"

#include "compiler/ir/Machine.h"
#include "compiler/support/CommandLine.h"
#include "einsumc/Config.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

namespace einsumc {

namespace {

namespace cl = llvm::cl;

/// The options as LLVM's command-line library wants them: objects that live while it parses.
struct CommandLine {
  cl::OptionCategory category{"einsumc options"};
  cl::opt<std::string> input{cl::Positional, cl::desc("[INPUT.ein]"), cl::cat(category)};
  cl::opt<std::string> tree{"tree",
                            cl::desc("Compile a bracketed tree, e.g. "
                                     "'[[0,1],[1,2]->[0,2]],[2,3]->[0,3]'; needs --sizes"),
                            cl::value_desc("T"), cl::cat(category)};
  cl::opt<std::string> einsum{"einsum",
                              cl::desc("Compile an einsum, e.g. 'ij,jk->ik'; needs --sizes"),
                              cl::value_desc("E"), cl::cat(category)};
  cl::opt<std::string> sizes{"sizes",
                             cl::desc("Extents: in the order of the sorted dims, or i=3,j=4"),
                             cl::value_desc("S"), cl::cat(category)};
  cl::opt<std::string> path{"path",
                            cl::desc("Order of an einsum's contractions, e.g. '(0,1),(0,1)'"),
                            cl::value_desc("P"), cl::cat(category)};
  cl::opt<std::string> dtype{"dtype", cl::desc("Type of --tree and --einsum: f32 (default), f64"),
                             cl::init("f32"), cl::value_desc("T"), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Output file; '-' (default) is stdout"), cl::init("-"),
                              cl::value_desc("FILE"), cl::cat(category)};
  cl::opt<Stage> stage{
      "emit", cl::desc("What to write:"), cl::init(Stage::Cpp),
      cl::values(clEnumValN(Stage::Ein, "ein", "the tree as read, as .ein text"),
                 clEnumValN(Stage::Tree, "tree",
                            "the tree that is planned, as .ein text; a comment "
                            "says how a tensor was stored before"),
                 clEnumValN(Stage::Order, "order", "the contractions in order, with their flops"),
                 clEnumValN(Stage::Plan, "plan", "the schedule, as --plan reads it"),
                 clEnumValN(Stage::Loops, "loops", "every node's moves, loops and tiles"),
                 clEnumValN(Stage::Cpp, "cpp", "the C++ program (default)"),
                 clEnumValN(Stage::Dot, "dot", "a picture of the planned tree for Graphviz"),
                 clEnumValN(Stage::Json, "json", "tree, schedule and predictions for tools")),
      cl::cat(category)};
  cl::opt<long long> ranks{"ranks", cl::desc("Ranks to plan for (default 1)"), cl::init(1),
                           cl::value_desc("P"), cl::cat(category)};
  cl::opt<std::string> machine{
      "machine", cl::desc("Machine file, or laptop, two-socket, cluster-100g (default: built in)"),
      cl::value_desc("FILE"), cl::cat(category)};
  cl::opt<std::string> memory{"memory",
                              cl::desc("Bytes that a rank may use for tensors, e.g. 4GiB"),
                              cl::value_desc("SIZE"), cl::cat(category)};
  cl::opt<std::string> plan{"plan",
                            cl::desc("Take the schedule from FILE; what it leaves out is "
                                     "planned"),
                            cl::value_desc("FILE"), cl::cat(category)};
  cl::list<std::string> algorithms{
      "algorithm",
      cl::desc("Force an algorithm for a node ('*': all that can), e.g. T=ring_m(dim=i,pace=2)"),
      cl::value_desc("NODE=NAME"), cl::cat(category)};
  cl::list<std::string> slices{
      "slice",
      cl::desc(
          "Evaluate the tree along a dim part by part, so that it takes less memory, e.g. d=8; "
          "a list, or repeated: loops in loops, the first the outermost"),
      cl::value_desc("DIM=PARTS"), cl::cat(category)};
  cl::opt<DimOrderChoice> dimOrder{
      "dim-order", cl::desc("How intermediates are stored:"), cl::init(DimOrderChoice::Chosen),
      cl::values(clEnumValN(DimOrderChoice::Chosen, "chosen",
                            "in the orders that are estimated to be fastest (default)"),
                 clEnumValN(DimOrderChoice::Declared, "declared",
                            "as the input declares them, but for those that --plan orders")),
      cl::cat(category)};
  cl::opt<bool> program{"main", cl::desc("Write a program (default)"), cl::cat(category)};
  cl::opt<bool> library{"library", cl::desc("Write a translation unit and its header instead"),
                        cl::cat(category)};
  cl::opt<std::string> header{"header", cl::desc("The header of --library (default: -o's with .h)"),
                              cl::value_desc("FILE"), cl::cat(category)};
  cl::opt<std::string> dependencies{"MF", cl::desc("Write a dependency file for build systems"),
                                    cl::value_desc("FILE"), cl::cat(category)};
  cl::opt<bool> run{"run", cl::desc("Compile and launch the program; arguments after -- go to it"),
                    cl::cat(category)};
  cl::opt<std::string> launcher{"launcher",
                                cl::desc("Launch with CMD -n P instead of the configured mpiexec"),
                                cl::value_desc("CMD"), cl::cat(category)};
  cl::opt<bool> explain{"explain", cl::desc("Say why every node got its schedule (on stderr)"),
                        cl::cat(category)};
  cl::opt<bool> timePasses{"time-passes", cl::desc("Print the time of every pass (on stderr)"),
                           cl::cat(category)};
};

bool usageError(const llvm::Twine &message) {
  llvm::errs() << "einsumc: " << message << "\nTry 'einsumc --help'.\n";
  return false;
}

/// `4GiB`, `500MB`, `1024`: bytes, if the text is such a number of at least 1.
std::optional<int64_t> parseBytes(llvm::StringRef text) {
  struct Unit {
    llvm::StringLiteral name;
    double bytes;
  };
  static constexpr Unit kUnits[] = {
      {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
      {"kB", 1e3},     {"MB", 1e6},        {"GB", 1e9},           {"TB", 1e12},
      {"B", 1}};
  double unit = 1;
  for (const Unit &candidate : kUnits)
    if (text.consume_back(candidate.name)) {
      unit = candidate.bytes;
      break;
    }
  double value = 0;
  if (text.empty() || !llvm::isDigit(text.front()) || text.getAsDouble(value) || value * unit < 1 ||
      value * unit > 9e18)
    return std::nullopt;
  return static_cast<int64_t>(value * unit);
}

std::optional<std::string> given(const cl::opt<std::string> &option) {
  return option.getNumOccurrences() > 0 ? std::optional(option.getValue()) : std::nullopt;
}

bool checkInputs(const Options &options) {
  const int inputs = static_cast<int>(options.inputFile.has_value()) +
                     static_cast<int>(options.tree.has_value()) +
                     static_cast<int>(options.einsum.has_value());
  if (inputs == 0)
    return usageError("nothing to compile: give INPUT.ein, --tree or --einsum");
  if (inputs > 1)
    return usageError("give only one of INPUT.ein, --tree and --einsum");
  if (options.path && !options.einsum)
    return usageError("--path goes with --einsum");
  return true;
}

bool fillOutputs(const CommandLine &line, Options &options) {
  if (line.program && line.library)
    return usageError("--main and --library exclude each other");
  if (options.library && options.run)
    return usageError("--run needs a program: it does not go with --library");
  if (options.run && options.stage != Stage::Cpp)
    return usageError("--run does not go with --emit=" + llvm::Twine("a stage before the program"));
  if (!options.run && !options.programArgs.empty())
    return usageError("arguments after -- go to the program of --run");
  if (options.dependencyFile && options.output == "-")
    return usageError("-MF needs -o with a file");
  if (!options.library)
    return line.header.getNumOccurrences() == 0 || usageError("--header goes with --library");
  options.headerFile = line.header;
  if (!options.headerFile.empty())
    return true;
  if (options.output == "-")
    return usageError("--library needs -o with a file, or --header");
  llvm::SmallString<128> header(options.output);
  llvm::sys::path::replace_extension(header, ".h");
  options.headerFile = header.str().str();
  return true;
}

bool fill(const CommandLine &line, Options &options) {
  options.inputFile = given(line.input);
  options.tree = given(line.tree);
  options.einsum = given(line.einsum);
  options.path = given(line.path);
  options.sizes = line.sizes;
  if (!checkInputs(options))
    return false;
  if (options.inputFile && (line.sizes.getNumOccurrences() + line.dtype.getNumOccurrences() > 0))
    return usageError("--sizes and --dtype go with --tree and --einsum; .ein files say both");
  const std::optional<ElementType> type = elementTypeFromName(line.dtype);
  if (!type)
    return usageError("unknown --dtype '" + line.dtype + "': f32 or f64");
  options.elementType = *type;
  options.ranks = line.ranks;
  if (options.ranks < 1 || options.ranks > (1 << 24))
    return usageError("--ranks must be from 1 to 16777216");
  if (const std::optional<std::string> memory = given(line.memory)) {
    options.memory = parseBytes(*memory);
    if (!options.memory)
      return usageError("--memory takes a size such as 4GiB or 500MB, not '" + *memory + "'");
  }
  options.output = line.output;
  options.stage = line.stage;
  const std::optional<std::string> machine = given(line.machine);
  (machine && builtInMachine(*machine) ? options.machineName : options.machineFile) = machine;
  options.planFile = given(line.plan);
  options.algorithms.assign(line.algorithms.begin(), line.algorithms.end());
  options.slices.assign(line.slices.begin(), line.slices.end());
  options.dimOrder = line.dimOrder;
  options.library = line.library;
  options.dependencyFile = given(line.dependencies);
  options.run = line.run;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(line.launcher.getValue()).split(words, ' ', -1, false);
  for (llvm::StringRef word : words)
    options.launcher.push_back(word.str());
  options.explain = line.explain;
  options.timePasses = line.timePasses;
  return fillOutputs(line, options);
}

} // namespace

std::optional<Options> parseOptions(int argc, char **argv) {
  Options options;
  int ours = argc;
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--") == 0) {
      ours = i;
      options.programArgs.assign(argv + i + 1, argv + argc);
      break;
    }
  removeForeignOptions();
  CommandLine line;
  cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << "einsumc " EINSUMC_VERSION "\n"; });
  // With a stream of its own the library returns instead of exiting, so that wrong usage gets its
  // own exit status.
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (!cl::ParseCommandLineOptions(
          ours, argv, "Compiles an einsum tree to a distributed C++ program\n", &stream)) {
    llvm::errs() << problems;
    return std::nullopt;
  }
  if (!fill(line, options))
    return std::nullopt;
  return options;
}

} // namespace einsumc
