//===- Stepping.h - which chunk every rank computes with in every step ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Pure arithmetic, like Layout.h: the compiler, which predicts messages and memory, and the
// runtime, which sends and allocates, both use it.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_STEPPING_H
#define EINSUMC_STEPPING_H

#include "einsumc/Layout.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace einsumc {

/// How a tensor moves while a node runs in steps.
enum class StepMovement : uint8_t {
  Ring,   ///< A, B: a chunk goes on to the previous rank while it is computed with; C: after it
  Bcast,  ///< A, B: the owner of a chunk sends it to all at a time; C: all add to it at a time
  Get,    ///< A, B: chunks are fetched one-sided from their owners; C: added there one-sided
  Stream, ///< chunks go from the root to the rank that computes with them; C's to the root
};

/// A tensor that moves: an operand (A, B) that ranks need more of than they store, or the result
/// (C), of which they compute more than they store.
struct Traveller {
  std::size_t role = 0; ///< 0: A, 1: B, 2: C
  StepMovement movement = StepMovement::Ring;
  Layout chunks;            ///< how it is stored: on `axis` cut along `position`, or at the root
  std::size_t axis = 0;     ///< of the grid, along which it moves
  std::size_t position = 0; ///< of the tensor
  bool isSpent = false;     ///< an operand that nobody reads when the loop has ended
};

/// The stepping loop of a node: what a rank computes is cut along one dim into the parts of the
/// steps, as the chunks of the travellers are cut along it, and each chunk into `pace` parts.
///
/// One traveller, or A and B in lock step when the dim is summed (L. Cannon, "A cellular computer
/// to implement the Kalman filter algorithm", 1969; R. van de Geijn and J. Watts, "SUMMA", 1997),
/// or all tensors that have the dim when they stream.
struct Stepping {
  Layout work;         ///< of all steps, over the node's dims
  std::size_t dim = 0; ///< of the work
  int64_t pace = 1;
  std::vector<Traveller> travellers;
  bool sums = false; ///< the dim is summed: every step adds to the same part of the result
};

/// Whether ranks of one host can compute with a traveller's chunks where they are stored: with those
/// of operands, and of results that one rank at a time adds to.
inline bool canStayInPlace(const Stepping &stepping, const Traveller &traveller) {
  return stepping.work.grid.extents[traveller.axis] > 1 &&
         (traveller.role != 2 || traveller.movement == StepMovement::Ring ||
          traveller.movement == StepMovement::Stream);
}

/// A message of a traveller, seen from one of its two ranks.
struct Passage {
  static constexpr int64_t kHome = -1;

  int64_t peer = 0;
  /// The step of this rank that computes with what is sent or received; kHome: it lies, or comes
  /// to lie, where the tensor is stored.
  int64_t step = kHome;
  Box box; ///< of the tensor, not empty
  bool operator==(const Passage &) const = default;
};

/// Whether what rotates are sums: a ring over the result.
bool rotatesResult(const Stepping &stepping);

/// What one rank does in every step.
class StepTable {
public:
  /// \pre stepping.work.grid.contains(rank)
  StepTable(const Stepping &stepping, int64_t rank);

  int64_t rank() const { return ownRank; }
  std::size_t steps() const { return table.size(); }
  /// The indices of the dim that a step computes with; may be empty.
  Interval range(std::size_t step) const { return table[step].range; }
  /// The rank's share of the work in a step.
  Box work(std::size_t step) const;
  /// The part of a traveller that a step computes with.
  Box chunk(std::size_t traveller, std::size_t step) const;
  /// The rank that stores it, and the coordinate of that on the traveller's axis.
  int64_t owner(std::size_t traveller, std::size_t step) const;
  int64_t ownerPlace(std::size_t traveller, std::size_t step) const {
    return table[step].owners[traveller];
  }
  bool isOwn(std::size_t traveller, std::size_t step) const {
    return owner(traveller, step) == ownRank;
  }

  /// The messages of a traveller that arrive, in the order of the steps, and those that leave, in
  /// the order of the steps of those who receive them. Of a Ring and a Stream every message, each
  /// in the order in which its peer has it. Of a Bcast and a Get, which are no messages between
  /// two ranks, the chunks that this rank gets (A, B) or does not keep (C), with their owners.
  std::vector<Passage> arrivals(std::size_t traveller) const;
  std::vector<Passage> departures(std::size_t traveller) const;

private:
  struct Step {
    Interval range;
    std::vector<int64_t> owners; ///< by traveller: coordinate on its axis
  };
  bool isResult(std::size_t traveller) const { return stepping.travellers[traveller].role == 2; }
  int64_t coordinate(std::size_t traveller) const;
  int64_t extent(std::size_t traveller) const;
  /// The rank at another coordinate of a traveller's axis.
  int64_t rankAt(std::size_t traveller, int64_t coordinate) const;
  std::vector<Step> chunksInOrder() const;
  std::vector<Step> mergedChunks() const;
  std::size_t firstChunk(const std::vector<Step> &chunks) const;
  /// Whether a step is the first of a round: that of a chunk that did not come from a neighbour.
  bool beginsRound(std::size_t step) const;
  /// The rank from which an operand's chunk comes.
  int64_t source(std::size_t traveller, std::size_t step) const;

  const Stepping &stepping;
  int64_t ownRank;
  std::vector<int64_t> coordinates;
  std::size_t chunkCount = 0; ///< steps for each part of a chunk
  std::vector<Step> table;
};

/// What a stepping loop sends between ranks, summed over them.
struct StepTraffic {
  int64_t elements = 0;
  int64_t messages = 0;
};
StepTraffic trafficOf(const Stepping &stepping);
/// The same of one traveller.
StepTraffic trafficOf(const Stepping &stepping, std::size_t traveller);

/// Memory for the chunks of a traveller beside where it is stored, the same on all ranks.
struct ChunkMemory {
  std::size_t slots = 0; ///< of chunks under way or computed with
  /// So many of them, the first, lie where the tensor is stored. Of the result they are the parts
  /// of a rank's own chunk: its own comes last, until then they serve the others' chunks. Of a
  /// spent operand one is where its block begins: once the own chunk there is computed with and
  /// sent, it serves the others', for which every rank of the grid sets aside at least
  /// `slotElements`.
  std::size_t homeSlots = 0;
  bool stages = false;      ///< parts of chunks are not contiguous where they are stored
  int64_t slotElements = 0; ///< the largest part of a chunk that is computed with at a time
  /// Behind the slots, where chunks are not contiguous: for a part that is sent or received, or,
  /// for one-sided transfers, for all that a rank stores, part after part.
  int64_t stageElements = 0;

  /// From a slot to the next: whole cache lines, of elements of any type.
  int64_t stride() const { return (slotElements + 15) / 16 * 16; }
  /// From the first slot that is set aside to the stage.
  int64_t elementsBeforeStage() const { return stride() * static_cast<int64_t>(slots - homeSlots); }
  int64_t elements() const { return elementsBeforeStage() + stageElements; }
};
ChunkMemory chunkMemory(const Stepping &stepping, std::size_t traveller);
/// What the ranks of the axis that begins at the grid's first rank would need by themselves: they
/// have the largest chunks, so about as much as all do.
ChunkMemory chunkMemoryOfFirstLine(const Stepping &stepping, std::size_t traveller);

} // namespace einsumc

#endif // EINSUMC_STEPPING_H
