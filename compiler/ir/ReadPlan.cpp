//===- ReadPlan.cpp - reads the text form of schedules ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/ReadPlan.h"

#include "compiler/support/Lexer.h"
#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <set>
#include <string>
#include <vector>

namespace einsumc {

namespace {

constexpr std::array kMovements = {Movement::None,   Movement::Ring, Movement::Bcast,
                                   Movement::Gather, Movement::Get,  Movement::Stream};

/// `none, ring, ...`
std::string movementNames() {
  std::vector<std::string> names;
  for (const Movement movement : kMovements)
    names.push_back(name(movement).str());
  return join(names, ", ");
}

class PlanParser {
public:
  PlanParser(llvm::StringRef text, const Tree &tree, int64_t ranks, Diagnostics &diagnostics)
      : errorsBefore(diagnostics.errors()), lexer(text, diagnostics), tree(tree), ranks(ranks),
        diagnostics(diagnostics) {}

  std::optional<PartialSchedule> run() {
    if (readHeader())
      while (!lexer.peek().isEnd()) {
        const char *start = lexer.peek().text.begin();
        if (!readLine())
          skipLine(start);
      }
    if (diagnostics.errors() != errorsBefore)
      return std::nullopt;
    return std::move(plan);
  }

private:
  bool readHeader() {
    if (!takeWord("plan") || !takeWord("ranks") || !lexer.expect("="))
      return false;
    const Token token = lexer.peek();
    int64_t count = 0;
    if (!readCount(count))
      return false;
    if (count == ranks)
      return true;
    diagnostics.error(token.start(), "the plan is for " + llvm::Twine(count) + " ranks, not for " +
                                         llvm::Twine(ranks) + " as --ranks says");
    return false;
  }

  bool takeWord(llvm::StringRef word) {
    if (!lexer.peek().isWord(word))
      return lexer.unexpected("expected '" + word + "'");
    lexer.take();
    return true;
  }

  bool readCount(int64_t &value) {
    const Token token = lexer.peek();
    if (!token.isInteger())
      return lexer.unexpected("expected a number");
    lexer.take();
    if (!token.text.getAsInteger(10, value))
      return true;
    diagnostics.error(token.start(), "the number does not fit 64 bits", token.range());
    return false;
  }

  bool readLine() {
    if (!lexer.peek().isIdentifier())
      return lexer.unexpected("expected the name of a tensor");
    Token name = lexer.take();
    if (name.isWord("slice") && !lexer.peek().is(":") && !lexer.peek().is("["))
      return readSlicesLine(name);
    const bool isFinal = name.isWord("final") && lexer.peek().isIdentifier();
    if (isFinal)
      name = lexer.take();
    const std::optional<NodeId> node = tree.find(name.text);
    if (!node) {
      diagnostics.error(name.start(), "the tree has no tensor '" + name.text + "'", name.range());
      return false;
    }
    if (isFinal && !tree.node(*node).isOutput) {
      diagnostics.error(name.start(), "'" + name.text + "' is no output", name.range());
      return false;
    }
    if (!seen.insert({*node, isFinal}).second) {
      diagnostics.error(name.start(), "a second line for '" + name.text + "'", name.range());
      return false;
    }
    if (!isFinal && lexer.peek().is("[") && !readOrder(name, *node))
      return false;
    if (!lexer.expect(":"))
      return false;
    if (isFinal || tree.node(*node).kind == NodeKind::Input)
      return readPlacementLine(name, *node, isFinal);
    return readNodeLine(name, *node);
  }

  /// The lines that follow are about the sliced tree.
  bool readSlicesLine(const Token &word) {
    if (!seen.empty() || !plan.slices.empty()) {
      diagnostics.error(word.start(), "slices come once, before all other lines", word.range());
      return false;
    }
    if (lexer.isAtLineStart())
      return lexer.unexpected("expected a dim to slice");
    std::optional<Slices> slices = readSlices(lexer, tree, diagnostics);
    if (!slices)
      return false;
    plan.slices = std::move(*slices);
    tree = slicedTree(tree, plan.slices);
    return true;
  }

