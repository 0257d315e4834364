//===- BlockPanels.h - how a block's rows fall into panels and vectors ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_BLOCKPANELS_H
#define EINSUMC_PLAN_BLOCKPANELS_H

#include "compiler/plan/BlockChoice.h"
#include "compiler/plan/WorkDims.h"

namespace einsumc {

/// A packed block of L is a row of panels, each of which holds the first `dims` dims of m that the
/// block has, of the last of these `count` indices.
struct BlockPanels {
  std::size_t dims = 0;
  int64_t count = 0;
};

/// The dims of a class that a task of a contraction goes along, the fastest in a role's tensor
/// first. Of those of one index, batches need none.
DimIndices dimsOfTask(const WorkDims &dims, DimClass dimClass, Role role,
                      const DimCounts &taskCounts);

/// The panels of a packed L.
/// \param most elements along m of one
BlockPanels panelsOf(const WorkDims &dims, const BlockChoice &blocks, int64_t most);

/// Indices of a dim of which panels of all the next one's are full: from \p least to \p most, which
/// is also the number of rows of a panel.
/// \param extent, next of the dims
/// \param lanes of a vector
int64_t countOfFullPanels(int64_t extent, int64_t next, int64_t least, int64_t most, int64_t lanes);

/// Elements along m with which panels across dims have full vectors, or the fullest; 1: those along
/// C's dim do.
/// \param full the share of lanes that is enough
int64_t rowsToFill(const WorkDims &dims, const BlockLimits &limits, double full);

/// Neighbours in C that a block has: rows along m, and columns of them.
struct RunOfColumns {
  int64_t rows = 1, columns = 1;
};
RunOfColumns runOfColumns(const WorkDims &dims, const DimCounts &counts);

/// BlockChoice::columnTogether of blocks that are otherwise chosen.
int64_t columnTogether(const WorkDims &dims, const BlockChoice &blocks, const BlockLimits &limits,
                       int64_t elementBytes);

/// Whether panels of such blocks should go across dims.
bool shouldGoAcross(const WorkDims &dims, const BlockChoice &blocks, const BlockLimits &limits);

/// The share of the vectors' lanes that kernels fill with rows of whole blocks; shorter ones at the
/// ends of dims are left out.
/// \pre no columns are written together
/// \param lanes of a vector
/// \param run rows that follow each other where tiles are written, if kernels write them there; 0:
/// they are brought there from a buffer
double fullnessOf(const WorkDims &dims, const BlockChoice &blocks, int64_t lanes, int64_t run);

} // namespace einsumc

#endif // EINSUMC_PLAN_BLOCKPANELS_H
