//===- StepCost.h - what a stepping loop is predicted to take ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_STEPCOST_H
#define EINSUMC_PLAN_STEPCOST_H

#include "compiler/ir/Machine.h"
#include "compiler/ir/Schedule.h"
#include "compiler/plan/StepSeconds.h"

#include <vector>

namespace einsumc {

/// The prediction for the steps of one node.
struct StepCost {
  double seconds = 0;         ///< from the first step to the end of the last transfer
  double computeSeconds = 0;  ///< of all steps
  double transferSeconds = 0; ///< of all transfers, hidden or not
  double hidingSeconds = 0;   ///< of each step's compute: what messages behind it take of threads
};

/// Plays the steps of the grid's first rank, which has the largest blocks: transfers, one after the
/// other at alpha + beta w, run while steps compute; a step waits for its chunks, and a transfer
/// for the slot that it goes to. A chunk that is broadcast to q ranks takes alpha log2 q + 2
/// (q-1)/q beta w (R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of Collective
/// Communication Operations in MPICH", IJHPCA 19, 2005), or beta w log2 q where that is less; a
/// root that streams serves all ranks in turn. Of long
/// loops all steps are taken to be alike.
/// \param parts of the node
/// \param links by traveller
StepCost stepCost(PartSeconds &parts, const Stepping &stepping, const std::vector<Link> &links);

/// What the steps take at least, in a fraction of the time that playing them takes: nothing of
/// `stepCost` is less. They compute no faster than the best tile kernel, and each rank's line sends
/// all chunks but the largest.
StepCost stepBound(const Tree &tree, const Stepping &stepping, const Machine &machine,
                   const std::vector<Link> &links);

} // namespace einsumc

#endif // EINSUMC_PLAN_STEPCOST_H
