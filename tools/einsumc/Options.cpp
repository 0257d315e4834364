//===- Options.cpp - the compiler's command line ----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Options.h"

#include "InputOptions.h"

#include "compiler/support/CommandLine.h"
#include "einsumc/Config.h"

#include "llvm/ADT/STLExtras.h"
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
  InputOptions inputs{category};
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
  cl::opt<std::string> memory{"memory",
                              cl::desc("Bytes that a rank may use for tensors, messages and "
                                       "scratch, e.g. 4GiB"),
                              cl::value_desc("SIZE"), cl::cat(category)};
  cl::list<std::string> slices{
      "slice",
      cl::desc(
          "Evaluate the tree along a dim part by part, so that it takes less memory, e.g. d=8; "
          "a list, or repeated: loops in loops, the first the outermost; none: neither what does "
          "not fit --memory nor as --plan says"),
      cl::value_desc("DIM=PARTS"), cl::cat(category)};
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

bool wrong(const llvm::Twine &message) { return usageError("einsumc", message); }

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

bool fillOutputs(const CommandLine &line, Options &options) {
  if (line.program && line.library)
    return wrong("--main and --library exclude each other");
  if (options.library && options.run)
    return wrong("--run needs a program: it does not go with --library");
  if (options.run && options.stage != Stage::Cpp)
    return wrong("--run does not go with --emit=" + llvm::Twine("a stage before the program"));
  if (!options.run && !options.programArgs.empty())
    return wrong("arguments after -- go to the program of --run");
  if (options.dependencyFile && options.output == "-")
    return wrong("-MF needs -o with a file");
  if (!options.library)
    return line.header.getNumOccurrences() == 0 || wrong("--header goes with --library");
  options.headerFile = line.header;
  if (!options.headerFile.empty())
    return true;
  if (options.output == "-")
    return wrong("--library needs -o with a file, or --header");
  llvm::SmallString<128> header(options.output);
  llvm::sys::path::replace_extension(header, ".h");
  options.headerFile = header.str().str();
  return true;
}

bool fill(const CommandLine &line, Options &options) {
  if (!fillInputs(line.inputs, "einsumc", options))
    return false;
  if (const std::optional<std::string> memory = given(line.memory)) {
    options.memory = parseBytes(*memory);
    if (!options.memory)
      return wrong("--memory takes a size such as 4GiB or 500MB, not '" + *memory + "'");
  }
  options.output = line.output;
  options.stage = line.stage;
  options.slices.assign(line.slices.begin(), line.slices.end());
  if (llvm::is_contained(options.slices, "none")) {
    if (options.slices.size() > 1)
      return wrong("--slice=none excludes other slices");
    options.slices.clear();
    options.isWhole = true;
    options.maySlice = false;
  }
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
