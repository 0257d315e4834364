//===- ReadPath.cpp - the notation of contraction paths ---------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/ReadPath.h"

#include "compiler/frontend/Limits.h"
#include "compiler/support/Lexer.h"

#include "llvm/ADT/DenseSet.h"

namespace einsumc {

namespace {

/// Reports a position that a step has twice.
bool checkDistinct(const PathStep &step, Diagnostics &diagnostics) {
  llvm::SmallDenseSet<std::size_t> seen;
  for (const PathStep::Position &position : step.positions)
    if (!seen.insert(position.value).second) {
      diagnostics.error(position.where.Start,
                        "position " + llvm::Twine(position.value) + " stands twice in a step",
                        position.where);
      return false;
    }
  return true;
}

/// Functions that return bool return false after a mistake, which ends the reading: what the
/// positions of a step mean depends on the steps before it.
class PathReader {
public:
  PathReader(llvm::StringRef text, std::size_t operands, Diagnostics &diagnostics)
      : lexer(text, diagnostics, Lexer::Comments::None), diagnostics(diagnostics),
        listSize(operands) {}

  /// \p isList: the steps are followed by a bracket.
  std::optional<std::vector<PathStep>> run(bool isList);

private:
  bool steps(bool isList);
  bool step();
  bool position(PathStep &step);

  Lexer lexer;
  Diagnostics &diagnostics;
  std::size_t listSize; ///< before the next step
  std::vector<PathStep> result;
};

std::optional<std::vector<PathStep>> PathReader::run(bool isList) {
  if (!steps(isList))
    return std::nullopt;
  return std::move(result);
}

bool PathReader::steps(bool isList) {
  while (lexer.peek().is("(")) {
    if (!step())
      return false;
    if (!lexer.takeIf(","))
      break;
  }
  if (isList && !lexer.takeIf("]"))
    return lexer.unexpected("expected '(' and a step, or ']'");
  return lexer.peek().isEnd() ||
         lexer.unexpected(isList ? "expected the end of the path" : "expected '(' and a step");
}

bool PathReader::step() {
  if (listSize == 1 && !result.empty())
    return lexer.unexpected("the path is too long: a single tensor is left before this step");
  if (result.size() == kMaxTensors)
    return lexer.unexpected("a path has at most " + llvm::Twine(kMaxTensors) + " steps");
  PathStep step;
  step.where = lexer.take().start();
  do {
    // Python writes a tuple of one as `(0,)`.
    if (!step.positions.empty() && lexer.peek().is(")"))
      break;
    if (!position(step))
      return false;
  } while (lexer.takeIf(","));
  if (!lexer.takeIf(")"))
    return lexer.unexpected("expected ',' or ')'");
  if (!checkDistinct(step, diagnostics))
    return false;
  listSize -= step.positions.size() - 1;
  result.push_back(std::move(step));
  return true;
}

bool PathReader::position(PathStep &step) {
  if (!lexer.peek().isInteger())
    return lexer.unexpected("expected a position, a number counted from 0");
  Token number = lexer.take();
  std::size_t value = 0;
  if (number.text.getAsInteger(10, value) || value >= listSize) {
    diagnostics.error(number.start(),
                      "there is no position " + number.text + ": before this step the list has " +
                          llvm::Twine(listSize) + (listSize == 1 ? " tensor" : " tensors"),
                      number.range());
    return false;
  }
  step.positions.push_back({value, number.range()});
  return true;
}

} // namespace

std::optional<std::vector<PathStep>> readPath(llvm::StringRef path, std::size_t operands,
                                              Diagnostics &diagnostics) {
  llvm::StringRef text = diagnostics.addText("<--path>", path).ltrim();
  bool isList = text.consume_front("[");
  if (isList) {
    text = text.ltrim();
    text.consume_front("'einsum_path',");
  }
  return PathReader(text, operands, diagnostics).run(isList);
}

} // namespace einsumc
