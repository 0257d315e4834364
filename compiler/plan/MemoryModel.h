//===- MemoryModel.h - what reading, writing and copying tensors takes ------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_MEMORYMODEL_H
#define EINSUMC_PLAN_MEMORYMODEL_H

#include "compiler/ir/Machine.h"

namespace einsumc {

/// A copy between a tensor and a block in the caches.
struct CopyWork {
  double elements = 0;
  double row = 1; ///< elements that lie next to each other in the tensor
  bool isTransposed = false;
  /// Into a block in scratch, so that lines are asked for here and there.
  bool isPacked = false;
  /// Rows begin or end in the midst of lines that other blocks have the rest of, much later.
  bool readsLinesAgain = false;
};

/// The times of memory traffic, in seconds of one rank, for tensors that together have so many
/// bytes and are found in the smallest cache that holds them.
class MemoryModel {
public:
  MemoryModel(const Machine &machine, double elementBytes, double footprint);

  /// Reading or writing elements that lie next to each other.
  double stream(double elements) const { return elements * elementBytes / bandwidth; }
  /// What reading rows of so many elements in place takes beyond `stream`: kernels wait for the
  /// begin of each row in memory that is shorter than a page, as processors fetch ahead only within
  /// one.
  double waitsForRows(double elements, double row) const {
    const double bytes = row * elementBytes;
    return bytes < kPageBytes ? kShortBytes / bytes * beyondCaches * stream(elements) : 0;
  }
  /// What writing by parts of vectors takes beyond `stream`: in memory, their lines are read first.
  double owning(double elements) const { return kOwning * beyondCaches * stream(elements); }
  /// What rows take beyond `stream`, of which there are so many.
  double rows(double count) const { return count * contiguous.row; }
  /// Copying into a block in the caches, or out of one, or from one order of dims to another.
  double pack(const CopyWork &copy) const;
  /// What pieces of any length take beyond `pack`, whose transposes are of squares that fill
  /// registers: so many times as long as these, for each element.
  double pieces(double elements, double squares) const { return squares * elements * inSquares; }
  /// Writing tiles to a tensor that is contiguous along no m dim of theirs, beyond `stream`.
  double scatter(double elements) const { return elements * elementBytes / scattered; }

private:
  /// How many times as long as writing it takes to get the lines that are written: each is asked
  /// for when it is stored to.
  static constexpr double kOwning = 2;
  /// Bytes of rows that take twice as long as longer ones.
  static constexpr double kShortBytes = 1024;
  static constexpr double kPageBytes = 4096;

  /// A kind of copy of all threads, from where the tensors are.
  struct Copy {
    double element; ///< seconds
    double row;     ///< seconds
  };
  Copy copyOf(const CopyRate &rate, double threads) const;
  /// Seconds a byte that packing waits for the last of the fast caches: it asks for lines here and
  /// there, which come slower than those that follow each other.
  double waitsForCaches(const Machine &machine, double footprint) const;

  double elementBytes;
  double bandwidth;        ///< bytes a second
  double beyondCaches = 1; ///< the share of the footprint that comes from memory
  double cacheWaits;       ///< seconds a byte that packing waits for a far cache
  double scattered;        ///< bytes a second
  double inSquares;        ///< seconds an element of transposes in the caches
  Copy contiguous, transposed;
};

} // namespace einsumc

#endif // EINSUMC_PLAN_MEMORYMODEL_H
