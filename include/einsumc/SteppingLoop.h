//===- SteppingLoop.h - a node that computes while tensors move -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_STEPPINGLOOP_H
#define EINSUMC_STEPPINGLOOP_H

#include "einsumc/Program.h"
#include "einsumc/SharedStorage.h"
#include "einsumc/Stepping.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace einsumc {

/// A block of a tensor, in memory that a Tensor or a chunk under way has.
template <class T> class BlockView {
public:
  BlockView() = default;
  /// A block that lies row-major at \p elements.
  BlockView(T *elements, Box block);
  /// A part of a block that lies row-major at \p elements.
  BlockView(T *elements, const Box &block, Box part);

  T *data() const { return elements; }
  const Box &box() const { return block; }
  int64_t size() const { return volume(block); }
  int64_t stride(std::size_t position) const { return strides[position]; }
  /// The element at a global index that lies in the block.
  T *at(std::initializer_list<int64_t> index) const {
    T *element = elements;
    std::size_t position = 0;
    for (const int64_t i : index) {
      element += (i - block[position].begin) * strides[position];
      ++position;
    }
    return element;
  }

private:
  T *elements = nullptr;
  Box block;
  std::vector<int64_t> strides;
};

/// What a rank computes in one step, and where: C[work] (+)= A[work] * B[work].
template <class T> struct Step {
  Box work;              ///< over the node's dims; not empty
  BlockView<T> a, b;     ///< blocks that hold at least the work's part of the operands, to be read
  BlockView<T> c;        ///< a block that holds at least the work's part of the result
  bool adds = false;     ///< to what is in c, which is not to be read otherwise
  std::size_t shape = 0; ///< index into SteppingLoop::shapes
};

/// The steps of a node on this rank. A thread of its own (CommunicationThread) sends, receives and
/// fetches the chunks of the next steps while the caller computes one; the caller waits only for
/// chunks that have not come yet. Ranks of a host compute with each other's chunks where they are,
/// if they may (Session::memoryFor); they then meet once before and once after.
template <class T> class SteppingLoop {
public:
  /// Collective over the session's ranks, those that are not on the grid included.
  /// \param a, b, c where the operands are stored and the result ends; they, the storage and the
  /// session outlive the loop; where an operand's place is a slot (`ChunkMemory::homeSlots`) there
  /// is room for `slotElements`
  /// \param chunks by traveller: offset in the storage of its `chunkMemory`
  /// \param tag first of as many as there are travellers, used by no other
  /// \param maxPiece the largest MPI message in bytes; a parameter so that tests can make it small
  SteppingLoop(Session &session, const Stepping &stepping, const Tensor<T> &a, const Tensor<T> &b,
               const Tensor<T> &c, const SharedStorage &storage,
               std::initializer_list<std::size_t> chunks, int tag,
               std::size_t maxPiece = std::size_t{1} << 30);
  ~SteppingLoop();
  SteppingLoop(const SteppingLoop &) = delete;
  SteppingLoop &operator=(const SteppingLoop &) = delete;

  /// Steps as large and laid out as those to come, one of each kind, to prepare kernels for: what
  /// steps of a shape have in common are the extents of the work, the strides of the blocks, and
  /// where the work begins in them.
  const std::vector<Step<T>> &shapes() const;

  /// Starts a run. Collective over the grid; the operands are in place. No other MPI call of this
  /// rank until `next` has returned nullptr.
  void begin();
  /// The next step, once its chunks are there; that before has been computed. nullptr after the
  /// last: then the result is complete and the operands may be overwritten.
  /// \throws Error if a transfer failed
  const Step<T> *next();

private:
  class Run;
  std::unique_ptr<Run> run;
};

/// Objects that each compute the steps of one shape: Compute(session, shape).
template <class Compute, class T>
std::vector<Compute> forShapes(const Session &session, const SteppingLoop<T> &loop) {
  std::vector<Compute> result;
  result.reserve(loop.shapes().size());
  for (const Step<T> &shape : loop.shapes())
    result.emplace_back(session, shape);
  return result;
}

} // namespace einsumc

#endif // EINSUMC_STEPPINGLOOP_H
