//===- EmitNest.cpp - the C++ of a contraction's loop nest ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/codegen/EmitNest.h"

#include "compiler/codegen/EmitKernel.h"
#include "compiler/codegen/EmitNode.h"
#include "compiler/lower/NestScratch.h"
#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"

namespace einsumc {

namespace {

/// Blocks of fewer flops (some microseconds) are not traced one by one: it would take too long.
constexpr int64_t kTracedFlops = int64_t{1} << 19;

class NestEmitter {
public:
  NestEmitter(const Tree &tree, const LocalNest &nest, NodeScope &scope, llvm::raw_ostream &members,
              llvm::raw_ostream &body)
      : type(cppType(tree.elementType())), nest(nest), scope(scope), body(body),
        scratch(planScratch(nest)), tracesBlocks(hasLargeBlocks(nest)),
        takesTasks(isForTeam() && tracesBlocks && nest.firstTeamLoop == 0 && !nest.sumsInParallel),
        kernel(emitKernel(tree, nest, scope, members)) {}

  void run() {
    for (const NestLoop &loop : nest.loops)
      indexNames.push_back(scope.fresh("i_", loop.dim));
    if (nest.sumsInParallel)
      emitParallelSums();
    else
      emitParallelTasks();
  }

private:
  /// Whether every block is traced, not only what a thread does as a whole.
  static bool hasLargeBlocks(const LocalNest &nest) {
    const int64_t flops = 2 * nest.m.size() * nest.n.size() * nest.k.size();
    return nest.kernel == NestKernel::Block && (nest.loops.empty() || flops >= kTracedFlops);
  }

  /// The indices of a batch that a block has, as a further argument.
  std::string batchCount() const {
    return nest.c.dims.empty() ? "" : ", {" + countsOf(nest.c) + "}";
  }

  void emitOrigins(bool withResult) {
    body << "const " << type << " *const l0 = " << scope.origin(nest.leftRole()) << "; // "
         << scope.buffer(nest.leftRole()).name << "\n"
         << "const " << type << " *const r0 = " << scope.origin(nest.rightRole()) << "; // "
         << scope.buffer(nest.rightRole()).name << "\n";
    if (withResult)
      body << type << " *const c0 = " << scope.origin(Role::C) << "; // "
           << scope.buffer(Role::C).name << "\n";
  }

  void emitLoopHead(std::size_t l) {
    const NestLoop &loop = nest.loops[l];
    const std::string &index = indexNames[l];
    body << "for (int64_t " << index << " = 0; " << index << " < " << scope.extent(loop.dim)
         << "; ";
    if (loop.step == 1)
      body << "++" << index;
    else
      body << index << " += " << loop.step;
    body << ") {\n";
  }

  /// \param inTeam within a parallel region; without one, the caller's own may be around
  std::string scratchPointer(int64_t offset, bool inTeam) const {
    return "session.scratch<" + type + ">(" + (inTeam ? "omp_get_thread_num()" : "0") + ")" +
           (offset == 0 ? "" : " + " + std::to_string(offset));
  }

  bool isPackedEachTime(bool isLeft) const {
    return isLeft ? nest.leftEachTime : nest.rightEachTime;
  }

  bool isCut(const SideDim &part) const {
    return stepOf(nest, part.dim) < nest.dims[part.dim].extent;
  }

  /// Whether an operand lacks a dim.
  bool isLacking(bool isLeft, const SideDim &part) const {
    return nest.dims[part.dim].dimClass == (isLeft ? DimClass::N : DimClass::M);
  }

  /// Where blocks are packed to, and which ones lie there.
  void emitScratchPointers(bool inTeam) {
    auto emit = [&](BlockAccess access, bool isLeft, const char *side, int64_t offset) {
      if (access == BlockAccess::Packed)
        body << type << " *const packed" << side << " = " << scratchPointer(offset, inTeam) << ";\n"
             << (isPackedEachTime(isLeft) ? ""
                                          : "const " + type + " *in" + side +
                                                " = nullptr; // the block that is packed\n");
    };
    emit(nest.left, true, "L", scratch.left);
    emit(nest.right, false, "R", scratch.right);
    if (nest.resultThroughScratch)
      body << type << " *const blockOfC = " << scratchPointer(scratch.result, inTeam) << ";\n";
  }

