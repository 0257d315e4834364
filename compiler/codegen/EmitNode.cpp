//===- EmitNode.cpp - the C++ of one node -----------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/codegen/EmitNode.h"

#include "compiler/codegen/EmitNest.h"
#include "compiler/codegen/NodeScope.h"
#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <set>
#include <utility>
#include <vector>

namespace einsumc {

std::string cppType(ElementType type) { return type == ElementType::F32 ? "float" : "double"; }

std::string tensorName(const TensorBuffer &buffer) { return "tensor_" + buffer.name; }
std::string layoutName(const TensorBuffer &buffer) { return "layout_" + buffer.name; }
std::string workName(const Tree &tree, NodeId node) { return "work_" + tree.node(node).name; }
std::string computeName(const Tree &tree, NodeId node) { return "Compute_" + tree.node(node).name; }

std::string steppingName(const Tree &tree, NodeId node) {
  return "stepping_" + tree.node(node).name;
}
std::string placeName(const TensorBuffer &buffer) { return "place_" + buffer.name; }

std::string traceSpan(const std::string &activity) {
  return "const ec::TraceSpan span = session.span(ec::Activity::" + activity + ");\n";
}

namespace {

/// `X: S(b), U: B -> T: S(b)`: how a rank has the tensors while it computes.
std::string placementsText(const Tree &tree, const NodeSchedule &on, const LoweredNode &node) {
  std::vector<std::string> parts;
  for (const Role role : rolesOf(tree, node.node)) {
    const NodeId tensor = tensorOf(tree, node.node, role);
    parts.push_back(tree.node(tensor).name + ": " +
                    placementText(tree, tensor, workPlacement(tree, node.node, on, role)));
  }
  const std::string result = parts.back();
  parts.pop_back();
  return join(parts, ", ") + " -> " + result;
}

/// The body of a unary node: one call of the runtime.
void emitUnary(const Tree &tree, NodeScope &scope, llvm::raw_ostream &out) {
  bool sums = false;
  std::vector<std::string> loops;
  for (std::size_t d = 0; d < scope.dims().size(); ++d) {
    const std::string to = scope.stride(Role::C, d);
    sums = sums || scope.dims()[d].dimClass == DimClass::K;
    loops.push_back("{.extent = " + scope.extent(d) + ", .to = " + to +
                    ", .from = " + scope.stride(Role::A, d) + "}");
  }
  out << traceSpan("Kernel") << "ec::" << (sums ? "sumParallel" : "copyParallel") << "<"
      << cppType(tree.elementType()) << ">(" << scope.origin(Role::C) << ", "
      << scope.origin(Role::A) << ", {" << join(loops, ", ") << "});\n";
}

/// A rank without any index of the result has nothing to do; one without any index to sum over
/// still owns zeros.
void emitEmptyBlocks(const Tree &tree, const LoweredNode &node, const NodeScope &scope,
                     llvm::raw_ostream &out) {
  std::vector<std::string> empty;
  std::vector<std::string> emptySums;
  const std::vector<DimId> dims = tree.iterationDims(node.node);
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (scope.shape().mayBeEmpty[d])
      (classOf(tree, node.node, dims[d]) == DimClass::K ? emptySums : empty)
          .push_back("work[" + std::to_string(d) + "].empty()");
  if (!empty.empty())
    out << "if (" << join(empty, " || ") << ") {\nreturn; // no work on this rank\n}\n";
  if (emptySums.empty())
    return;
  const std::string tensor = tensorName(scope.buffer(Role::C));
  out << "if (" << join(emptySums, " || ") << ") { // nothing to sum on this rank\n"
      << "std::fill_n(" << tensor << ".data(), " << tensor << ".size(), "
      << cppType(tree.elementType()) << "{0});\nreturn;\n}\n";
}

/// A constructor of its own, not inlined: those of hundreds of nodes in one function would take the
/// C++ compiler minutes.
void emitConstructor(const std::string &name,
                     const std::vector<std::pair<std::string, std::string>> &members,
                     llvm::raw_ostream &out) {
  std::vector<std::string> parameters, initializers;
  for (const auto &[type, member] : members) {
    parameters.push_back(type + " &" + member);
    initializers.push_back(member + "(" + member + ")");
  }
  out << "\n[[gnu::noinline]] " << name << "(" << join(parameters, ", ")
      << ")\n: " << join(initializers, ", ") << " {}\n";
}

/// What the struct of a node refers to: the rank's tensors, or in a stepping loop a step that shows
/// the shape of those to come.
std::vector<std::pair<std::string, std::string>> referencesOf(const Tree &tree,
                                                              const NodeScope &scope, NodeId node) {
  const std::string type = cppType(tree.elementType());
  std::vector<std::pair<std::string, std::string>> references = {{"const ec::Session", "session"}};
  if (scope.isStepping()) {
    references.emplace_back("const ec::Step<" + type + ">", "shape");
    return references;
  }
  std::set<std::string> tensors;
  for (const Role role : rolesOf(tree, node))
    tensors.insert(tensorName(scope.buffer(role)));
  for (const std::string &tensor : tensors)
    references.emplace_back("const ec::Tensor<" + type + ">", tensor);
  return references;
}

} // namespace

void emitNode(const Tree &tree, const Schedule &schedule, const LoweredProgram &program,
              const LoweredNode &node, llvm::raw_ostream &out) {
  const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(node.node)];
  NodeScope scope(tree, program, node);
  const std::string name = computeName(tree, node.node);
  const auto references = referencesOf(tree, scope, node.node);

  out << "/// " << equationText(tree, node.node) << "\n"
      << "/// " << algorithmName(tree, node.node, on) << ": "
      << nodeScheduleText(tree, node.node, on) << "\n"
      << "/// " << placementsText(tree, on, node) << "\n"
      << "struct " << name << " {\n";
  for (const auto &[type, member] : references)
    out << type << " &" << member << ";\n";
  if (!scope.isStepping())
    out << "const ec::Box work = " << workName(tree, node.node)
        << ".box(session.rank()); // this rank's share\n";
  out << "\n";
  std::string members, body;
  llvm::raw_string_ostream membersOut(members), bodyOut(body);
  if (node.nest)
    emitNest(tree, *node.nest, scope, membersOut, bodyOut);
  else
    emitUnary(tree, scope, bodyOut);
  scope.emitMembers(out);
  out << members;
  emitConstructor(name, references, out);
  if (scope.isStepping()) {
    out << "\n/// Computes one step, of the same shape.\nvoid run(const ec::Step<"
        << cppType(tree.elementType()) << "> &step) const {\n";
  } else {
    out << "\nvoid run() const {\n";
    if (on.grid.size() < schedule.ranks)
      out << "if (!" << workName(tree, node.node) << ".holds(session.rank())) {\nreturn;\n}\n";
    emitEmptyBlocks(tree, node, scope, out);
  }
  out << body << "}\n};\n\n";
}

} // namespace einsumc
