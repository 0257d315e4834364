//===- BlockLimits.h - how large blocks should be on a machine ----------------------*- C++ -*-===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_BLOCKLIMITS_H
#define EINSUMC_PLAN_BLOCKLIMITS_H

#include "compiler/ir/Machine.h"

#include "einsumc/BlockTiles.h"

#include <cstdint>

namespace einsumc {

/// How large blocks should be on a machine.
struct BlockLimits {
  int64_t leftBytes = 0; ///< of L, or of C in scratch, which stays in the second-level cache
  int64_t streamedLeftBytes = 0; ///< the same where kernels go through it only once or twice
  int64_t rightBytes = 0;        ///< of R, which is streamed from the third-level cache
  bool isRightFar = false;       ///< that is as slow as memory
  int64_t panelRows = 0;         ///< elements along m of a panel of packed L
  /// Elements of the result along n with which L is streamed.
  static constexpr int64_t kFewColumns = 96;
  /// Elements of a block along m: beyond these, longer ones gain nothing.
  static constexpr int64_t kMostM = 2048;

  BlockLimits(const Machine &machine, int64_t elementBytes);
  /// Elements of a vector.
  int64_t lanes() const { return panelRows / tiles::kPanelVectors; }
  /// The share of the lanes that are full in vectors of so many rows.
  double fullness(int64_t rows) const;
};

} // namespace einsumc

#endif // EINSUMC_PLAN_BLOCKLIMITS_H