  /// Threads share blocks of the result. Large ones they take one by one; of small ones, and where
  /// each step of the sums has them all, a thread has always the same, as the schedule is static:
  /// so they need not wait for each other between those steps.
  void emitParallelTasks() {
    const bool team = isForTeam();
    emitOrigins(true);
    if (takesTasks)
      emitTeamTasks();
    if (team)
      body << "#pragma omp parallel\n{\n";
    if (!tracesBlocks)
      body << traceSpan("Kernel");
    emitScratchPointers(team);
    emitLoopHeads(0, nest.firstTeamLoop);
    if (team && nest.firstTeamLoop > 0)
      body << "// A thread has the same tasks in every step of the sums, so none waits for "
              "others.\n";
    if (takesTasks)
      emitTakenTask();
    else if (team)
      emitShare();
    emitLoopHeads(takesTasks ? nest.teamLoops : nest.firstTeamLoop,
                  nest.sumsInScratch ? nest.teamLoops : nest.loops.size());
    if (nest.sumsInScratch) {
      emitCounts(0, nest.teamLoops);
      emitBlock(Role::C, "c");
      emitLoopHeads(nest.teamLoops, nest.loops.size());
    }
    emitTask(nest.sumsInScratch ? laterSum() : anySum());
    if (nest.kernel == NestKernel::Stream && nest.resultPastCaches)
      body << "ec::endStoresPastCaches(); // Before other threads read the result.\n";
    if (team)
      body << "}\n";
  }

  bool isForTeam() const { return !nest.serial && nest.teamLoops > 0; }

  /// Deals the tasks.
  void emitTeamTasks() {
    std::vector<std::string> loops;
    for (std::size_t l = 0; l < nest.teamLoops; ++l)
      loops.push_back("{" + scope.extent(nest.loops[l].dim) + ", " +
                      std::to_string(nest.loops[l].step) + "}");
    body << "const ec::TeamTasks<" << nest.teamLoops << "> tasks{session.taskShares(), {{"
         << join(loops, ", ") << "}}}; // extents, steps\n";
  }

  /// A loop in the place of those of the team.
  void emitTakenTask() {
    body << "while (const auto task = tasks.take(omp_get_thread_num())) {\nconst auto ["
         << join(llvm::ArrayRef(indexNames).take_front(nest.teamLoops), ", ") << "] = *task;\n";
  }

  void emitShare() {
    body << "#pragma omp for"
         << (nest.teamLoops > 1 ? " collapse(" + std::to_string(nest.teamLoops) + ")" : "")
         << " schedule(static) nowait\n";
  }

  /// Threads share the sums: each adds its part up in a copy of the result, then the copies are
  /// added in the order of the threads, so that a run can be repeated bit by bit.
  void emitParallelSums() {
    emitOrigins(false);
    const std::string tensor = scope.block(Role::C);
    body << "#pragma omp parallel\n{\n"
         << type << " *const c0 = " << scratchPointer(scratch.ownResult, true)
         << "; // this thread's sums\n";
    emitScratchPointers(true);
    if (!tracesBlocks)
      body << "{\n" << traceSpan("Kernel");
    body << "std::fill_n(c0, " << tensor << ".size(), " << type << "{0});\n";
    emitShare();
    emitLoopHeads(0, nest.loops.size());
    emitTask("true");
    if (!tracesBlocks)
      body << "}\n";
    body << "#pragma omp barrier\n"
         << traceSpan("Reduce") << "#pragma omp for schedule(static) nowait\n"
         << "for (int64_t i = 0; i < " << tensor << ".size(); ++i) {\n"
         << type << " sum = " << (nest.adds ? "step.adds ? " + tensor + ".data()[i] : 0" : "0")
         << ";\n"
         << "for (int t = 0; t < omp_get_num_threads(); ++t) {\n"
         << "sum += session.scratch<" << type << ">(t)[i];\n}\n"
         << tensor << ".data()[i] = sum;\n}\n}\n";
  }

