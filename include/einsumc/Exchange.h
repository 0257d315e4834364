//===- Exchange.h - a tensor from one layout to another ---------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_EXCHANGE_H
#define EINSUMC_EXCHANGE_H

#include "einsumc/Communicator.h"
#include "einsumc/Tensor.h"
#include "einsumc/Trace.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace einsumc {

/// What a rank sent: payload bytes and messages between different ranks.
struct Traffic {
  int64_t bytes = 0;
  int64_t messages = 0;
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
  /// How a transfer is carried out. The partial sums of one box form a chain, by sender, and are
  /// added in this order whatever the order of their arrival: results are the same in every run.
  struct Step {
    bool inPlace = false;   ///< sent from or received into its place in the tensor
    std::size_t offset = 0; ///< else: its place in the memory for messages, in elements
    bool isFirst = true;    ///< of its chain: overwrites the box, where the others add
    int next = -1;          ///< incoming transfer that follows in the chain; -1: none
  };
  void planReceives(const Box &block);
  void planSends(const Box &block);
  T *staged(const Step &step) const { return reinterpret_cast<T *>(memory.data()) + step.offset; }
  Traffic startSends(Requests &requests, MessageSpans &spans, const Tensor<T> &source);
  std::span<T> landing(std::size_t index, const Tensor<T> &target);
  void place(std::size_t index, const Tensor<T> &source, const Tensor<T> &target);

  const Communicator &comm;
  const ScratchMemory &memory;
  int tag;
  std::vector<Transfer> incoming; ///< by sender, the own part included
  std::vector<Transfer> outgoing; ///< by receiver, from the next rank on, without the own part
  std::vector<Step> receiveSteps; ///< one an incoming transfer
  std::vector<Step> sendSteps;    ///< one an outgoing transfer
  std::size_t stagedElements = 0; ///< of all messages that are not sent or received in place
};

} // namespace einsumc

#endif // EINSUMC_EXCHANGE_H