  /// Reads the dims that a tensor is stored with: each of its own, once.
  bool readOrder(const Token &name, NodeId node) {
    lexer.take();
    const std::vector<DimId> &declared = tree.node(node).dims;
    std::vector<DimId> order;
    while (!lexer.peek().is("]")) {
      if (!order.empty() && !lexer.expect(","))
        return false;
      const Token dim = lexer.peek();
      if (!dim.isIdentifier())
        return lexer.unexpected("expected a dim of '" + name.text + "'");
      lexer.take();
      const auto found =
          llvm::find_if(declared, [&](DimId id) { return tree.dim(id).name == dim.text; });
      if (found == declared.end() || llvm::count(order, *found) == llvm::count(declared, *found)) {
        diagnostics.error(dim.start(),
                          (found == declared.end() ? "the tensor has no dim '"
                                                   : "the tensor has no second dim '") +
                              dim.text + "'",
                          dim.range());
        return false;
      }
      order.push_back(*found);
    }
    if (order.size() != declared.size())
      return lexer.unexpected("the order lacks '" + tree.dim(missingDim(declared, order)).name +
                              "'");
    lexer.take();
    if (isIntermediate(tree, node))
      plan.orders[node] = std::move(order);
    else if (order != declared)
      return accept(name, "the order of an input or output is the declared one: " +
                              tensorText(tree, name.text, declared));
    return true;
  }

  static DimId missingDim(const std::vector<DimId> &declared, const std::vector<DimId> &order) {
    return *llvm::find_if(
        declared, [&](DimId dim) { return llvm::count(order, dim) < llvm::count(declared, dim); });
  }

  bool readPlacementLine(const Token &name, NodeId node, bool isFinal) {
    Placement placement;
    if (!readGrid(placement.grid))
      return false;
    const bool read = readAxes(placement.grid, [&] {
      AxisPlacement axis;
      if (!readPlacement(tree.node(node).dims, axis))
        return false;
      placement.axes.push_back(axis);
      return true;
    });
    if (!read || !accept(name, checkPlacement(tree, node, placement, ranks)))
      return false;
    (isFinal ? plan.finals : plan.inputs)[node] = normalised(std::move(placement));
    return true;
  }

  bool readNodeLine(const Token &name, NodeId node) {
    NodeSchedule schedule;
    if (!readGrid(schedule.grid))
      return false;
    const bool read = readAxes(schedule.grid, [&] {
      AxisSchedule axis;
      if (!readAxisSchedule(node, axis))
        return false;
      schedule.axes.push_back(axis);
      return true;
    });
    if (!read || !accept(name, checkNodeSchedule(tree, node, schedule, ranks)))
      return false;
    plan.nodes[node] = std::move(schedule);
    return true;
  }

  bool accept(const Token &name, const std::string &problem) {
    if (problem.empty())
      return true;
    diagnostics.error(name.start(), "'" + name.text + "': " + problem, name.range());
    return false;
  }

  bool readGrid(Grid &grid) {
    if (!lexer.expect("["))
      return false;
    while (!lexer.peek().is("]")) {
      int64_t extent = 0;
      if ((!grid.extents.empty() && !lexer.expect(",")) || !readCount(extent))
        return false;
      grid.extents.push_back(extent);
    }
    lexer.take();
    return !lexer.takeIf("@") || readCount(grid.firstRank);
  }

  /// Reads as many axes as the grid has.
  bool readAxes(const Grid &grid, llvm::function_ref<bool()> readAxis) {
    for (std::size_t axis = 0; axis < grid.extents.size(); ++axis)
      if ((axis > 0 && !lexer.expect(",")) || !readAxis())
        return false;
    if (lexer.peek().isEnd() || lexer.isAtLineStart())
      return true;
    return lexer.unexpected("expected the end of the line");
  }

  bool readPlacement(const std::vector<DimId> &dims, AxisPlacement &axis) {
    const Token word = lexer.peek();
    if (word.isWord("S") || word.isWord("S1")) {
      lexer.take();
      axis = split(0, word.text == "S" ? 0 : 1);
      return lexer.expect("(") && readPosition(dims, axis.position) && lexer.expect(")");
    }
    if (word.isWord("B"))
      axis = copied();
    else if (word.isWord("P"))
      axis = partial();
    else if (word.isWord("R"))
      axis = atRoot();
    else
      return lexer.unexpected("expected a placement: S(dim), B, P or R");
    lexer.take();
    return true;
  }

