//===- EmitNest.cpp - the C++ of a contraction's loop nest ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/codegen/EmitNest.h"

#include "compiler/codegen/EmitNode.h"
#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"

namespace einsumc {

namespace {

/// The largest number of elements of a side of a tile.
int64_t largestSize(const LocalNest &nest, const TileSide &side) {
  int64_t size = 1;
  for (std::size_t d : side.dims)
    size *= d == side.dims.back() ? side.count : nest.dims[d].extent;
  return size;
}

/// Scratch of each thread, in elements: offsets of the parts, each on a cache line of its own.
struct ScratchPlan {
  int64_t ownResult = 0; ///< a copy of the whole local result, when the sums run in parallel
  int64_t left = 0, right = 0, result = 0;
  int64_t total = 0;
};

ScratchPlan planScratch(const LocalNest &nest) {
  ScratchPlan plan;
  const int64_t m = largestSize(nest, nest.m);
  const int64_t n = largestSize(nest, nest.n);
  const int64_t k = largestSize(nest, nest.k);
  auto take = [&](bool needed, int64_t elements) {
    const int64_t offset = plan.total;
    constexpr int64_t kLine = 16; // elements of f32 in a line of 64 bytes
    plan.total += needed ? (elements + kLine - 1) / kLine * kLine : 0;
    return offset;
  };
  int64_t whole = 1;
  for (const FusedDim &dim : nest.dims)
    whole *= dim.dimClass == DimClass::K ? 1 : dim.extent;
  plan.ownResult = take(nest.sumsInParallel, whole);
  plan.left = take(nest.left == TileAccess::Packed, m * k);
  plan.right = take(nest.right == TileAccess::Packed, k * n);
  plan.result = take(nest.result == TileAccess::Packed, m * n);
  return plan;
}

class NestEmitter {
public:
  NestEmitter(const Tree &tree, const LocalNest &nest, NodeScope &scope, llvm::raw_ostream &members,
              llvm::raw_ostream &body)
      : type(cppType(tree.elementType())), nest(nest), scope(scope), members(members), body(body),
        scratch(planScratch(nest)) {}

  void run() {
    emitKernels();
    for (const NestLoop &loop : nest.loops)
      indexNames.push_back(scope.fresh("i_", loop.dim));
    if (nest.sumsInParallel)
      emitParallelSums();
    else
      emitParallelTiles();
  }

private:
  std::string product(std::vector<std::string> factors) const {
    llvm::erase(factors, "1");
    return factors.empty() ? "1" : join(factors, " * ");
  }

  /// Elements of the dims that a side takes whole.
  std::string wholeSize(const TileSide &side) const {
    std::vector<std::string> factors;
    for (std::size_t d : side.dims)
      if (d != side.dims.back())
        factors.push_back(scope.extent(d));
    return product(std::move(factors));
  }

  std::string rangeText(const TileSide &side) const {
    if (side.dims.empty())
      return "{}";
    const std::string whole = wholeSize(side);
    return "{.tile = " + std::to_string(side.count) +
           ", .extent = " + scope.extent(side.dims.back()) +
           (whole == "1" ? "" : ", .fused = " + whole) + "}";
  }

  /// The stride of a role's tensor along a side of the tile that is read in place.
  std::string directStride(Role role, const TileSide &side) const {
    return side.dims.empty() ? "0" : scope.stride(role, side.dims.front());
  }

