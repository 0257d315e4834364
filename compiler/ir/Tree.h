//===- Tree.h - an einsum tree (a DAG of inputs, unary nodes and products) --------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_IR_TREE_H
#define EINSUMC_IR_TREE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SMLoc.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace einsumc {

/// Index into Tree::dims.
using DimId = int;
/// Index into Tree::nodes.
using NodeId = int;

enum class ElementType : uint8_t { F32, F64 };

/// `f32`, `f64`.
llvm::StringRef name(ElementType type);
std::optional<ElementType> elementTypeFromName(llvm::StringRef name);
int64_t sizeInBytes(ElementType type);

/// A named index with an extent of at least 1. Names are identifiers ([A-Za-z_][A-Za-z0-9_]*).
struct Dim {
  std::string name;
  int64_t extent = 1;
  bool operator==(const Dim &) const = default;
};

/// A use of a tensor: the dims that this use gives to the tensor's positions (dims may repeat: a
/// diagonal; they may differ in name, not in extent, from those of the definition).
struct Operand {
  NodeId node = 0;
  std::vector<DimId> dims;
  bool operator==(const Operand &) const = default;
};

enum class NodeKind : uint8_t {
  Input,   ///< no operands
  Unary,   ///< one operand: permutes, takes diagonals, sums
  Product, ///< two operands or more; exactly two (a contraction) once ordered
};

/// Where the user wants an input or output to lie on the ranks.
struct Pin {
  enum class Kind : uint8_t { Free, Split, Root };
  Kind kind = Kind::Free;
  int position = 0; ///< for Split: the position that is cut over all ranks
  bool operator==(const Pin &) const = default;
};

/// A tensor and how it comes about. The value is the sum, over all dims of the operands that
/// `dims` lacks, of the product of the operands.
struct Node {
  NodeKind kind = NodeKind::Input;
  std::string name; ///< an identifier, unique in the tree
  /// The dims of the positions, in storage order (the last is the fastest). Distinct, except that
  /// an input may repeat a dim (a square matrix declared as A[i,i]).
  std::vector<DimId> dims;
  std::vector<Operand> operands;
  bool isOutput = false;
  Pin pin; ///< of an input or an output
  /// Where the node was defined, for diagnostics of later stages; not part of its value.
  llvm::SMLoc where;

  bool operator==(const Node &other) const {
    return kind == other.kind && name == other.name && dims == other.dims &&
           operands == other.operands && isOutput == other.isOutput && pin == other.pin;
  }
};

/// An immutable einsum tree: nodes in an order in which operands come before their users. Its
/// text form is the .ein language (`print`), whose parser is the frontend's.
class Tree {
public:
  Tree() = default;
  /// \pre the parts are consistent: `check(dims, nodes)` returns no text.
  static Tree make(ElementType type, std::vector<Dim> dims, std::vector<Node> nodes);
  /// The first rule that the parts break, in words; empty if they make a tree.
  static std::string check(const std::vector<Dim> &dims, const std::vector<Node> &nodes);

  ElementType elementType() const { return type; }
  const std::vector<Dim> &dims() const { return allDims; }
  const std::vector<Node> &nodes() const { return allNodes; }
  const Dim &dim(DimId id) const { return allDims[static_cast<std::size_t>(id)]; }
  const Node &node(NodeId id) const { return allNodes[static_cast<std::size_t>(id)]; }
  NodeId size() const { return static_cast<NodeId>(allNodes.size()); }
  /// The node of that name, if any.
  std::optional<NodeId> find(llvm::StringRef name) const;

  /// Whether every product has two operands and every dim of a product's operand is distinct
  /// there and in the result or the other operand: what the planner and later stages expect.
  bool isBinary() const;
  /// Extents of a node's positions.
  std::vector<int64_t> extents(NodeId id) const;
  /// Elements of a node; checked to fit 64 bits in bytes by `check`.
  int64_t elements(NodeId id) const;
  /// All dims that a node's computation iterates over: those of the result, then the summed ones
  /// in the order in which the operands have them.
  const std::vector<DimId> &iterationDims(NodeId id) const {
    return allIterations[static_cast<std::size_t>(id)];
  }
  /// Multiplications and additions of a node: for a product of n operands n times its iterations,
  /// for a unary that sums one addition an element, otherwise 0.
  double flops(NodeId id) const;

  bool operator==(const Tree &) const = default;

private:
  ElementType type = ElementType::F32;
  std::vector<Dim> allDims;
  std::vector<Node> allNodes;
  std::vector<std::vector<DimId>> allIterations; ///< by node: iterationDims
};

/// The product of extents times \p elementBytes, or nothing if it exceeds 2^63 - 1.
std::optional<int64_t> checkedBytes(const std::vector<int64_t> &extents, int64_t elementBytes);

/// `T[b,r,s]`: a node or an operand as the language writes it.
std::string tensorText(const Tree &tree, llvm::StringRef name, const std::vector<DimId> &dims);
/// `T[b,r,s] = X[b,i] * U[r,i,s]`
std::string equationText(const Tree &tree, NodeId id);
/// Prints the tree as .ein text, from which the frontend reads an equal tree.
/// \param comment what to write behind a node as a comment of one line, if anything
void print(const Tree &tree, llvm::raw_ostream &stream,
           llvm::function_ref<std::string(NodeId)> comment = {});

} // namespace einsumc

#endif // EINSUMC_IR_TREE_H
