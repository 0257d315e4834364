//===- LoopGraph.h - a stepping loop as activities --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SIM_LOOPGRAPH_H
#define EINSUMC_SIM_LOOPGRAPH_H

#include "EventEngine.h"

#include "einsumc/Stepping.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace einsumc::sim {

/// What each rank of a line sends in a broadcast along it, or a sum over it, of so many bytes: by
/// rings, twice what all others have.
inline double collectiveBytes(int64_t extent, double bytes) {
  return 2 * static_cast<double>(extent - 1) / static_cast<double>(extent) * bytes;
}

/// How a loop's transfers are played: rank by rank, or by few that stand for all.
class LoopTransport {
public:
  virtual ~LoopTransport() = default;
  /// The ranks whose steps are played.
  virtual std::vector<int64_t> ranks() const = 0;
  /// The one among them that plays a rank's part.
  virtual int64_t standInFor(int64_t rank) const = 0;
  /// The chunks of an operand that come to a rank, or of a result that leave it, in the order of
  /// the steps.
  virtual std::vector<Passage> passages(const StepTable &table, std::size_t traveller) const = 0;
  /// A message that step `step` of rank `to` waits for, or, of a result, that step's of `from`.
  virtual EventEngine::Id message(std::size_t traveller, std::size_t step, int64_t from, int64_t to,
                                  double bytes) = 0;
  /// A step's broadcast to all of a rank's axis, or the sum over it.
  virtual EventEngine::Id collective(std::size_t traveller, std::size_t step, int64_t rank,
                                     double bytes) = 0;
};

/// One rank's part of a loop.
struct LoopPart {
  int64_t rank = 0;
  std::vector<EventEngine::Id> steps; ///< what it computes, one after the other
  std::vector<EventEngine::Id> transfers;
};

/// Adds the activities of a loop: the steps of each rank one after the other, and beside them, as
/// the runtime's communication thread has them, the transfers. A step waits for its chunks; a
/// transfer for its data and for the slot that it goes to, two for a traveller (`pace` + 1 for
/// sums that rotate). The messages of a traveller reach a rank one after the other.
/// \param begin of a rank: what all of its part comes after
/// \param seconds that a box of work takes in a step
std::vector<LoopPart> addLoop(EventEngine &engine, const Stepping &stepping, double elementBytes,
                              LoopTransport &transport,
                              const std::function<EventEngine::Id(int64_t rank)> &begin,
                              const std::function<double(const Box &, std::size_t step)> &seconds);

} // namespace einsumc::sim

#endif // EINSUMC_SIM_LOOPGRAPH_H
