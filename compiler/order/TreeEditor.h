//===- TreeEditor.h - builds a tree from another with nodes put in between --------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_ORDER_TREEEDITOR_H
#define EINSUMC_ORDER_TREEEDITOR_H

#include "compiler/ir/Tree.h"

#include <set>
#include <string>
#include <vector>

namespace einsumc {

/// Copies the nodes of a tree one by one into a new tree, where a pass may add nodes of its own
/// before each; operands are renumbered on the way.
class TreeEditor {
public:
  explicit TreeEditor(const Tree &source);

  /// The source's node with its operands as they are numbered in the new tree.
  Node renumbered(const Node &source) const;
  /// Appends the next of the source's nodes, edited.
  void add(Node node);
  /// Appends a node that the source did not have, named after \p origin, whose place it gets.
  NodeId addFresh(NodeKind kind, const Node &origin, std::vector<DimId> dims,
                  std::vector<Operand> operands);
  /// The new tree; the editor is spent.
  Tree finish();

private:
  ElementType type;
  std::vector<Dim> dims;
  std::vector<Node> nodes;
  std::vector<NodeId> newIds; ///< of the source's nodes, as far as added
  std::set<std::string> names;
};

} // namespace einsumc

#endif // EINSUMC_ORDER_TREEEDITOR_H
