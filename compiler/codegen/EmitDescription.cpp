//===- EmitDescription.cpp - what a program says of itself ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/codegen/EmitDescription.h"

#include "compiler/codegen/EmitNode.h"
#include "compiler/ir/Moves.h"
#include "compiler/plan/Cost.h"
#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <array>

namespace einsumc {

namespace {

std::string numberList(const std::vector<int64_t> &numbers) {
  std::vector<std::string> texts;
  for (int64_t number : numbers)
    texts.push_back(std::to_string(number));
  return "{" + join(texts, ", ") + "}";
}

std::string dimList(const std::vector<DimId> &dims) {
  return numberList({dims.begin(), dims.end()});
}

std::string axisText(const AxisPlacement &axis) {
  switch (axis.kind) {
  case AxisKind::Split:
    return "ec::split(" + std::to_string(axis.position) +
           (axis.level == 0 ? "" : ", " + std::to_string(axis.level)) + ")";
  case AxisKind::Copy:
    return "ec::copied()";
  case AxisKind::Partial:
    return "ec::partial()";
  case AxisKind::Root:
    return "ec::atRoot()";
  }
  return {};
}

void emitLayout(const std::string &name, const std::string &extents, const Layout &layout,
                const std::string &comment, llvm::raw_ostream &out) {
  std::vector<std::string> axes;
  for (const AxisPlacement &axis : layout.axes)
    axes.push_back(axisText(axis));
  out << "const ec::Layout " << name << " = ec::makeLayout(" << extents << ", "
      << numberList(layout.grid.extents) << ", {" << join(axes, ", ") << "}"
      << (layout.grid.firstRank == 0 ? "" : ", " + std::to_string(layout.grid.firstRank))
      << "); // " << comment << "\n";
}

/// What moves in a node's stepping loop.
void emitStepping(const Tree &tree, const LoweredProgram &program, const LoweredNode &node,
                  llvm::raw_ostream &out) {
  static constexpr std::array<const char *, 4> kMovements = {"Ring", "Bcast", "Get", "Stream"};
  const Stepping &stepping = *node.stepping;
  std::vector<std::string> travellers;
  for (const Traveller &traveller : stepping.travellers) {
    const BufferId tensor = traveller.role == 2 ? node.result : node.operands[traveller.role];
    travellers.push_back(
        "{.role = " + std::to_string(traveller.role) + ", .movement = ec::StepMovement::" +
        kMovements[static_cast<std::size_t>(traveller.movement)] +
        ", .chunks = " + layoutName(program.buffers[static_cast<std::size_t>(tensor)]) +
        ", .axis = " + std::to_string(traveller.axis) + ", .position = " +
        std::to_string(traveller.position) + (traveller.isSpent ? ", .isSpent = true}" : "}"));
  }
  const DimId dim = tree.iterationDims(node.node)[stepping.dim];
  out << "const ec::Stepping " << steppingName(tree, node.node)
      << "{.work = " << workName(tree, node.node) << ", .dim = " << stepping.dim
      << ", .pace = " << stepping.pace << ", .travellers = {" << join(travellers, ", ")
      << "}, .sums = " << (stepping.sums ? "true" : "false") << "}; // in steps along "
      << tree.dim(dim).name << "\n";
}

std::string dimNames(const Tree &tree, const std::vector<DimId> &dims) {
  std::vector<std::string> names;
  for (DimId dim : dims)
    names.push_back("dim_" + tree.dim(dim).name);
  return "{" + join(names, ", ") + "}";
}

std::string number(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.17g", value);
  return text;
}

} // namespace

void emitLayouts(const Tree &tree, const Schedule &schedule, const LoweredProgram &program,
                 llvm::raw_ostream &out) {
  for (const TensorBuffer &buffer : program.buffers)
    if (!buffer.isChunks())
      emitLayout(layoutName(buffer), dimNames(tree, tree.node(buffer.tensor).dims),
                 layoutOf(tree, buffer.tensor, buffer.placement),
                 placementText(tree, buffer.tensor, buffer.placement), out);
  out << "\n// How the work of every node is cut, over all dims that it iterates over.\n";
  for (const LoweredNode &node : program.nodes) {
    const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(node.node)];
    std::vector<std::string> names;
    for (DimId dim : tree.iterationDims(node.node))
      names.push_back(tree.dim(dim).name);
    emitLayout(workName(tree, node.node), dimNames(tree, tree.iterationDims(node.node)),
               workLayout(tree, node.node, on), join(names, ","), out);
    if (node.stepping)
      emitStepping(tree, program, node, out);
  }
}

namespace {

class DescriptionEmitter {
public:
  DescriptionEmitter(const Tree &tree, const Machine &machine, const Schedule &schedule,
                     const LoweredProgram &program, llvm::raw_ostream &out)
      : tree(tree), machine(machine), transfers(machine, schedule.ranks), schedule(schedule),
        program(program), out(out) {}

