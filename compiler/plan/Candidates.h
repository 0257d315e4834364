//===- Candidates.h - the schedules of a node that are worth a thought ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_CANDIDATES_H
#define EINSUMC_PLAN_CANDIDATES_H

#include "compiler/plan/Cost.h"
#include "compiler/plan/RankTimes.h"
#include "compiler/plan/WorkCuts.h"

#include <vector>

namespace einsumc {

/// A schedule of a node, with what follows from it whatever its neighbours do.
struct Candidate {
  NodeSchedule schedule;
  RunCost cost;
  /// The seconds, with what is added for doubt: an estimate has errors, the larger the more there
  /// is to it, and of two schedules that are about as fast the simpler one is to be chosen.
  double score = 0;
  std::vector<Placement> needs; ///< by operand: where it must lie
  std::vector<bool> areChunks;  ///< by operand: what is stored so is sent in chunks
  double bytes = 0;             ///< that the busiest rank stores for it; 0 unless memory is short
  Placement home;               ///< where the result lies afterwards
};

/// Bytes that the busiest rank stores for a node beside its operands and its result: sums before
/// they are added up, and chunks under way.
double bytesBeside(const Tree &tree, NodeId node, const NodeSchedule &on);

/// A schedule as a candidate.
Candidate candidateOf(const Tree &tree, NodeId node, NodeSchedule schedule, const Machine &machine,
                      const TransferCost &transfers);

struct CandidateLimits {
  CutLimits cuts;
  std::size_t chunkDims = 3; ///< along which the chunks of a traveller are cut
  std::size_t candidates = 64;
  /// Memory is short: chunks also move in smaller parts, and what needs fewer bytes is kept.
  bool isSparing = false;
};

/// The node's candidates on some ranks, the fastest first: for every cut of the work (`workCuts`),
/// and for one rank and all these ranks that compute the same, every way in which the model lets
/// the travellers move. An operand that is collected before the compute counts as one that must be
/// there, since where it comes from is its own choice.
///
/// Left out is what another candidate with moves before and after it does at least as fast, and,
/// when memory is short, with no more bytes. Beyond the limit there are, of all ranks along one
/// dim, each dim's fastest.
std::vector<Candidate> candidatesOf(const Tree &tree, NodeId node, const Machine &machine,
                                    const TransferCost &transfers, const RankRange &ranks,
                                    const std::vector<int> &lifetimes,
                                    const CandidateLimits &limits);

} // namespace einsumc

#endif // EINSUMC_PLAN_CANDIDATES_H