  void emitLoopHeads(std::size_t first, std::size_t last) {
    for (std::size_t l = first; l < last; ++l)
      emitLoopHead(l);
  }

  /// What happens inside all loops, and their ends. Sums that add up in scratch are copied behind
  /// their loops, outside of which their block of C is known.
  void emitTask(const std::string &accumulate) {
    const std::size_t outside = nest.sumsInScratch ? nest.teamLoops : 0;
    emitCounts(outside, nest.loops.size());
    emitBlock(nest.rightRole(), "r");
    emitBlock(nest.leftRole(), "l");
    if (!nest.sumsInScratch)
      emitBlock(Role::C, "c");
    emitKernelCall(accumulate);
    emitLoopEnds(outside, nest.loops.size());
    if (nest.sumsInScratch)
      body << (tracesBlocks ? traceSpan("Pack") : "") << kernel << ".copySums(c, blockOfC"
           << sizesOf(nest.m, nest.n, nest.adds ? "step.adds" : "false") << ");\n";
    emitLoopEnds(0, outside);
  }

  /// Those of the team that are taken as tasks are one loop.
  void emitLoopEnds(std::size_t first, std::size_t last) {
    for (std::size_t l = first; l < last; ++l)
      if (!takesTasks || l == 0 || l >= nest.teamLoops)
        body << "}\n";
  }

  /// `true` where the result has sums already.
  std::string anySum() const {
    const std::string later = laterSum();
    if (!nest.adds)
      return later;
    return later == "false" ? "step.adds" : "step.adds || " + later;
  }

  /// `true` from the second step of the sums on.
  std::string laterSum() const {
    std::vector<std::string> terms;
    for (std::size_t l = 0; l < nest.loops.size(); ++l)
      if (nest.dims[nest.loops[l].dim].dimClass == DimClass::K)
        terms.push_back(indexNames[l] + " > 0");
    return terms.empty() ? "false" : join(terms, " || ");
  }

  /// Variables with the number of indices that are left for the kernel, for dims with a remainder.
  void emitCounts(std::size_t first, std::size_t last) {
    for (std::size_t l = first; l < last; ++l) {
      const NestLoop &loop = nest.loops[l];
      if (loop.step == 1)
        continue;
      const std::optional<int64_t> extent = scope.constantExtent(loop.dim);
      if (extent && *extent % loop.step == 0) {
        countNames[loop.dim] = std::to_string(loop.step);
        continue;
      }
      countNames[loop.dim] = scope.fresh("s_", loop.dim);
      body << "const int64_t " << countNames[loop.dim] << " = std::min<int64_t>(" << loop.step
           << ", " << scope.extent(loop.dim) << " - " << indexNames[l] << ");\n";
    }
  }

  /// Indices of a dim that the block at hand has.
  std::string countOf(const SideDim &part) const {
    const auto found = countNames.find(part.dim);
    if (found != countNames.end())
      return found->second;
    return stepOf(nest, part.dim) == 1 && nest.dims[part.dim].extent > 1 ? "1"
                                                                         : scope.extent(part.dim);
  }

  /// The address of a role's block, which is packed unless it is the one that is already.
  void emitBlock(Role role, const char *name) {
    body << (role == Role::C ? type + " *const " : "const " + type + " *const ") << name << " = "
         << name << "0";
    for (std::size_t l = 0; l < nest.loops.size(); ++l) {
      const std::string stride = scope.stride(role, nest.loops[l].dim);
      if (stride != "0")
        body << " + " << indexNames[l] << " * " << stride;
    }
    body << ";\n";
    const bool isLeft = role == nest.leftRole();
    if (role == Role::C || (isLeft ? nest.left : nest.right) != BlockAccess::Packed)
      return;
    if (nest.kernel == NestKernel::Reorder)
      emitPack(isLeft, ", {" + countsToPack(isLeft) + "}");
    else if (isLeft)
      emitPack(true, sizesOf(nest.m, nest.k));
    else
      emitPack(false, nest.left == BlockAccess::Fetched ? "" : sizesOf(nest.k, nest.n));
  }

