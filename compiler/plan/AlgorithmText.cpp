//===- AlgorithmText.cpp - algorithms as users name them --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/AlgorithmText.h"

#include "llvm/ADT/SmallVector.h"

namespace einsumc {

namespace {

llvm::SmallVector<llvm::StringRef> splitAt(llvm::StringRef text, char separator) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, separator);
  for (llvm::StringRef &part : parts)
    part = part.trim();
  return parts;
}

/// Reads `key=value` into the text; what is wrong with it, or nothing.
std::string parseChoice(llvm::StringRef choice, AlgorithmText &result) {
  const auto [key, value] = choice.split('=');
  const auto wrong = [&](llvm::StringRef expected) {
    return "'" + choice.str() + "': expected " + expected.str();
  };
  if (key == "dim" || key == "t") {
    auto &names = key == "dim" ? result.dims : result.chunks;
    for (llvm::StringRef part : splitAt(value, '+')) {
      if (part.empty())
        return wrong(key.str() + "=DIM, or DIM+DIM for several axes");
      names.push_back(part.str());
    }
    return "";
  }
  if (key == "pace")
    return value.getAsInteger(10, result.pace) || result.pace < 1
               ? wrong("pace=N, a whole number from 1 on")
               : "";
  if (key != "grid")
    return "'" + choice.str() + "': known are dim=, t=, pace= and grid=";
  for (llvm::StringRef part : splitAt(value, 'x')) {
    int64_t extent = 0;
    if (part.getAsInteger(10, extent) || extent < 1)
      return wrong("grid=N, NxN or NxNxN");
    result.grid.push_back(extent);
  }
  return "";
}

} // namespace

std::variant<AlgorithmText, std::string> parseAlgorithm(llvm::StringRef text) {
  AlgorithmText result;
  const auto [name, rest] = text.split('(');
  result.name = name.trim().str();
  if (!text.contains('('))
    return result;
  llvm::StringRef choices = rest.rtrim();
  if (!choices.consume_back(")"))
    return "'" + text.str() + "': expected NAME(KEY=VALUE,...)";
  for (llvm::StringRef choice : splitAt(choices, ','))
    if (std::string problem = parseChoice(choice, result); !problem.empty())
      return problem;
  return result;
}

} // namespace einsumc
