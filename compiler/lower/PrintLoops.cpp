//===- PrintLoops.cpp - a lowered program for people ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/Lower.h"
#include "compiler/support/Text.h"

namespace einsumc {

namespace {

class LoopPrinter {
public:
  LoopPrinter(const Tree &tree, const Schedule &schedule, const LoweredProgram &program,
              llvm::raw_ostream &stream)
      : tree(tree), schedule(schedule), program(program), stream(stream) {}

  void print(const LoweredNode &lowered) {
    stream << equationText(tree, lowered.node) << "  # "
           << nodeScheduleText(tree, lowered.node,
                               schedule.nodes[static_cast<std::size_t>(lowered.node)])
           << "\n";
    printMoves(lowered.before);
    if (lowered.nest)
      printNest(lowered, *lowered.nest);
    else
      printUnary(lowered);
    printMoves(lowered.after);
  }

  void printStorage() {
    const Storage &storage = program.storage;
    const MemoryNeed &need = program.memory;
    stream << "memory of the busiest rank: " << need.bytes() << " bytes, " << need.tensors.inputs
           << " of inputs and " << need.tensors.shared << " shared by (" << need.tensors.unshared
           << " without sharing)";
    if (need.tensors.sums > 0)
      stream << ", " << need.tensors.sums << " of sums of slices";
    if (need.messages > 0)
      stream << ", " << need.messages << " of messages";
    if (need.scratchPerThread > 0)
      stream << ", " << need.scratchPerThread << " of scratch"
             << (need.threads > 1 ? " for each of " + std::to_string(need.threads) + " threads"
                                  : "");
    stream << "\n";
    for (std::size_t b = 0; b < storage.places.size(); ++b) {
      const StoragePlace &place = storage.places[b];
      if (place.isShared)
        stream << "  " << program.buffers[b].name << ": " << place.bytes << " bytes at "
               << place.offset << ", " << lifeText(tree, program, place.life) << "\n";
    }
  }

private:
  const TensorBuffer &buffer(BufferId id) const {
    return program.buffers[static_cast<std::size_t>(id)];
  }

  void printMoves(const std::vector<Move> &moves) {
    for (const Move &move : moves)
      stream << "  move " << buffer(move.from).name << " "
             << placementText(tree, buffer(move.from).tensor, buffer(move.from).placement) << " -> "
             << buffer(move.to).name << " "
             << placementText(tree, buffer(move.to).tensor, buffer(move.to).placement) << "\n";
  }

  std::string dimText(const FusedDim &dim) const {
    std::vector<std::string> names;
    for (DimId d : dim.dims)
      names.push_back(tree.dim(d).name);
    return join(names, ".");
  }

  void printUnary(const LoweredNode &lowered) {
    std::vector<std::string> loops;
    for (const FusedDim &dim : lowered.dims)
      loops.push_back(dimText(dim) + ":" + std::to_string(dim.extent));
    stream << "  " << buffer(lowered.result).name << " = sum of "
           << buffer(lowered.operands[0]).name << " over [" << join(loops, ", ") << "]\n";
  }

  std::string sideText(const LocalNest &nest, const NestSide &side) const {
    std::vector<std::string> parts;
    for (const SideDim &part : side.dims)
      parts.push_back(dimText(nest.dims[part.dim]) + ":" + std::to_string(part.count));
    return parts.empty() ? "1" : join(parts, "*");
  }

  void printNest(const LoweredNode &lowered, const LocalNest &nest) {
    const std::string &left = buffer(lowered.operands[nest.swapped ? 1 : 0]).name;
    const std::string &right = buffer(lowered.operands[nest.swapped ? 0 : 1]).name;
    std::size_t depth = 1;
    for (std::size_t l = 0; l < nest.loops.size(); ++l) {
      const FusedDim &dim = nest.dims[nest.loops[l].dim];
      const bool isShared = !nest.serial && l - nest.firstTeamLoop < nest.teamLoops;
      stream << std::string(2 * depth++, ' ') << (isShared ? "parallel " : "") << "for "
             << dimText(dim) << " in " << dim.extent << " step " << nest.loops[l].step << "\n";
    }
    auto access = [](BlockAccess a) {
      return a == BlockAccess::Packed ? " packed" : a == BlockAccess::Fetched ? " fetched" : "";
    };
    stream << std::string(2 * depth, ' ');
    if (nest.kernel == NestKernel::Reorder)
      stream << "block " << sideText(nest, nest.block);
    else
      stream << (nest.kernel == NestKernel::Stream ? "tile" : "block") << " c "
             << sideText(nest, nest.c) << ", m " << sideText(nest, nest.m) << ", n "
             << sideText(nest, nest.n) << ", k " << sideText(nest, nest.k);
    stream << ": " << buffer(lowered.result).name
           << (nest.sumsInScratch          ? " summed in scratch"
               : nest.resultThroughScratch ? " through scratch"
               : nest.resultInLines        ? " in whole lines"
                                           : "")
           << " += " << left << access(nest.left) << " * " << right << access(nest.right) << "\n";
  }

  const Tree &tree;
  const Schedule &schedule;
  const LoweredProgram &program;
  llvm::raw_ostream &stream;
};

} // namespace

std::string lifeText(const Tree &tree, const LoweredProgram &program, const Lifetime &life) {
  auto nodeName = [&](int step) {
    return tree.node(program.nodes[program.storage.nodeOfStep(step)].node).name;
  };
  const std::string first = nodeName(life.first);
  if (life.last == Storage::kForever)
    return "from " + first + " to the end";
  const std::string last = nodeName(life.last);
  return first == last ? "during " + first : "from " + first + " to " + last;
}

void print(const Tree &tree, const Schedule &schedule, const LoweredProgram &program,
           llvm::raw_ostream &stream) {
  if (!schedule.slices.empty())
    stream << "in " << countSlices(schedule.slices)
           << " slices, one after the other: " << describeSlices(tree, schedule.slices) << "\n";
  LoopPrinter printer(tree, schedule, program, stream);
  for (const LoweredNode &lowered : program.nodes)
    printer.print(lowered);
  printer.printStorage();
}

} // namespace einsumc