  /// The kernels and, for packed tiles, the strides in scratch: m is the fastest in L and C, k in
  /// R, and the slower stride is that of the largest tile.
  void emitKernels() {
    kernels = scope.fresh("kernels");
    const std::string packedM = std::to_string(largestSize(nest, nest.m));
    const std::string packedK = std::to_string(largestSize(nest, nest.k));
    std::vector<std::string> fields;
    auto field = [&](const char *name, const std::string &value) {
      if (value != "0")
        fields.push_back(std::string(".") + name + " = " + value);
    };
    const bool l = nest.left == TileAccess::Packed;
    const bool r = nest.right == TileAccess::Packed;
    const bool c = nest.result == TileAccess::Packed;
    field("aC", l ? "0" : directStride(nest.leftRole(), nest.c));
    field("aM", l ? "1" : directStride(nest.leftRole(), nest.m));
    field("aK", l ? packedM : directStride(nest.leftRole(), nest.k));
    field("bC", r ? "0" : directStride(nest.rightRole(), nest.c));
    field("bK", r ? "1" : directStride(nest.rightRole(), nest.k));
    field("bN", r ? packedK : directStride(nest.rightRole(), nest.n));
    field("cC", c ? "0" : directStride(Role::C, nest.c));
    field("cM", c ? "1" : directStride(Role::C, nest.m));
    field("cN", c ? packedM : directStride(Role::C, nest.n));
    members << "/// Tiles of c x m x n x k, m from " << scope.buffer(nest.leftRole()).name
            << ", n from " << scope.buffer(nest.rightRole()).name << ".\n"
            << "const ec::TileKernelSet<" << type << "> " << kernels << "{" << rangeText(nest.c)
            << ", " << rangeText(nest.m) << ", " << rangeText(nest.n) << ", " << rangeText(nest.k)
            << ", {" << join(fields, ", ") << "}};\n";
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

  void emitLoopEnds(std::size_t count) {
    for (std::size_t l = 0; l < count; ++l)
      body << "}\n";
  }

  std::string scratchPointer(int64_t offset) const {
    return "session.scratch<" + type + ">(omp_get_thread_num())" +
           (offset == 0 ? "" : " + " + std::to_string(offset));
  }

  void emitScratchPointers() {
    if (nest.left == TileAccess::Packed)
      body << type << " *const packedL = " << scratchPointer(scratch.left) << ";\n";
    if (nest.right == TileAccess::Packed)
      body << type << " *const packedR = " << scratchPointer(scratch.right) << ";\n";
    if (nest.result == TileAccess::Packed)
      body << type << " *const packedC = " << scratchPointer(scratch.result) << ";\n";
  }

  /// Threads share the tiles of the result.
  void emitParallelTiles() {
    const std::size_t outer = nest.outerLoops();
    const bool team = !nest.serial && outer > 0;
    emitOrigins(true);
    const bool usesScratch = scratch.total > 0;
    const std::string collapse = outer > 1 ? " collapse(" + std::to_string(outer) + ")" : "";
    if (team && usesScratch)
      body << "#pragma omp parallel\n{\n";
    if (usesScratch)
      emitScratchPointers();
    if (team)
      body << "#pragma omp " << (usesScratch ? "for" : "parallel for") << collapse
           << " schedule(static)\n";
    for (std::size_t l = 0; l < outer; ++l)
      emitLoopHead(l);
    emitTileSizes(0, outer);
    emitPointer("c", "c0", Role::C, 0, outer);
    const bool sumsHere = outer < nest.loops.size();
    for (std::size_t l = outer; l < nest.loops.size(); ++l)
      emitLoopHead(l);
    emitTileSizes(outer, nest.loops.size());
    emitTileProduct(sumsHere ? firstSum() : "false");
    emitLoopEnds(nest.loops.size() - outer);
    if (nest.result == TileAccess::Packed)
      emitUnpack("copyStrided");
    emitLoopEnds(outer);
    if (team && usesScratch)
      body << "}\n";
  }

  /// Threads share the sums: each adds its part up in a copy of the result, then the copies are
  /// added in the order of the threads, so that a run can be repeated bit by bit.
  void emitParallelSums() {
    const std::size_t outer = nest.outerLoops();
    const std::size_t sums = nest.loops.size() - outer;
    emitOrigins(false);
    const std::string tensor = tensorName(scope.buffer(Role::C));
    body << "#pragma omp parallel\n{\n"
         << type << " *const c0 = " << scratchPointer(scratch.ownResult)
         << "; // this thread's sums\n";
    emitScratchPointers();
    body << "std::fill_n(c0, " << tensor << ".size(), " << type << "{0});\n"
         << "#pragma omp for" << (sums > 1 ? " collapse(" + std::to_string(sums) + ")" : "")
         << " schedule(static)\n";
    for (std::size_t l = outer; l < nest.loops.size(); ++l)
      emitLoopHead(l);
    emitTileSizes(outer, nest.loops.size());
    for (std::size_t l = 0; l < outer; ++l)
      emitLoopHead(l);
    emitTileSizes(0, outer);
    emitPointer("c", "c0", Role::C, 0, outer);
    emitTileProduct(nest.result == TileAccess::Packed ? "false" : "true");
    if (nest.result == TileAccess::Packed)
      emitUnpack("addStrided");
    emitLoopEnds(nest.loops.size());
    body << "#pragma omp for schedule(static)\n"
         << "for (int64_t i = 0; i < " << tensor << ".size(); ++i) {\n"
         << type << " sum = 0;\n"
         << "for (int t = 0; t < omp_get_num_threads(); ++t) {\n"
         << "sum += session.scratch<" << type << ">(t)[i];\n}\n"
         << tensor << ".data()[i] = sum;\n}\n}\n";
  }

  /// `true` from the second step of the sums on.
  std::string firstSum() const {
    std::vector<std::string> terms;
    for (std::size_t l = nest.outerLoops(); l < nest.loops.size(); ++l)
      terms.push_back(indexNames[l] + " > 0");
    return join(terms, " || ");
  }

  /// Variables with the number of indices left in the tile of each loop that has a remainder.
  void emitTileSizes(std::size_t first, std::size_t last) {
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

  /// Indices of a side's last dim that this tile has.
  std::string countOf(const TileSide &side) const {
    if (side.dims.empty())
      return "1";
    const auto found = countNames.find(side.dims.back());
    if (found != countNames.end())
      return found->second;
    return side.count == 1 && nest.dims[side.dims.back()].extent > 1
               ? "1"
               : scope.extent(side.dims.back());
  }

  void emitPointer(const char *name, const char *origin, Role role, std::size_t first,
                   std::size_t last) {
    const bool isResult = role == Role::C;
    body << (isResult ? type + " *const " : "const " + type + " *const ") << name << " = "
         << origin;
    for (std::size_t l = first; l < last; ++l) {
      const std::string stride = scope.stride(role, nest.loops[l].dim);
      if (stride != "0")
        body << " + " << indexNames[l] << " * " << stride;
    }
    body << ";\n";
  }

  /// `{.extent = .., .to = .., .from = ..}` for the dims of a side, whose elements are dense with a
  /// first step in scratch and strided in the tensor.
  void addCopyLoops(const TileSide &side, Role role, const std::string &firstStep, bool toScratch,
                    std::vector<std::string> &loops) const {
    std::string step = firstStep;
    for (std::size_t d : side.dims) {
      const std::string extent = d == side.dims.back() ? countOf(side) : scope.extent(d);
      const std::string stride = scope.stride(role, d);
      loops.push_back("{.extent = " + extent + ", .to = " + (toScratch ? step : stride) +
                      ", .from = " + (toScratch ? stride : step) + "}");
      step = product({step, scope.extent(d)});
    }
  }

  void emitPack(const char *name, const char *source, Role role, const TileSide &fast,
                const TileSide &slow) {
    std::vector<std::string> loops;
    addCopyLoops(fast, role, "1", true, loops);
    addCopyLoops(slow, role, std::to_string(largestSize(nest, fast)), true, loops);
    body << "ec::copyStrided<" << type << ">(" << name << ", " << source << ", {"
         << join(loops, ", ") << "});\n";
  }

  void emitUnpack(const char *function) {
    std::vector<std::string> loops;
    addCopyLoops(nest.m, Role::C, "1", false, loops);
    addCopyLoops(nest.n, Role::C, std::to_string(largestSize(nest, nest.m)), false, loops);
    body << "ec::" << function << "<" << type << ">(c, packedC, {" << join(loops, ", ") << "});\n";
  }

  void emitTileProduct(const std::string &accumulate) {
    const bool packL = nest.left == TileAccess::Packed;
    const bool packR = nest.right == TileAccess::Packed;
    emitPointer("l", "l0", nest.leftRole(), 0, nest.loops.size());
    emitPointer("r", "r0", nest.rightRole(), 0, nest.loops.size());
    if (packL)
      emitPack("packedL", "l", nest.leftRole(), nest.m, nest.k);
    if (packR)
      emitPack("packedR", "r", nest.rightRole(), nest.k, nest.n);
    body << kernels << ".select(" << countOf(nest.c) << ", " << countOf(nest.m) << ", "
         << countOf(nest.n) << ", " << countOf(nest.k) << ", " << accumulate << ")("
         << (packL ? "packedL" : "l") << ", " << (packR ? "packedR" : "r") << ", "
         << (nest.result == TileAccess::Packed ? "packedC" : "c") << ");\n";
  }

  const std::string type;
  const LocalNest &nest;
  NodeScope &scope;
  llvm::raw_ostream &members;
  llvm::raw_ostream &body;
  const ScratchPlan scratch;
  std::string kernels;
  std::vector<std::string> indexNames;           ///< by loop
  std::map<std::size_t, std::string> countNames; ///< by dim: indices in the tile at hand
};

} // namespace

int64_t scratchBytes(const Tree &tree, const LoweredNode &node) {
  return node.nest ? planScratch(*node.nest).total * sizeInBytes(tree.elementType()) : 0;
}

void emitNest(const Tree &tree, const LocalNest &nest, NodeScope &scope, llvm::raw_ostream &members,
              llvm::raw_ostream &body) {
  NestEmitter(tree, nest, scope, members, body).run();
}

} // namespace einsumc
