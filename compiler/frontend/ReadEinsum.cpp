//===- ReadEinsum.cpp - NumPy's einsum notation to tree ---------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/ReadEinsum.h"

#include "compiler/frontend/FinishTree.h"
#include "compiler/frontend/Limits.h"
#include "compiler/frontend/ReadPath.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <array>
#include <utility>

namespace einsumc {

namespace {

/// The inputs and the dims of the result.
struct Subscripts {
  UnfinishedTree tree; ///< has the inputs
  std::vector<DimId> result;
  llvm::SMLoc resultWhere;
};

/// Splits the text into operands and result. Goes on after a mistake.
class SubscriptReader {
public:
  SubscriptReader(llvm::StringRef text, Diagnostics &diagnostics)
      : rest(text), diagnostics(diagnostics) {
    ids.fill(-1);
  }

  std::optional<Subscripts> run();

private:
  llvm::SMLoc here() const { return llvm::SMLoc::getFromPointer(rest.begin()); }
  void beginOperand(llvm::SMLoc where);
  std::size_t next();
  void comma();
  void arrow();
  void letter(char c);
  void operandLetter(char c, llvm::SMRange where);
  void resultLetter(char c, llvm::SMRange where);
  std::size_t notALetter();
  void implyResult();

  llvm::StringRef rest;
  Diagnostics &diagnostics;
  Subscripts subscripts;
  std::array<DimId, 128> ids{};             ///< of the letters; -1 before the first use
  std::array<int, 128> uses{};              ///< of the letters in the operands
  std::array<llvm::SMRange, 128> results{}; ///< of the letters in the result
  bool hasArrow = false;
};

std::optional<Subscripts> SubscriptReader::run() {
  unsigned errorsBefore = diagnostics.errors();
  if (rest.trim().empty())
    diagnostics.error(here(), "the einsum is empty");
  subscripts.resultWhere = here();
  beginOperand(here());
  while (!rest.empty() && subscripts.tree.nodes.size() <= kMaxFactors)
    rest = rest.drop_front(next());
  if (subscripts.tree.nodes.size() > kMaxFactors)
    diagnostics.error(here(), "an einsum has at most " + llvm::Twine(kMaxFactors) + " operands");
  if (!hasArrow)
    implyResult();
  if (diagnostics.errors() != errorsBefore)
    return std::nullopt;
  return std::move(subscripts);
}

void SubscriptReader::beginOperand(llvm::SMLoc where) {
  subscripts.tree.nodes.emplace_back().where = where;
}

/// Reads what comes next and returns its length.
std::size_t SubscriptReader::next() {
  char c = rest.front();
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
    return 1;
  if (llvm::isAlpha(c)) {
    letter(c);
    return 1;
  }
  if (c == ',') {
    comma();
    return 1;
  }
  if (rest.starts_with("->")) {
    arrow();
    return 2;
  }
  return notALetter();
}

void SubscriptReader::comma() {
  if (hasArrow) {
    diagnostics.error(here(), "an einsum has one result: no ',' stands behind '->'");
    return;
  }
  beginOperand(llvm::SMLoc::getFromPointer(rest.begin() + 1));
}

void SubscriptReader::arrow() {
  if (hasArrow)
    diagnostics.error(here(), "a second '->'");
  hasArrow = true;
  subscripts.resultWhere = here();
}

void SubscriptReader::letter(char c) {
  llvm::SMRange where(here(), llvm::SMLoc::getFromPointer(rest.begin() + 1));
  if (hasArrow)
    resultLetter(c, where);
  else
    operandLetter(c, where);
}

void SubscriptReader::operandLetter(char c, llvm::SMRange where) {
  auto index = static_cast<unsigned char>(c);
  std::vector<DimId> &dims = subscripts.tree.nodes.back().dims;
  if (dims.size() == kMaxRank) {
    diagnostics.error(subscripts.tree.nodes.back().where,
                      "a tensor has at most " + llvm::Twine(kMaxRank) + " dims");
    return;
  }
  if (ids[index] < 0) {
    ids[index] = static_cast<DimId>(subscripts.tree.labels.size());
    subscripts.tree.labels.push_back({std::string(1, c), where});
  }
  dims.push_back(ids[index]);
  ++uses[index];
}

void SubscriptReader::resultLetter(char c, llvm::SMRange where) {
  auto index = static_cast<unsigned char>(c);
  if (results[index].isValid()) {
    diagnostics.error(where.Start,
                      llvm::Twine("'") + llvm::Twine(c) + "' stands twice in the result", where);
    diagnostics.note(results[index].Start, "first here", results[index]);
    return;
  }
  results[index] = where;
  if (ids[index] < 0)
    diagnostics.error(
        where.Start, llvm::Twine("'") + llvm::Twine(c) + "' of the result is in no operand", where);
  else
    subscripts.result.push_back(ids[index]);
}

std::size_t SubscriptReader::notALetter() {
  if (rest.starts_with("...")) {
    diagnostics.error(here(), "'...' is not supported; write a letter for each dim it stands for");
    return 3;
  }
  std::size_t length =
      rest.take_while([](char c) { return (static_cast<unsigned char>(c) & 0x80U) != 0; }).size();
  diagnostics.error(here(), length == 0 ? "the dims of an einsum are letters, A-Z and a-z"
                                        : "the dims of an einsum are letters, A-Z and a-z; an .ein "
                                          "file has names for more of them");
  return std::max<std::size_t>(length, 1);
}

/// NumPy's rule: the letters that appear once, sorted.
void SubscriptReader::implyResult() {
  for (std::size_t letter = 0; letter < uses.size(); ++letter)
    if (uses[letter] == 1)
      subscripts.result.push_back(ids[letter]);
}

/// Multiplies tensors in the order of a path.
class Contraction {
public:
  explicit Contraction(Subscripts subscripts);