  void run(const CodegenOptions &options) {
    out << "ec::ProgramDescription describe() {\nec::ProgramDescription program;\n"
        << "program.name = " << cppStringLiteral(options.source) << ";\n"
        << "program.ranks = " << schedule.ranks << ";\n"
        << "program.dtype = ec::DType::" << (tree.elementType() == ElementType::F32 ? "F32" : "F64")
        << ";\n";
    out << "program.predictedSeconds = "
        << number(costOf(tree, machine, schedule).seconds /
                  static_cast<double>(countSlices(schedule.slices)))
        << ";\n";
    out << "program.predictedTensorBytes = "
        << program.storage.onRank(program.storage.busiest).bytes() << ";\n"
        << "program.predictedBytes = " << program.memory.withoutScratch() << ";\n"
        << "program.scratchBytes = " << program.memory.scratchPerThread << ";\n";
    if (llvm::any_of(program.nodes,
                     [](const LoweredNode &node) { return node.stepping.has_value(); }))
      out << "program.movesInSteps = true;\n";
    for (const Dim &dim : tree.dims())
      out << "program.addDim(" << cppStringLiteral(dim.name) << ", dim_" << dim.name << ");\n";
    for (NodeId id = 0; id < tree.size(); ++id)
      emitTensor(id);
    for (const LoweredNode &node : program.nodes)
      emitNodeDescription(node);
    emitFinals();
    emitSlices();
    std::string plan;
    llvm::raw_string_ostream planOut(plan);
    print(tree, schedule, planOut);
    out << "program.plan =";
    for (llvm::StringRef rest = plan; !rest.empty();) {
      const auto [line, after] = rest.split('\n');
      out << "\n" << cppStringLiteral((line + "\n").str());
      rest = after;
    }
    out << ";\nreturn program;\n}\n\n";
  }

private:
  const TensorBuffer &home(NodeId id) const {
    return buffer(program.homes[static_cast<std::size_t>(id)]);
  }
  const TensorBuffer &buffer(BufferId id) const {
    return program.buffers[static_cast<std::size_t>(id)];
  }

  void emitTensor(NodeId id) {
    const Node &node = tree.node(id);
    const std::string arguments =
        cppStringLiteral(node.name) + ", " + dimList(node.dims) + ", " + layoutName(home(id));
    if (node.kind == NodeKind::Input)
      out << "program.addInput(" << arguments << ");\n";
    else
      out << "program.addResult(" << arguments << ", " << (node.isOutput ? "true" : "false")
          << ");\n";
  }

  /// Whether the node leaves others' chunks where later nodes would look for its operand.
  bool spends(const LoweredNode &node, std::size_t operand) const {
    const NodeId tensor = tree.node(node.node).operands[operand].node;
    return node.stepping &&
           node.operands[operand] == program.homes[static_cast<std::size_t>(tensor)] &&
           llvm::any_of(node.stepping->travellers, [&](const Traveller &traveller) {
             return traveller.role == operand && traveller.isSpent;
           });
  }

  void emitNodeDescription(const LoweredNode &node) {
    const NodeId id = node.node;
    const NodeSchedule &on = schedule.nodes[static_cast<std::size_t>(id)];
    std::vector<std::string> operands;
    for (std::size_t o = 0; o < node.operands.size(); ++o) {
      const Operand &operand = tree.node(id).operands[o];
      operands.push_back("{" + std::to_string(operand.node) + ", " + dimList(operand.dims) +
                         (spends(node, o) ? ", true}" : "}"));
    }
    const NodeCost cost = costOf(tree, machine, transfers, schedule, id);
    out << "program.addNode(" << id << ", " << cppStringLiteral(equationText(tree, id)) << ", "
        << cppStringLiteral(algorithmName(tree, id, on)) << ", "
        << cppStringLiteral(gridText(on.grid)) << ", " << number(tree.flops(id)) << ", "
        << number(cost.seconds) << ", " << number(cost.bytes) << ", "
        << trafficMessages(tree, schedule, id) << ", {" << join(operands, ", ") << "});\n";
  }

  void emitFinals() {
    for (NodeId id = 0; id < tree.size(); ++id) {
      const auto index = static_cast<std::size_t>(id);
      if (tree.node(id).isOutput && program.outputs[index] != program.homes[index])
        out << "program.finalLayouts.push_back({" << id << ", "
            << layoutName(buffer(program.outputs[index])) << "});\n";
    }
  }

  /// The loop over the slices, which is the runtime's.
  void emitSlices() {
    if (schedule.slices.empty())
      return;
    out << "\n// The runtime evaluates the tree in " << countSlices(schedule.slices)
        << " slices, one after the other, the last dim's parts in the\n// innermost loop: it fills "
           "the "
           "inputs of a slice, calls Tree::run, and puts the outputs together.\n";
    for (const Slice &slice : schedule.slices)
      out << "program.addSlice(" << slice.dim << ", " << slice.parts << "); // "
          << describeSlices(tree, {slice}) << "\n";
    for (NodeId id = 0; id < tree.size(); ++id)
      if (tree.node(id).isOutput)
        emitSliceRoles(id);
  }

  void emitSliceRoles(NodeId id) {
    static constexpr std::array<const char *, 3> kRoles = {"Fills", "Adds", "Same"};
    static constexpr std::array<const char *, 3> kMeanings = {"a slice fills its part along ",
                                                              "slices are added up along ",
                                                              "slices are the same along "};
    std::vector<std::string> roles, meanings;
    const std::vector<SliceRole> found = sliceRoles(tree, schedule.slices, id);
    for (std::size_t s = 0; s < found.size(); ++s) {
      const auto role = static_cast<std::size_t>(found[s]);
      roles.push_back(std::string("ec::SliceRole::") + kRoles[role]);
      meanings.push_back(kMeanings[role] + tree.dim(schedule.slices[s].dim).name);
    }
    const Node &node = tree.node(id);
    out << "// " << tensorText(tree, node.name, node.dims) << ": " << join(meanings, ", ")
        << "\nprogram.setSliceRoles(" << id << ", {" << join(roles, ", ") << "});\n";
  }

  const Tree &tree;
  const Machine &machine;
  const TransferCost transfers;
  const Schedule &schedule;
  const LoweredProgram &program;
  llvm::raw_ostream &out;
};

} // namespace

void emitDescription(const Tree &tree, const Machine &machine, const Schedule &schedule,
                     const LoweredProgram &program, const CodegenOptions &options,
                     llvm::raw_ostream &out) {
  DescriptionEmitter(tree, machine, schedule, program, out).run(options);
}

} // namespace einsumc
