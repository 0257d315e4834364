//===- Slices.cpp - dims that a tree is evaluated along part by part --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Slices.h"

#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace einsumc {

namespace {

/// A use of a tensor by a node.
struct TensorUse {
  NodeId user = 0;
  const std::vector<DimId> *dims = nullptr;
};

std::optional<TensorUse> firstUse(const Tree &tree, NodeId tensor) {
  for (NodeId id = tensor + 1; id < tree.size(); ++id)
    for (const Operand &operand : tree.node(id).operands)
      if (operand.node == tensor)
        return TensorUse{id, &operand.dims};
  return std::nullopt;
}

/// The dims that decide which positions of a tensor are cut: those of its definition, but of an
/// input, whose parts can be had as its users want them, those of its first use.
const std::vector<DimId> &decidingDims(const Tree &tree, NodeId tensor) {
  if (tree.node(tensor).kind == NodeKind::Input)
    if (const std::optional<TensorUse> use = firstUse(tree, tensor))
      return *use->dims;
  return tree.node(tensor).dims;
}

/// What every node's values in the slices along one dim make together.
class RolesAlong {
public:
  RolesAlong(const Tree &tree, DimId dim) : tree(tree), dim(dim) {}

  /// Finds the roles; what is wrong, if anything.
  std::string run() {
    bool isIteratedOver = false;
    for (NodeId id = 0; id < tree.size(); ++id) {
      if (tree.node(id).kind == NodeKind::Input) {
        roles.push_back(llvm::is_contained(decidingDims(tree, id), dim) ? SliceRole::Fills
                                                                        : SliceRole::Same);
        continue;
      }
      if (std::string problem = visit(id); !problem.empty())
        return problem;
      isIteratedOver = isIteratedOver || llvm::is_contained(tree.iterationDims(id), dim);
    }
    return isIteratedOver ? "" : "no node is computed along '" + dimName() + "'";
  }

  SliceRole role(NodeId id) const { return roles[static_cast<std::size_t>(id)]; }

private:
  const std::string &dimName() const { return tree.dim(dim).name; }

  std::string visit(NodeId id) {
    const Node &node = tree.node(id);
    const bool iterates = llvm::is_contained(tree.iterationDims(id), dim);
    std::optional<NodeId> sum;
    for (const Operand &operand : node.operands) {
      if (std::string problem = checkUse(id, operand); !problem.empty())
        return problem;
      if (role(operand.node) != SliceRole::Adds)
        continue;
      if (sum || iterates)
        return "'" + node.name + "' multiplies '" + tree.node(operand.node).name +
               "', a sum over '" + dimName() + "', by what depends on '" + dimName() +
               "' as well: it needs the whole sum, not a slice's part of it";
      sum = operand.node;
    }
    if (sum)
      roles.push_back(SliceRole::Adds);
    else if (!iterates)
      roles.push_back(SliceRole::Same);
    else
      roles.push_back(llvm::is_contained(node.dims, dim) ? SliceRole::Fills : SliceRole::Adds);
    return {};
  }

  /// Whether a use wants those parts of a tensor that there are in a slice.
  std::string checkUse(NodeId user, const Operand &operand) const {
    const std::vector<DimId> &deciding = decidingDims(tree, operand.node);
    for (std::size_t p = 0; p < deciding.size(); ++p)
      if ((deciding[p] == dim) != (operand.dims[p] == dim))
        return describeMismatch(user, operand);
    return {};
  }

  std::string describeMismatch(NodeId user, const Operand &operand) const {
    const Node &tensor = tree.node(operand.node);
    std::string other = "computed as " + tensorText(tree, tensor.name, tensor.dims);
    if (tensor.kind == NodeKind::Input)
      if (const std::optional<TensorUse> use = firstUse(tree, operand.node))
        other = "used as " + tensorText(tree, tensor.name, *use->dims) + " for '" +
                tree.node(use->user).name + "'";
    return "'" + tree.node(user).name + "' uses " + tensorText(tree, tensor.name, operand.dims) +
           ", which is " + other + ": a slice along '" + dimName() +
           "' would need different parts of '" + tensor.name + "'";
  }

  const Tree &tree;
  DimId dim;
  std::vector<SliceRole> roles; ///< by NodeId
};

/// The smallest divisor of an extent above a number, or the extent; of huge extents one above it.
int64_t nextDivisor(int64_t of, int64_t above) {
  constexpr int64_t kMostTries = int64_t{1} << 20;
  int64_t next = of;
  for (int64_t low = 1; low <= std::min(of / low, kMostTries); ++low)
    if (of % low == 0)
      for (const int64_t divisor : {low, of / low})
        if (divisor > above)
          next = std::min(next, divisor);
  return next;
}

/// What is wrong with one slice by itself.
std::string checkSlice(const Tree &tree, const Slice &slice) {
  if (slice.dim < 0 || slice.dim >= static_cast<DimId>(tree.dims().size()))
    return "there is no such dim to slice";
  const Dim &dim = tree.dim(slice.dim);
  if (dim.extent == 1)
    return "'" + dim.name + "' has extent 1: there is nothing to slice";
  if (slice.parts < 2)
    return "'" + dim.name + "' must be sliced into at least 2 parts";
  if (dim.extent % slice.parts != 0)
    return std::to_string(slice.parts) + " parts do not divide the extent " +
           std::to_string(dim.extent) + " of '" + dim.name + "'; " +
           std::to_string(nextDivisor(dim.extent, slice.parts)) + " do";
  return {};
}

bool isSlicedTwice(const Slices &slices) {
  for (std::size_t s = 0; s < slices.size(); ++s)
    for (std::size_t other = 0; other < s; ++other)
      if (slices[s].dim == slices[other].dim)
        return true;
  return false;
}

/// How the dims relate to the tree; each slice by itself is fine.
std::string checkRoles(const Tree &tree, const Slices &slices) {
  int64_t count = 1;
  for (const Slice &slice : slices) {
    if (__builtin_mul_overflow(count, slice.parts, &count) ||
        count > std::numeric_limits<int32_t>::max())
      return "there are more than 2^31 slices";
    if (std::string problem = RolesAlong(tree, slice.dim).run(); !problem.empty())
      return problem;
  }
  return {};
}

} // namespace

