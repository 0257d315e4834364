//===- StepProgram.h - the steps and transfers of one rank ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_STEPPROGRAM_H
#define EINSUMC_RUNTIME_STEPPROGRAM_H

#include "InPlaceSteps.h"
#include "StepLists.h"

#include "einsumc/Exchange.h"
#include "einsumc/SteppingLoop.h"

#include <array>
#include <memory>
#include <vector>

namespace einsumc {

/// What one rank does in every run of a stepping loop, worked out once: its steps, and the
/// transfers with what each waits for. Those of a lane start in its order.
///
/// A transfer into a slot waits until the slot's last user is computed and, where that was sent on,
/// its send is complete. As every wait is for something of an earlier step, on this rank or on a
/// peer, the waits cannot form a circle.
template <class T> class StepProgram {
public:
  /// \param tensors by role
  /// \param chunks by traveller: offset in the storage of its chunkMemory
  StepProgram(const Session &session, const Stepping &stepping,
              const std::array<const Tensor<T> *, 3> &tensors, const SharedStorage &storage,
              const std::vector<std::size_t> &chunks, int tag);

  const std::vector<Step<T>> &steps() const { return lists.steps; }
  const std::vector<Step<T>> &shapes() const { return shapeList; }
  const std::vector<StepTransfer> &transfers() const { return lists.transfers; }
  const std::vector<std::vector<std::size_t>> &lanes() const { return lists.lanes; }
  /// What this rank counts as sent in a run.
  Traffic traffic() const { return lists.sent; }
  /// A part of a tensor that other ranks fetch from this one or add to, one-sided.
  struct Exposed {
    Box box;
    T *place = nullptr; ///< contiguous; in the tensor itself or packed beside it
    const Tensor<T> *tensor = nullptr;
    bool isResult = false;
    bool isPacked = false;
  };
  const std::vector<Exposed> &exposed() const { return exposedList; }
  /// A rank without work still owns zeros.
  bool hasNothingToSum() const { return isIdle; }

private:
  class Builder;
  /// Where the ranks expose what they store of a one-sided traveller.
  struct Exposure {
    const MemoryWindow *window = nullptr;
    std::size_t offset = 0; ///< in bytes, the same on all ranks
  };
  /// How the chunks of a traveller come and go.
  struct Means {
    std::unique_ptr<Communicator> group; ///< the ranks of its axis that share it
    Exposure exposure;
    LineMemory inPlace; ///< without a line: they are sent
  };
  Means meansOf(const Session &session, const Stepping &stepping, std::size_t t,
                const Tensor<T> &tensor, const SharedStorage &storage, std::size_t chunks) const;

  StepLists<T> lists;
  std::vector<Step<T>> shapeList;
  std::vector<Means> means; ///< by traveller
  std::vector<Exposed> exposedList;
  bool isIdle = false;
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_STEPPROGRAM_H
