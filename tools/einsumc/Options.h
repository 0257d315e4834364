//===- Options.h - the compiler's command line ------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_OPTIONS_H
#define EINSUMC_TOOLS_OPTIONS_H

#include "compiler/ir/Tree.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace einsumc {

enum class Stage : uint8_t { Ein, Tree, Order, Plan, Loops, Cpp, Dot, Json };

/// Whether the compiler chooses the order in which intermediates are stored.
enum class DimOrderChoice : uint8_t { Chosen, Declared };
/// Whether independent nodes may be computed at the same time, on groups of ranks.
enum class GroupChoice : uint8_t { Chosen, None };

/// What the user asked for; texts are unchecked.
struct Options {
  std::optional<std::string> inputFile;
  std::optional<std::string> tree;
  std::optional<std::string> einsum;
  std::string sizes;
  std::optional<std::string> path;
  ElementType elementType = ElementType::F32;

  std::string output = "-";
  Stage stage = Stage::Cpp;
  int64_t ranks = 1;
  std::optional<std::string> machineName; ///< of a built-in machine
  std::optional<std::string> machineFile;
  std::optional<int64_t> memory;
  std::optional<std::string> planFile;
  std::vector<std::string> algorithms; ///< NODE=NAME
  std::vector<std::string> slices;     ///< DIM=PARTS, ...
  bool isWhole = false;                ///< no slices, not even those of a plan
  bool maySlice = true;                ///< what does not fit the memory
  DimOrderChoice dimOrder = DimOrderChoice::Chosen;
  GroupChoice groups = GroupChoice::Chosen;

  bool library = false;
  std::string headerFile;
  std::optional<std::string> dependencyFile;
  bool run = false;
  std::vector<std::string> launcher;    ///< words of --launcher; empty: the configured one
  std::vector<std::string> programArgs; ///< after `--`
  bool explain = false;
  bool timePasses = false;
};

/// Parses the command line. Prints help or the version and exits with 0 when asked to; reports
/// wrong usage on stderr and returns nothing.
std::optional<Options> parseOptions(int argc, char **argv);

} // namespace einsumc

#endif // EINSUMC_TOOLS_OPTIONS_H
