//===- ReorderNest.cpp - the loops of contractions whose tensors have different orders --------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Loops around the blocks that `chooseReordering` gives.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/Nests.h"
#include "compiler/plan/ReorderChoice.h"

namespace einsumc {

namespace {

class ReorderNest {
public:
  ReorderNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest)
      : dims(dims), machine(machine), nest(nest), blocks(chooseReordering(dims, type, machine)),
        type(type) {}

  void run() {
    nest.kernel = NestKernel::Reorder;
    for (const std::size_t dim : blocks.order)
      nest.block.dims.push_back({dim, blocks.counts[dim]});
    nest.vectorDims = blocks.vectorDims;
    nest.left = access(Role::A);
    nest.right = access(Role::B);
    nest.leftEachTime = blocks.isPackedEachTime(dims, Role::A);
    nest.rightEachTime = blocks.isPackedEachTime(dims, Role::B);
    nest.resultThroughScratch = blocks.isPacked(Role::C);
    for (std::size_t role = 0; role < nest.blockElements.size(); ++role)
      nest.blockElements[role] = elementsOf(static_cast<Role>(role));
    shareLoops(dims, machine, blocks.counts, nest);
    nest.resultPastCaches = isResultPastCaches(dims, type, nest);
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

  const WorkDims &dims;
  const Machine &machine;
  LocalNest &nest;
  const ReorderChoice blocks;
  const ElementType type;
};

} // namespace

void reorderNest(const WorkDims &dims, ElementType type, const Machine &machine, LocalNest &nest) {
  ReorderNest(dims, type, machine, nest).run();
}

} // namespace einsumc