  bool readPosition(const std::vector<DimId> &dims, int &position) {
    const Token token = lexer.peek();
    if (token.isInteger()) {
      int64_t number = 0;
      if (!readCount(number))
        return false;
      if (number < static_cast<int64_t>(dims.size())) {
        position = static_cast<int>(number);
        return true;
      }
    } else if (token.isIdentifier()) {
      lexer.take();
      const auto found =
          llvm::find_if(dims, [&](DimId dim) { return tree.dim(dim).name == token.text; });
      if (found != dims.end()) {
        position = static_cast<int>(found - dims.begin());
        return true;
      }
    } else {
      return lexer.unexpected("expected a dim of the tensor");
    }
    diagnostics.error(token.start(), "the tensor has no dim '" + token.text + "'", token.range());
    return false;
  }

  bool readAxisSchedule(NodeId node, AxisSchedule &axis) {
    axis.storage = copied();
    if (lexer.takeIf("-"))
      return true;
    const Token name = lexer.peek();
    if (!name.isIdentifier())
      return lexer.unexpected("expected a loop dim, or '-' for none");
    lexer.take();
    for (DimId dim : tree.iterationDims(node))
      if (tree.dim(dim).name == name.text)
        axis.loopDim = dim;
    if (!axis.loopDim) {
      diagnostics.error(name.start(), "'" + name.text + "' is not a dim of this node",
                        name.range());
      return false;
    }
    const std::optional<Role> role = travellerOf(classOf(tree, node, *axis.loopDim));
    if (!role && !lexer.peek().is("("))
      return true;
    return lexer.expect("(") && readStorage(node, role, axis) && readMovement(axis) &&
           lexer.expect(")");
  }

  /// Reads `B=S(n)`: the traveller and how it is stored; or `R`, of what streams.
  bool readStorage(NodeId node, std::optional<Role> role, AxisSchedule &axis) {
    if (!role || lexer.peek().isWord("R")) {
      if (!lexer.peek().isWord("R"))
        return lexer.unexpected("expected 'R': along a dim of all three tensors they can stream");
      lexer.take();
      axis.storage = atRoot();
      if (!lexer.peek().isWord(name(Movement::Stream)))
        return lexer.unexpected("expected 'stream'");
      return true;
    }
    if (!lexer.peek().isWord(einsumc::name(*role)))
      return lexer.unexpected("expected '" + einsumc::name(*role) + "', which travels along '" +
                              tree.dim(*axis.loopDim).name + "'");
    lexer.take();
    if (!lexer.expect("=") || !readPlacement(dimsOf(tree, node, *role), axis.storage))
      return false;
    axis.storage.level = axis.storage.kind == AxisKind::Split ? 1 : 0;
    return true;
  }

  bool readMovement(AxisSchedule &axis) {
    for (const Movement movement : kMovements)
      if (lexer.peek().isWord(name(movement))) {
        lexer.take();
        axis.movement = movement;
        break;
      }
    if (!lexer.peek().isWord("pace")) {
      if (lexer.peek().isIdentifier() && !lexer.isAtLineStart())
        return lexer.unexpected("expected a movement (" + movementNames() + "), 'pace=' or ')'");
      return true;
    }
    lexer.take();
    return lexer.expect("=") && readCount(axis.pace);
  }

  /// Goes on with the next line, past at least one token since \p start.
  void skipLine(const char *start) {
    while (!lexer.peek().isEnd() && (!lexer.isAtLineStart() || lexer.peek().text.begin() == start))
      lexer.take();
  }

  unsigned errorsBefore; ///< before the lexer, which reports what it reads ahead
  Lexer lexer;
  Tree tree; ///< of one slice
  int64_t ranks;
  Diagnostics &diagnostics;
  PartialSchedule plan;
  std::set<std::pair<NodeId, bool>> seen;
};

} // namespace

std::optional<PartialSchedule> readPlan(llvm::StringRef text, const Tree &tree, int64_t ranks,
                                        Diagnostics &diagnostics) {
  return PlanParser(text, tree, ranks, diagnostics).run();
}

} // namespace einsumc
