//===- EmitKernel.cpp - the C++ of a contraction's kernels ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/codegen/EmitKernel.h"

#include "compiler/codegen/EmitNode.h"
#include "compiler/lower/NestScratch.h"
#include "compiler/support/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <vector>

namespace einsumc {

namespace {

class KernelEmitter {
public:
  KernelEmitter(const Tree &tree, const LocalNest &nest, NodeScope &scope,
                llvm::raw_ostream &members)
      : type(cppType(tree.elementType())), nest(nest), scope(scope), members(members),
        kernel(scope.fresh(nest.kernel == NestKernel::Stream ? "kernels" : "kernel")) {}

  std::string run() {
    if (nest.kernel == NestKernel::Stream)
      emitTileKernels();
    else if (nest.kernel == NestKernel::Reorder)
      emitReorderingKernel();
    else if (nest.left == BlockAccess::Fetched)
      emitFetchingKernel();
    else
      emitBlockKernel();
    return kernel;
  }

private:
  /// `.name = value`, unless that is the default 0.
  static void addField(std::vector<std::string> &fields, const char *name,
                       const std::string &value) {
    if (value != "0")
      fields.push_back(std::string(".") + name + " = " + value);
  }

  void emitComment(const char *what) {
    members << "/// " << what << ", m from " << scope.buffer(nest.leftRole()).name << ", n from "
            << scope.buffer(nest.rightRole()).name << ".\n";
  }

  /// The stride of a role's tensor along a side of at most one dim.
  std::string strideAlong(Role role, const NestSide &side) const {
    if (side.dims.empty())
      return "0";
    return scope.stride(role, side.dims.front().dim);
  }

  void emitTileKernels() {
    auto range = [&](const NestSide &side) {
      return side.dims.empty() ? std::string("{}")
                               : "{.tile = " + std::to_string(side.dims.front().count) +
                                     ", .extent = " + scope.extent(side.dims.front().dim) + "}";
    };
    std::vector<std::string> fields;
    const Role left = nest.leftRole();
    const Role right = nest.rightRole();
    addField(fields, "aC", strideAlong(left, nest.c));
    addField(fields, "aM", strideAlong(left, nest.m));
    addField(fields, "aK", strideAlong(left, nest.k));
    addField(fields, "bC", strideAlong(right, nest.c));
    addField(fields, "bK", strideAlong(right, nest.k));
    addField(fields, "bN", strideAlong(right, nest.n));
    addField(fields, "cC", strideAlong(Role::C, nest.c));
    addField(fields, "cM", strideAlong(Role::C, nest.m));
    addField(fields, "cN", strideAlong(Role::C, nest.n));
    if (nest.resultPastCaches)
      fields.emplace_back(".pastCaches = true");
    emitComment("Tiles of c x m x n x k");
    members << "const ec::TileKernelSet<" << type << "> " << kernel << "{" << range(nest.c) << ", "
            << range(nest.m) << ", " << range(nest.n) << ", " << range(nest.k) << ", {"
            << join(fields, ", ") << "}};\n";
  }

  std::string blockDim(const SideDim &part) const {
    std::vector<std::string> fields = {".count = " + std::to_string(part.count),
                                       ".extent = " + scope.extent(part.dim)};
    addField(fields, "inA", scope.stride(nest.leftRole(), part.dim));
    addField(fields, "inB", scope.stride(nest.rightRole(), part.dim));
    addField(fields, "inC", scope.stride(Role::C, part.dim));
    return "{" + join(fields, ", ") + "}";
  }

  /// The dims of a block along one role, as block kernels take them.
  std::string blockDims(const NestSide &side) const {
    std::vector<std::string> parts;
    for (const SideDim &part : side.dims)
      parts.push_back(blockDim(part));
    return "{" + join(parts, ", ") + "}";
  }

  /// The dims of a batch of blocks, and their distances in scratch.
  void addBatch(std::vector<std::string> &format) const {
    addField(format, "batch", blockDims(nest.c));
    addField(format, "aBatch", std::to_string(leftBatchStride(nest)));
    addField(format, "bBatch", std::to_string(rightBatchStride(nest)));
  }

