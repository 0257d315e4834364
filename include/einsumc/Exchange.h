//===- Exchange.h - a tensor from one layout to another ---------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_EXCHANGE_H
#define EINSUMC_EXCHANGE_H

#include "einsumc/Communicator.h"
#include "einsumc/ExchangePlan.h"
#include "einsumc/Tensor.h"
#include "einsumc/Trace.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace einsumc {

/// What a rank sent: payload bytes and messages between different ranks.
struct Traffic {
  int64_t bytes = 0;
  int64_t messages = 0;
  int64_t inPlaceBytes = 0; ///< of these bytes, what stayed where it was for the other to use

  Traffic &operator+=(const Traffic &other) {
    bytes += other.bytes;
    messages += other.messages;
    inPlaceBytes += other.inPlaceBytes;
    return *this;
  }
};

class MessageSpans;

/// Moves a tensor from one layout to another, any to any; partial sums are added on arrival. The
/// messages are worked out once, at construction. A box that is contiguous in the tensor is sent
/// from and received into its place without a copy, others by way of memory that exchanges share.
template <class T> class Exchange {
public:
  /// Collective over \p comm only in the sense that all ranks must construct the same exchanges in
  /// the same order.
  /// \param memory for messages; its other users do not run at the same time, and it outlives the
  /// exchange.
  /// \param tag of the messages; distinct exchanges of a program use distinct tags.
  Exchange(const Communicator &comm, ScratchMemory &memory, const Layout &source,
           const Layout &target, int tag);
  ~Exchange();

  /// Collective. Returns what this rank sent. The tensors have the layouts of the construction and
  /// share no memory. \pre not called inside an OpenMP parallel region
  /// \param trace where messages and the wait for them are recorded, if anywhere
  Traffic run(const Tensor<T> &source, const Tensor<T> &target, Trace *trace = nullptr);

private:
  T *staged(const ExchangePlan::Step &step) const {
    return reinterpret_cast<T *>(memory.data()) + step.offset;
  }
  Traffic startSends(Requests &requests, MessageSpans &spans, const Tensor<T> &source);
  std::span<T> landing(std::size_t index, const Tensor<T> &target);
  void place(std::size_t index, const Tensor<T> &source, const Tensor<T> &target);

  const Communicator &comm;
  const ScratchMemory &memory;
  int tag;
  const ExchangePlan plan;
};

} // namespace einsumc

#endif // EINSUMC_EXCHANGE_H
