//===- DropUnused.cpp - tensors that no output needs ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/DropUnused.h"

namespace einsumc {

namespace {

/// By node: whether an output is computed from it, or is it.
std::vector<bool> neededNodes(const std::vector<Node> &nodes) {
  std::vector<bool> isNeeded(nodes.size());
  for (std::size_t id = nodes.size(); id-- > 0;) {
    isNeeded[id] = isNeeded[id] || nodes[id].isOutput;
    if (isNeeded[id])
      for (const Operand &operand : nodes[id].operands)
        isNeeded[static_cast<std::size_t>(operand.node)] = true;
  }
  return isNeeded;
}

void warn(const std::vector<Node> &nodes, const std::vector<bool> &isNeeded,
          const std::vector<bool> &isWritten, Diagnostics &diagnostics) {
  constexpr std::size_t kMaxWarnings = 20;
  std::vector<bool> hasUser(nodes.size());
  for (const Node &node : nodes)
    for (const Operand &operand : node.operands)
      hasUser[static_cast<std::size_t>(operand.node)] = true;
  std::vector<std::size_t> unused;
  for (std::size_t id = 0; id < nodes.size(); ++id)
    if (!isNeeded[id] && isWritten[id])
      unused.push_back(id);
  for (std::size_t i = 0; i < unused.size(); ++i) {
    const Node &node = nodes[unused[i]];
    if (i == kMaxWarnings) {
      diagnostics.warning(node.where, "this and " + llvm::Twine(unused.size() - i - 1) +
                                          " more tensors are left out: no output needs them");
      return;
    }
    const char *kind = node.kind == NodeKind::Input ? "input '" : "tensor '";
    const char *why = hasUser[unused[i]] ? "' is left out: no output needs it"
                                         : "' is left out: it is never used";
    diagnostics.warning(node.where, kind + node.name + why);
  }
}

} // namespace

std::vector<Node> dropUnused(std::vector<Node> nodes, const std::vector<bool> &isWritten,
                             Diagnostics &diagnostics) {
  const std::vector<bool> isNeeded = neededNodes(nodes);
  warn(nodes, isNeeded, isWritten, diagnostics);
  std::vector<NodeId> renumbered(nodes.size());
  std::vector<Node> kept;
  for (std::size_t id = 0; id < nodes.size(); ++id) {
    if (!isNeeded[id])
      continue;
    renumbered[id] = static_cast<NodeId>(kept.size());
    for (Operand &operand : nodes[id].operands)
      operand.node = renumbered[static_cast<std::size_t>(operand.node)];
    kept.push_back(std::move(nodes[id]));
  }
  return kept;
}

} // namespace einsumc