  void emitDeclaration(const char *className, const std::vector<std::string> &format) {
    members << "const ec::" << className << "<" << type << "> " << kernel << "{"
            << blockDims(nest.m) << ", " << blockDims(nest.n) << ", " << blockDims(nest.k) << ", {"
            << join(format, ", ") << "}};\n";
  }

  /// A kernel for an L that is read in place while it comes from memory; R is packed.
  void emitFetchingKernel() {
    std::vector<std::string> format;
    if (nest.resultThroughScratch)
      addField(format, "scratchColumn", std::to_string(resultStride(nest)));
    if (nest.resultPastCaches)
      format.emplace_back(".pastCaches = true");
    emitComment("Blocks of m by all n and k");
    emitDeclaration("FetchingKernel", format);
  }

  /// A kernel for blocks whose dims have one order, as they lie there or in scratch.
  void emitReorderingKernel() {
    std::vector<std::string> format;
    if (nest.left == BlockAccess::Packed)
      format.emplace_back(".packsA = true");
    if (nest.right == BlockAccess::Packed)
      format.emplace_back(".packsB = true");
    if (nest.resultThroughScratch)
      format.emplace_back(".resultInScratch = true");
    if (nest.vectorDims > 1)
      addField(format, "vectorDims", std::to_string(nest.vectorDims));
    if (nest.resultPastCaches)
      format.emplace_back(".pastCaches = true");
    emitComment("Blocks, innermost dim first");
    members << "const ec::ReorderingKernel<" << type << "> " << kernel << "{"
            << blockDims(nest.block) << ", {" << join(format, ", ") << "}};\n";
  }

  /// A kernel for blocks, packed (L in panels, R in panels or columns along k) or in place.
  void emitBlockKernel() {
    const Role left = nest.leftRole();
    std::vector<std::string> format;
    const bool isLeftPacked = nest.left == BlockAccess::Packed;
    const Panels panels = panelsOf(nest);
    addField(format, "aK", isLeftPacked ? std::to_string(panels.rows) : strideAlong(left, nest.k));
    if (nest.rightInPanels) {
      format.emplace_back(".bInPanels = true");
      if (nest.rightPanelDims < nest.n.dims.size())
        addField(format, "bPanelDims", std::to_string(nest.rightPanelDims));
    } else
      addField(format, "bN", columnStep());
    if (isLeftPacked) {
      addField(format, "panelDims", std::to_string(nest.panelDims));
      addField(format, "panelCount", std::to_string(nest.panelCount));
      addField(format, "panelRows", std::to_string(nest.panelRows));
      addField(format, "aPanel", std::to_string(panels.stride));
      if (nest.leftFromMemory)
        format.emplace_back(".aFromMemory = true");
    }
    if (nest.rightFromMemory)
      format.emplace_back(nest.right == BlockAccess::Packed ? ".bFromMemory = true"
                                                            : ".bFetched = true");
    if (nest.adds || llvm::any_of(nest.loops, [&](const NestLoop &loop) {
          return nest.dims[loop.dim].dimClass == DimClass::K;
        }))
      format.emplace_back(".accumulates = true");
    if (nest.resultPastCaches)
      format.emplace_back(".pastCaches = true");
    if (nest.resultInLines)
      format.emplace_back(".wholeLines = true");
    if (nest.sumsInScratch)
      addField(format, "scratchColumn", std::to_string(resultStride(nest)));
    else if (nest.resultThroughScratch)
      format.emplace_back(".resultInScratch = true");
    if (!nest.c.dims.empty())
      addBatch(format);
    emitComment("Blocks of m x n x k");
    emitDeclaration("BlockKernel", format);
  }

  /// The distance of columns of R where the kernel reads it.
  std::string columnStep() const {
    return nest.right == BlockAccess::Packed ? std::to_string(columnStride(nest))
                                             : strideAlong(nest.rightRole(), nest.n);
  }

  const std::string type;
  const LocalNest &nest;
  NodeScope &scope;
  llvm::raw_ostream &members;
  const std::string kernel;
};

} // namespace

std::string emitKernel(const Tree &tree, const LocalNest &nest, NodeScope &scope,
                       llvm::raw_ostream &members) {
  return KernelEmitter(tree, nest, scope, members).run();
}

} // namespace einsumc
