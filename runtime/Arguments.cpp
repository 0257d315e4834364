//===- Arguments.cpp - the command line of emitted programs -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Arguments.h"

#include "Region.h"

#include "NpyHeader.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

namespace einsumc {
namespace {

bool isWanted(const TensorDescription &tensor, bool input) {
  return input ? tensor.isInput : tensor.isOutput;
}

/// The names of the inputs (or outputs) with their shapes, for messages and --help.
std::string listTensors(const ProgramDescription &description, bool input) {
  std::string text;
  for (const TensorDescription &tensor : description.tensors)
    if (isWanted(tensor, input))
      text += (text.empty() ? "" : ", ") + tensor.name + " " +
              formatShape(wholeExtents(description,
                                       static_cast<int>(&tensor - description.tensors.data())));
  return text.empty() ? "none" : text;
}

/// NAME=FILE arguments as files by tensor.
std::map<int, std::string> parseFiles(const ProgramDescription &description,
                                      const std::vector<std::string> &words, bool input) {
  const std::string option = input ? "--input " : "--output ";
  const std::string kind = input ? "input" : "output";
  std::map<int, std::string> files;
  for (const std::string &word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
      throw UsageError(option + word + ": expected NAME=FILE.npy");
    const std::string name = word.substr(0, equals);
    const auto tensor = std::find_if(
        description.tensors.begin(), description.tensors.end(),
        [&](const TensorDescription &t) { return t.name == name && isWanted(t, input); });
    if (tensor == description.tensors.end())
      throw UsageError(option + word + ": no " + kind + " is called '" + name + "'; the " + kind +
                       "s are: " + listTensors(description, input));
    const auto index = static_cast<int>(tensor - description.tensors.begin());
    if (!files.emplace(index, word.substr(equals + 1)).second)
      throw UsageError(option + word + ": a file for '" + name + "' is given twice");
  }
  return files;
}

/// A number that is all of the word. CLI11's own conversions let -1 pass as an unsigned number.
template <class T> T parseNumber(const std::string &option, const std::string &word, T least) {
  T value{};
  const char *end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || rest != end || value < least)
    throw UsageError(option + " " + word + ": expected a whole number from " +
                     std::to_string(least) + " to " +
                     std::to_string(std::numeric_limits<T>::max()));
  return value;
}

/// Two results must not go to the same file.
void requireDistinct(const Arguments &arguments) {
  std::set<std::string> files;
  const auto add = [&](const std::string &file) {
    if (!files.insert(file).second)
      throw UsageError("two results would be written to " + file);
  };
  if (!arguments.statistics.empty())
    add(arguments.statistics);
  if (!arguments.trace.empty())
    add(arguments.trace);
  for (const auto &[tensor, file] : arguments.outputs)
    add(file);
}

/// An option that takes one of some words. CLI11's own for enumerations print their values, too.
template <class T>
void addChoice(CLI::App &app, const char *name, T &value, const std::map<std::string, T> &choices,
               const char *help) {
  app.add_option_function<std::string>(
         name, [&value, choices](const std::string &word) { value = choices.at(word); }, help)
      ->type_name("WHERE")
      ->check(CLI::IsMember(choices));
}

std::string footer(const ProgramDescription &description) {
  return "Inputs: " + listTensors(description, true) +
         "\nOutputs: " + listTensors(description, false) + "\nCompiled for " +
         std::to_string(description.ranks) +
         (description.ranks == 1 ? " rank"
                                 : " ranks: mpirun -n " + std::to_string(description.ranks)) +
         "\nExit status: 0; 1 for a failure, also of --verify; 2 for wrong usage.";
}

} // namespace

Arguments parseArguments(const ProgramDescription &description, std::vector<std::string> words) {
  Arguments arguments;
  std::vector<std::string> inputs, outputs;
  std::string seed, repeat, threads, waitLimit;

  CLI::App app("Evaluates " + description.name + ".", description.name);
  app.set_version_flag("--version", description.name + ", compiled by einsumc " EINSUMC_VERSION);
  app.footer(footer(description));
  const auto addFiles = [&](const char *name, std::vector<std::string> &files, const char *help) {
    app.add_option(name, files, help)->type_name("NAME=FILE.npy")->allow_extra_args(false);
  };
  addFiles("--input", inputs, "Read an input; one without a file is filled with random numbers");
  addFiles("--output", outputs, "Write an output");
  app.add_option("--seed", seed, "Of the random inputs (default 0)")->type_name("N");
  app.add_option("--repeat", repeat, "Runs to time (default 1)")->type_name("N");
  app.add_flag("--verify", arguments.verify, "Compare with an independent evaluation");
  app.add_option("--stats", arguments.statistics, "Write statistics as JSON")
      ->type_name("FILE.json");
  app.add_option("--trace", arguments.trace,
                 "Write what every thread does in the last run, for Perfetto or chrome://tracing")
      ->type_name("FILE.json");
  app.add_option("--threads", threads, "OpenMP threads of each rank")->type_name("T");
  app.add_option("--wait-limit", waitLimit,
                 "End the job when a rank has waited so long without a message (default: never)")
      ->type_name("SECONDS");
  addChoice(app, "--communication-core", arguments.communicationCore,
            {{"auto", CommunicationCore::Auto},
             {"shared", CommunicationCore::Shared},
             {"reserved", CommunicationCore::Reserved}},
            "Whether each rank leaves a core to the thread that moves tensors while others compute "
            "(default auto)");
  addChoice(app, "--in-place", arguments.inPlace,
            {{"host", InPlace::Host}, {"none", InPlace::None}},
            "Whether ranks of a host compute with each other's chunks where they lie, or are sent "
            "them (default host)");
  app.add_flag("--describe", arguments.describe,
               "Print hosts and binding, tensors, nodes and plan; do not run");

  std::reverse(words.begin(), words.end()); // CLI11 takes them from the back
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp &) {
    arguments.message = app.help();
    return arguments;
  } catch (const CLI::CallForVersion &version) {
    arguments.message = std::string(version.what()) + "\n";
    return arguments;
  } catch (const CLI::ParseError &error) {
    throw UsageError(std::string(error.what()) + " (--help lists the arguments)");
  }
  if (app.count("--seed") > 0)
    arguments.seed = parseNumber<uint64_t>("--seed", seed, 0);
  if (app.count("--repeat") > 0)
    arguments.repeat = parseNumber<int>("--repeat", repeat, 1);
  if (app.count("--threads") > 0)
    arguments.threads = parseNumber<int>("--threads", threads, 1);
  if (app.count("--wait-limit") > 0)
    arguments.waitLimit = parseNumber<int>("--wait-limit", waitLimit, 1);
  if (app.count("--stats") > 0 && arguments.statistics.empty())
    throw UsageError("--stats: expected FILE.json");
  if (app.count("--trace") > 0 && arguments.trace.empty())
    throw UsageError("--trace: expected FILE.json");
  arguments.inputs = parseFiles(description, inputs, true);
  arguments.outputs = parseFiles(description, outputs, false);
  requireDistinct(arguments);
  return arguments;
}

} // namespace einsumc
