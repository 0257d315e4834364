//===- TreeEditor.cpp - builds a tree from another with nodes put in between ------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/order/TreeEditor.h"

#include "compiler/support/Text.h"

namespace einsumc {

TreeEditor::TreeEditor(const Tree &source) : type(source.elementType()), dims(source.dims()) {
  for (const Node &node : source.nodes())
    names.insert(node.name);
}

Node TreeEditor::renumbered(const Node &source) const {
  Node node = source;
  for (Operand &operand : node.operands)
    operand.node = newIds[static_cast<std::size_t>(operand.node)];
  return node;
}

void TreeEditor::add(Node node) {
  newIds.push_back(static_cast<NodeId>(nodes.size()));
  nodes.push_back(std::move(node));
}

NodeId TreeEditor::addFresh(NodeKind kind, const Node &origin, std::vector<DimId> nodeDims,
                            std::vector<Operand> operands) {
  Node node;
  node.kind = kind;
  node.name = uniqueName(origin.name, names); // taken by the origin itself: T_1, T_2, ...
  node.dims = std::move(nodeDims);
  node.operands = std::move(operands);
  node.where = origin.where;
  nodes.push_back(std::move(node));
  return static_cast<NodeId>(nodes.size()) - 1;
}

Tree TreeEditor::finish() { return Tree::make(type, std::move(dims), std::move(nodes)); }

} // namespace einsumc