  /// \param sizes of the block, as further arguments
  void emitPack(bool isLeft, const std::string &sizes) {
    const std::string side = isLeft ? "L" : "R", source = isLeft ? "l" : "r";
    const std::string call =
        kernel + (isLeft ? ".packA" : ".packB") + "(packed" + side + ", " + source + sizes + ");\n";
    if (isPackedEachTime(isLeft)) {
      body << call;
      return;
    }
    body << "if (in" << side << " != " << source << ") {\nin" << side << " = " << source << ";\n"
         << (tracesBlocks ? traceSpan("Pack") : "") << call << "}\n";
  }

  /// The counts of a block of an operand, with all repeats if it is not packed again for fewer.
  std::string countsToPack(bool isLeft) const {
    std::vector<std::string> counts;
    for (const SideDim &part : nest.block.dims)
      counts.push_back(isCut(part) && isLacking(isLeft, part) && !isPackedEachTime(isLeft)
                           ? std::to_string(stepOf(nest, part.dim))
                           : countOf(part));
    return join(counts, ", ");
  }

  /// Arguments with the indices of each dim of a block, which another one may follow.
  std::string sizesOf(const NestSide &first, const NestSide &second,
                      const std::string &further = "") const {
    return ", {" + countsOf(first) + "}, {" + countsOf(second) + "}" +
           (further.empty() ? "" : ", " + further) + batchCount();
  }

  std::string countsOf(const NestSide &side) const {
    std::vector<std::string> counts;
    for (const SideDim &part : side.dims)
      counts.push_back(countOf(part));
    return join(counts, ", ");
  }

  void emitKernelCall(const std::string &accumulate) {
    if (nest.kernel == NestKernel::Stream) {
      emitTiles(accumulate);
      return;
    }
    if (tracesBlocks)
      body << traceSpan("Kernel");
    if (nest.kernel == NestKernel::Reorder) {
      body << kernel << "(" << (nest.left == BlockAccess::Packed ? "packedL" : "l") << ", "
           << (nest.right == BlockAccess::Packed ? "packedR" : "r") << ", c, " << blockOfResult()
           << ", {" << countsOf(nest.block) << "}, " << accumulate << ");\n";
      return;
    }
    if (nest.left == BlockAccess::Fetched) {
      body << kernel << "(l, packedR, c, " << blockOfResult() << ", {" << countsOf(nest.m) << "}, "
           << accumulate << ");\n";
      return;
    }
    body << kernel << "(" << (nest.left == BlockAccess::Packed ? "packedL" : "l") << ", "
         << (nest.right == BlockAccess::Packed ? "packedR" : "r") << ", "
         << (nest.sumsInScratch ? "nullptr" : "c") << ", " << blockOfResult() << ", {"
         << countsOf(nest.m) << "}" << sizesOf(nest.n, nest.k, accumulate) << ");\n";
  }

  /// Where a kernel computes a block of the result before it is copied, as an argument.
  const char *blockOfResult() const { return nest.resultThroughScratch ? "blockOfC" : "nullptr"; }

  void emitTiles(const std::string &accumulate) {
    auto count = [&](const NestSide &side) {
      return side.dims.empty() ? std::string("1") : countOf(side.dims.front());
    };
    body << kernel << ".select(" << count(nest.c) << ", " << count(nest.m) << ", " << count(nest.n)
         << ", " << count(nest.k) << ", " << accumulate << ")(l, r, c);\n";
  }

  const std::string type;
  const LocalNest &nest;
  NodeScope &scope;
  llvm::raw_ostream &body;
  const ScratchPlan scratch;
  const bool tracesBlocks;
  const bool takesTasks; ///< those of the team, which are large and whose order does not matter
  const std::string kernel;
  std::vector<std::string> indexNames;           ///< by loop
  std::map<std::size_t, std::string> countNames; ///< by dim: indices in the block at hand
};

} // namespace

void emitNest(const Tree &tree, const LocalNest &nest, NodeScope &scope, llvm::raw_ostream &members,
              llvm::raw_ostream &body) {
  NestEmitter(tree, nest, scope, members, body).run();
}

} // namespace einsumc
