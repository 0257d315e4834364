//===- NodeScope.h - the constants and variables of one emitted node --------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_CODEGEN_NODESCOPE_H
#define EINSUMC_CODEGEN_NODESCOPE_H

#include "compiler/lower/Lower.h"

#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace einsumc {

/// Declares the local extents of a node's fused dims and its tensors' strides along them, as
/// constants where they are the same on every rank and in every step, and knows their names. What
/// is not constant comes from the rank's work and tensors, or, in the steps of a loop, from
/// `shape`, a step like those to come; where a step's work begins, from `step`.
class NodeScope {
public:
  NodeScope(const Tree &tree, const LoweredProgram &program, const LoweredNode &node);

  /// Emits the declarations of what has been used so far as members of the node's struct.
  void emitMembers(llvm::raw_ostream &out) const;

  /// The dims of the nest, or the loops of a unary node.
  const std::vector<FusedDim> &dims() const { return fused; }
  /// The variable with the local extent of a fused dim.
  const std::string &extent(std::size_t dim);
  /// The step of a role's tensor along a fused dim: a variable, a literal, or `0` if it lacks it.
  std::string stride(Role role, std::size_t dim);
  /// The address of a role's first element that the node works on.
  std::string origin(Role role) const;
  /// The block that holds a role's elements.
  std::string block(Role role) const;
  /// Whether the node computes in steps.
  bool isStepping() const { return node.stepping.has_value(); }
  /// A name like `i_b` for a fused dim, unique in the node.
  std::string fresh(const std::string &prefix, std::size_t dim);
  /// A name unique in the node.
  std::string fresh(const std::string &name);
  /// The constant extent of a fused dim, if it is the same on all ranks.
  std::optional<int64_t> constantExtent(std::size_t dim) const;

  const TensorBuffer &buffer(Role role) const;
  const ComputeShape &shape() const { return node.shape; }

private:
  struct Constant {
    std::string name, declaration;
    bool isUsed = false;
  };
  void declareExtents();
  void declareStrides(Role role);
  const ComputeShape::Block &shapeOf(Role role) const;
  std::string fusedName(std::size_t dim) const;

  const Tree &tree;
  const LoweredProgram &program;
  const LoweredNode &node;
  std::vector<FusedDim> fused;
  std::vector<Constant> extents; ///< by dim
  std::map<std::pair<Role, std::size_t>, Constant> strides;
  std::set<std::string> names;
};

} // namespace einsumc

#endif // EINSUMC_CODEGEN_NODESCOPE_H
