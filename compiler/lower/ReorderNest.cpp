//===- ReorderNest.cpp - the loops of contractions whose tensors have different orders --------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Loops around the blocks that `chooseReordering` gives.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/Nests.h"
#include "compiler/plan/ReorderChoice.h"

#include "llvm/ADT/STLExtras.h"

namespace einsumc {

namespace {

class ReorderNest {
public:
  ReorderNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest)
      : dims(dims), machine(machine), nest(nest), blocks(chooseReordering(dims, type, machine)),
        elementBytes(sizeInBytes(type)) {}

  void run() {
    nest.kernel = NestKernel::Reorder;
    for (const std::size_t dim : blocks.order)
      nest.block.dims.push_back({dim, blocks.counts[dim]});
    nest.vectorDims = blocks.vectorDims;
    nest.left = access(Role::A);
    nest.right = access(Role::B);
    nest.resultThroughScratch = blocks.isPacked(Role::C);
    for (std::size_t role = 0; role < nest.blockElements.size(); ++role)
      nest.blockElements[role] = elementsOf(static_cast<Role>(role));
    std::vector<NestLoop> outer;
    std::vector<NestLoop> sums;
    for (const DimClass dimClass : {DimClass::C, DimClass::N, DimClass::M})
      addLoops(dimClass, Role::C, outer);
    addLoops(DimClass::K, Role::A, sums);
    const double bytes = dims.elements(Role::C) * toDouble(elementBytes);
    nest.resultPastCaches = sums.empty() && !nest.adds && bytes >= kCacheBytes;
    shareLoops(dims, machine, outer, sums, nest);
  }

private:
  BlockAccess access(Role role) const {
    return blocks.isPacked(role) ? BlockAccess::Packed : BlockAccess::Direct;
  }

  int64_t elementsOf(Role role) const {
    int64_t product = 1;
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      product *= blocks.packedCount(dims, role, dim);
    return product;
  }

  /// The loops over the blocks of a class, the slowest dim of the role's tensor outermost.
  void addLoops(DimClass dimClass, Role role, std::vector<NestLoop> &loops) const {
    const DimIndices order = dims.bySpeed(dimClass, role);
    for (const std::size_t dim : llvm::reverse(order))
      if (blocks.counts[dim] < dims.extent(dim))
        loops.push_back({dim, blocks.counts[dim]});
  }

  const WorkDims &dims;
  const Machine &machine;
  LocalNest &nest;
  const ReorderChoice blocks;
  const int64_t elementBytes;
};

} // namespace

void reorderNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest) {
  ReorderNest(dims, type, machine, nest).run();
}

} // namespace einsumc