std::vector<int64_t> partsOf(const Slices &slices) {
  std::vector<int64_t> parts;
  for (const Slice &slice : slices)
    parts.push_back(slice.parts);
  return parts;
}

int64_t countSlices(const Slices &slices) { return countSlices(partsOf(slices)); }

std::string checkSlices(const Tree &tree, const Slices &slices) {
  for (const Slice &slice : slices)
    if (std::string problem = checkSlice(tree, slice); !problem.empty())
      return problem;
  if (isSlicedTwice(slices))
    return "a dim is sliced twice";
  return checkRoles(tree, slices);
}

Tree slicedTree(const Tree &tree, const Slices &slices) {
  if (slices.empty())
    return tree;
  std::vector<Dim> dims = tree.dims();
  for (const Slice &slice : slices)
    dims[static_cast<std::size_t>(slice.dim)].extent /= slice.parts;
  auto isSliced = [&](DimId dim) {
    return llvm::any_of(slices, [&](const Slice &slice) { return slice.dim == dim; });
  };
  std::vector<Node> nodes = tree.nodes();
  for (NodeId id = 0; id < tree.size(); ++id) {
    Node &node = nodes[static_cast<std::size_t>(id)];
    const std::vector<DimId> &deciding = decidingDims(tree, id);
    for (std::size_t p = 0; p < node.dims.size(); ++p)
      if (isSliced(node.dims[p]) || isSliced(deciding[p]))
        node.dims[p] = deciding[p];
  }
  return Tree::make(tree.elementType(), std::move(dims), std::move(nodes));
}

std::vector<SliceRole> sliceRoles(const Tree &tree, const Slices &slices, NodeId node) {
  std::vector<SliceRole> result;
  for (const Slice &slice : slices) {
    RolesAlong roles(tree, slice.dim);
    roles.run();
    result.push_back(roles.role(node));
  }
  return result;
}

std::string slicesText(const Tree &tree, const Slices &slices) {
  std::vector<std::string> texts;
  for (const Slice &slice : slices)
    texts.push_back(tree.dim(slice.dim).name + "=" + std::to_string(slice.parts));
  return join(texts, ", ");
}

std::string describeSlices(const Tree &tree, const Slices &slices) {
  std::vector<std::string> texts;
  for (const Slice &slice : slices)
    texts.push_back(tree.dim(slice.dim).name + " in " + std::to_string(slice.parts) + " parts of " +
                    std::to_string(tree.dim(slice.dim).extent));
  return join(texts, ", ");
}

namespace {

class SliceParser {
public:
  SliceParser(Lexer &lexer, const Tree &tree, Diagnostics &diagnostics)
      : lexer(lexer), tree(tree), diagnostics(diagnostics) {}

  std::optional<Slices> run() {
    const Token first = lexer.peek();
    do {
      if (!readSlice())
        return std::nullopt;
    } while (lexer.takeIf(","));
    if (!lexer.peek().isEnd() && !lexer.isAtLineStart()) {
      lexer.unexpected("expected ',' or the end of the line");
      return std::nullopt;
    }
    if (std::string problem = checkRoles(tree, slices); !problem.empty()) {
      diagnostics.error(first.start(), problem);
      return std::nullopt;
    }
    return std::move(slices);
  }

private:
  bool readSlice() {
    const Token name = lexer.peek();
    if (!name.isIdentifier())
      return lexer.unexpected("expected a dim to slice");
    lexer.take();
    const auto dim =
        llvm::find_if(tree.dims(), [&](const Dim &each) { return each.name == name.text; });
    if (dim == tree.dims().end())
      return error(name, "the tree has no dim '" + name.text.str() + "'");
    slices.push_back({static_cast<DimId>(dim - tree.dims().begin()), 2});
    if (isSlicedTwice(slices))
      return error(name, "'" + name.text.str() + "' is sliced twice");
    if (!lexer.expect("="))
      return false;
    const Token parts = lexer.peek();
    if (!parts.isInteger())
      return lexer.unexpected("expected a number of parts");
    lexer.take();
    if (parts.text.getAsInteger(10, slices.back().parts))
      return error(parts, "the number does not fit 64 bits");
    const std::string problem = checkSlice(tree, slices.back());
    return problem.empty() || error(parts, problem);
  }

  bool error(const Token &token, const std::string &message) {
    diagnostics.error(token.start(), message, token.range());
    return false;
  }

  Lexer &lexer;
  const Tree &tree;
  Diagnostics &diagnostics;
  Slices slices;
};

} // namespace

std::optional<Slices> readSlices(Lexer &lexer, const Tree &tree, Diagnostics &diagnostics) {
  return SliceParser(lexer, tree, diagnostics).run();
}

} // namespace einsumc