  void multiply(const PathStep &step);
  UnfinishedTree finish() &&;

private:
  const std::vector<DimId> &dimsOf(NodeId id) const {
    return tree.nodes[static_cast<std::size_t>(id)].dims;
  }
  void append(NodeId id);
  std::vector<NodeId> remove(const PathStep &step);
  std::vector<DimId> neededDims(const std::vector<NodeId> &factors) const;
  NodeId addNode(std::vector<DimId> dims, const std::vector<NodeId> &factors, llvm::SMLoc where);

  UnfinishedTree tree;
  std::vector<DimId> result;
  llvm::SMLoc resultWhere;
  std::vector<NodeId> list; ///< what is still to be multiplied
  std::vector<int> uses;    ///< of each dim in the list and the result
  bool isDone = false;      ///< the last node is the result
};

Contraction::Contraction(Subscripts subscripts)
    : tree(std::move(subscripts.tree)), result(std::move(subscripts.result)),
      resultWhere(subscripts.resultWhere), uses(tree.labels.size()) {
  for (std::size_t id = 0; id < tree.nodes.size(); ++id)
    append(static_cast<NodeId>(id));
  for (DimId dim : result)
    ++uses[static_cast<std::size_t>(dim)];
}

void Contraction::multiply(const PathStep &step) {
  std::vector<NodeId> factors = remove(step);
  isDone = list.empty();
  append(addNode(isDone ? result : neededDims(factors), factors, step.where));
}

UnfinishedTree Contraction::finish() && {
  if (!isDone)
    addNode(result, list, resultWhere);
  return std::move(tree);
}

void Contraction::append(NodeId id) {
  for (DimId dim : dimsOf(id))
    ++uses[static_cast<std::size_t>(dim)];
  list.push_back(id);
}

/// Takes the factors of a step off the list, in the order in which the step names them.
std::vector<NodeId> Contraction::remove(const PathStep &step) {
  std::vector<NodeId> removed;
  removed.reserve(step.positions.size());
  for (const PathStep::Position &position : step.positions)
    removed.push_back(std::exchange(list[position.value], -1));
  llvm::erase(list, -1);
  for (NodeId id : removed)
    for (DimId dim : dimsOf(id))
      --uses[static_cast<std::size_t>(dim)];
  return removed;
}

/// The dims of factors that the list or the result has, too.
std::vector<DimId> Contraction::neededDims(const std::vector<NodeId> &factors) const {
  std::vector<DimId> needed;
  for (NodeId id : factors)
    for (DimId dim : dimsOf(id))
      if (uses[static_cast<std::size_t>(dim)] > 0 && !llvm::is_contained(needed, dim))
        needed.push_back(dim);
  return needed;
}

NodeId Contraction::addNode(std::vector<DimId> dims, const std::vector<NodeId> &factors,
                            llvm::SMLoc where) {
  Node node;
  node.kind = factors.size() == 1 ? NodeKind::Unary : NodeKind::Product;
  node.dims = std::move(dims);
  for (NodeId id : factors)
    node.operands.push_back({id, dimsOf(id)});
  node.where = where;
  tree.nodes.push_back(std::move(node));
  return static_cast<NodeId>(tree.nodes.size() - 1);
}

} // namespace

std::optional<Tree> readEinsum(llvm::StringRef einsum, llvm::StringRef sizes,
                               std::optional<llvm::StringRef> path, ElementType type,
                               Diagnostics &diagnostics) {
  std::optional<Subscripts> subscripts =
      SubscriptReader(diagnostics.addText("<--einsum>", einsum), diagnostics).run();
  if (!subscripts)
    return std::nullopt;
  std::optional<std::vector<PathStep>> steps =
      readPath(path.value_or(""), subscripts->tree.nodes.size(), diagnostics);
  if (!steps)
    return std::nullopt;
  Contraction contraction(std::move(*subscripts));
  for (const PathStep &step : *steps)
    contraction.multiply(step);
  return finishTree(std::move(contraction).finish(), sizes, type, diagnostics);
}

} // namespace einsumc
