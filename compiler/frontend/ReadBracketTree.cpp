//===- ReadBracketTree.cpp - bracket notation to tree -----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/ReadBracketTree.h"

#include "compiler/frontend/FinishTree.h"
#include "compiler/frontend/Limits.h"
#include "compiler/frontend/Names.h"
#include "compiler/support/Lexer.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace einsumc {

namespace {

/// A recursive descent parser, which gives up after the first mistake in the brackets but goes on
/// after one in the dims. Functions that return bool return false in the first case.
class Parser {
public:
  Parser(llvm::StringRef text, Diagnostics &diagnostics)
      : errorsBefore(diagnostics.errors()), lexer(text, diagnostics, Lexer::Comments::None),
        diagnostics(diagnostics) {}

  std::optional<UnfinishedTree> run();

private:
  bool treeOrOperand(std::vector<Operand> &users, int depth);
  bool operand(std::vector<Operand> &users, int depth);
  bool result(std::vector<Operand> operands, std::vector<Operand> &users);
  bool dimList(std::vector<Token> &dims);
  bool close(llvm::SMLoc open, const char *expected);
  void checkResult(const Node &node, const std::vector<Token> &names);
  bool labelDims(const std::vector<Token> &names, std::vector<DimId> &dims);
  bool addNode(Node node, std::vector<Operand> &users);

  unsigned errorsBefore; ///< before the lexer, which reports what it reads ahead
  Lexer lexer;
  Diagnostics &diagnostics;
  UnfinishedTree tree;
  llvm::StringMap<DimId> labelIds;
};

std::optional<UnfinishedTree> Parser::run() {
  std::vector<Operand> top;
  if (treeOrOperand(top, /*depth=*/0)) {
    if (!lexer.peek().isEnd())
      lexer.unexpected("expected the end of the tree");
    else if (tree.nodes.back().kind == NodeKind::Input)
      lexer.unexpected("expected ',' or '->': a tree has a result");
  }
  if (diagnostics.errors() != errorsBefore)
    return std::nullopt;
  return std::move(tree);
}

/// A tree, or an operand without a result (brackets around brackets mean nothing). It becomes an
/// operand of \p users.
bool Parser::treeOrOperand(std::vector<Operand> &users, int depth) {
  std::vector<Operand> operands;
  if (!operand(operands, depth))
    return false;
  bool isAlone = !lexer.takeIf(",");
  if (isAlone && !lexer.peek().is("->")) {
    users.push_back(std::move(operands.front()));
    return true;
  }
  if (!isAlone && !operand(operands, depth))
    return false;
  if (lexer.peek().is(","))
    return lexer.unexpected("a node has at most two operands; '[[a],[b]->[c]],[d]->[e]' has three "
                            "in two nodes");
  return lexer.expect("->") && result(std::move(operands), users);
}

bool Parser::operand(std::vector<Operand> &users, int depth) {
  llvm::SMLoc open = lexer.peek().start();
  if (!lexer.expect("["))
    return false;
  if (lexer.peek().is("[")) {
    if (depth == kMaxNesting)
      return lexer.unexpected("brackets nest more than " + llvm::Twine(kMaxNesting) + " deep");
    return treeOrOperand(users, depth + 1) && close(open, "expected ',', '->' or ']'");
  }
  Node leaf;
  leaf.where = open;
  std::vector<Token> names;
  return dimList(names) && close(open, "expected ',' or ']'") && labelDims(names, leaf.dims) &&
         addNode(std::move(leaf), users);
}

/// What follows the arrow.
bool Parser::result(std::vector<Operand> operands, std::vector<Operand> &users) {
  Node node;
  node.where = lexer.peek().start();
  node.kind = operands.size() == 1 ? NodeKind::Unary : NodeKind::Product;
  node.operands = std::move(operands);
  std::vector<Token> names;
  if (!lexer.expect("[") || !dimList(names) || !close(node.where, "expected ',' or ']'") ||
      !labelDims(names, node.dims))
    return false;
  checkResult(node, names);
  return addNode(std::move(node), users);
}

bool Parser::dimList(std::vector<Token> &dims) {
  if (lexer.peek().is("]"))
    return true;
  do {
    if (dims.size() == kMaxRank)
      return lexer.unexpected("a tensor has at most " + llvm::Twine(kMaxRank) + " dims");
    if (!lexer.peek().isInteger() && !lexer.peek().isIdentifier())
      return lexer.unexpected("expected a dim, a number or a name");
    dims.push_back(lexer.take());
  } while (lexer.takeIf(","));
  return true;
}

bool Parser::close(llvm::SMLoc open, const char *expected) {
  if (lexer.takeIf("]"))
    return true;
  if (lexer.peek().kind != Token::Kind::Invalid) {
    lexer.unexpected(expected);
    diagnostics.note(open, "to match this '['");
  }
  return false;
}

/// Reports dims of a result that stand there twice or that no operand has.
void Parser::checkResult(const Node &node, const std::vector<Token> &names) {
  llvm::SmallDenseSet<DimId> known;
  for (const Operand &operand : node.operands)
    known.insert(operand.dims.begin(), operand.dims.end());
  llvm::SmallDenseMap<DimId, const Token *> seen;
  for (std::size_t d = 0; d < names.size(); ++d) {
    const Token &name = names[d];
    auto [first, isNew] = seen.try_emplace(node.dims[d], &name);
    if (!isNew) {
      diagnostics.error(name.start(), "dim '" + name.text + "' stands twice in a result",
                        name.range());
      diagnostics.note(first->second->start(), "first here", first->second->range());
    } else if (!known.contains(node.dims[d])) {
      diagnostics.error(name.start(), "dim '" + name.text + "' of the result is in no operand",
                        name.range());
    }
  }
}

bool Parser::labelDims(const std::vector<Token> &names, std::vector<DimId> &dims) {
  for (const Token &name : names) {
    llvm::StringRef label = name.isInteger() ? withoutLeadingZeros(name.text) : name.text;
    auto [id, isNew] = labelIds.try_emplace(label, static_cast<DimId>(tree.labels.size()));
    if (isNew)
      tree.labels.push_back({label.str(), name.range()});
    dims.push_back(id->second);
  }
  if (tree.labels.size() <= kMaxDims)
    return true;
  diagnostics.error(names.back().start(), "a tree has at most " + llvm::Twine(kMaxDims) + " dims");
  return false;
}

/// Adds the node to the tree and a use of it to \p users.
bool Parser::addNode(Node node, std::vector<Operand> &users) {
  if (tree.nodes.size() == kMaxTensors) {
    diagnostics.error(node.where, "a tree has at most " + llvm::Twine(kMaxTensors) + " tensors");
    return false;
  }
  users.push_back({static_cast<NodeId>(tree.nodes.size()), node.dims});
  tree.nodes.push_back(std::move(node));
  return true;
}

} // namespace

std::optional<Tree> readBracketTree(llvm::StringRef tree, llvm::StringRef sizes, ElementType type,
                                    Diagnostics &diagnostics) {
  std::optional<UnfinishedTree> unfinished =
      Parser(diagnostics.addText("<--tree>", tree), diagnostics).run();
  if (!unfinished)
    return std::nullopt;
  return finishTree(std::move(*unfinished), sizes, type, diagnostics);
}

} // namespace einsumc
