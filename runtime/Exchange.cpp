//===- Exchange.cpp - a tensor from one layout to another -------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Exchange.h"

#include "BoxView.h"
#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <utility>

namespace einsumc {

namespace {

/// Copies (or adds) a box of one row-major block to where it lies in another.
template <class T>
void moveBox(const Box &box, T *to, const Box &toBlock, const T *from, const Box &fromBlock,
             bool adds) {
  const BoxView toView(box, toBlock);
  const BoxView fromView(box, fromBlock);
  const std::vector<CopyLoop> loops = copyLoops(box, toView, fromView);
  if (adds)
    addStrided<T>(to + toView.offset, from + fromView.offset, std::span<const CopyLoop>(loops));
  else
    copyParallel<T>(to + toView.offset, from + fromView.offset, std::span<const CopyLoop>(loops));
}

} // namespace

/// The messages of one run for its trace, if there is one, numbered as they are started.
class MessageSpans {
public:
  explicit MessageSpans(Trace *trace) : trace(trace) {}

  void start(Activity activity, int64_t peer, std::size_t bytes) {
    if (trace != nullptr)
      started.push_back({.begin = Trace::now(),
                         .bytes = static_cast<int64_t>(bytes),
                         .peer = static_cast<int32_t>(peer),
                         .activity = activity});
  }
  void complete(std::size_t message) const {
    if (trace == nullptr)
      return;
    const TransferEvent &event = started[message];
    trace->addTransfer(event.activity, event.begin, event.peer, event.bytes);
  }

private:
  Trace *trace;
  std::vector<TransferEvent> started;
};

template <class T>
Exchange<T>::Exchange(const Communicator &comm, ScratchMemory &memory, const Layout &source,
                      const Layout &target, int tag)
    : comm(comm), memory(memory), tag(tag), plan(planExchange(source, target, comm.rank())) {
  memory.reserve(plan.stagedElements * sizeof(T));
}

template <class T>
Traffic Exchange<T>::startSends(Requests &requests, MessageSpans &spans, const Tensor<T> &source) {
  Traffic traffic;
  for (std::size_t i = 0; i < plan.outgoing.size(); ++i) {
    const Box &box = plan.outgoing[i].box;
    T *data = nullptr;
    if (plan.sends[i].inPlace) {
      data = source.data() + BoxView(box, source.box()).offset;
    } else {
      data = staged(plan.sends[i]);
      moveBox<T>(box, data, box, source.data(), source.box(), false);
    }
    const std::span<T> elements(data, static_cast<std::size_t>(volume(box)));
    spans.start(Activity::Send, plan.outgoing[i].to, elements.size_bytes());
    requests.send(std::as_bytes(elements), static_cast<int>(plan.outgoing[i].to), tag);
    traffic.bytes += static_cast<int64_t>(elements.size_bytes());
    ++traffic.messages;
  }
  return traffic;
}

/// Where an incoming message is received.
template <class T> std::span<T> Exchange<T>::landing(std::size_t index, const Tensor<T> &target) {
  const Box &box = plan.incoming[index].box;
  const ExchangePlan::Step &step = plan.receives[index];
  T *data = step.inPlace ? target.data() + BoxView(box, target.box()).offset : staged(step);
  return {data, static_cast<std::size_t>(volume(box))};
}

/// Brings what has arrived (or is here already) from where it landed to its place.
template <class T>
void Exchange<T>::place(std::size_t index, const Tensor<T> &source, const Tensor<T> &target) {
  const Box &box = plan.incoming[index].box;
  const bool adds = !plan.receives[index].isFirst;
  if (plan.incoming[index].from == comm.rank())
    moveBox<T>(box, target.data(), target.box(), source.data(), source.box(), adds);
  else if (!plan.receives[index].inPlace)
    moveBox<T>(box, target.data(), target.box(), landing(index, target).data(), box, adds);
}

template <class T>
Traffic Exchange<T>::run(const Tensor<T> &source, const Tensor<T> &target, Trace *trace) {
  Requests requests(comm);
  MessageSpans spans(trace);
  std::vector<std::size_t> received; // Of every message received: its incoming transfer.
  int own = -1;
  for (std::size_t i = 0; i < plan.incoming.size(); ++i) {
    if (plan.incoming[i].from == comm.rank()) {
      own = static_cast<int>(i);
      continue;
    }
    const std::span<T> elements = landing(i, target);
    spans.start(Activity::Receive, plan.incoming[i].from, elements.size_bytes());
    requests.receive(std::as_writable_bytes(elements), static_cast<int>(plan.incoming[i].from),
                     tag);
    received.push_back(i);
  }
  const Traffic traffic = startSends(requests, spans, source);

  // What a transfer waits for before it is placed: its data and the one before it in its chain.
  std::vector<int> missing(plan.receives.size());
  std::ranges::transform(plan.receives, missing.begin(),
                         [](const ExchangePlan::Step &step) { return step.isFirst ? 1 : 2; });
  auto settle = [&](int index) {
    while (index >= 0 && --missing[static_cast<std::size_t>(index)] == 0) {
      place(static_cast<std::size_t>(index), source, target);
      index = plan.receives[static_cast<std::size_t>(index)].next;
    }
  };
  settle(own);
  const auto waitForNext = [&] {
    const TraceSpan span(trace, Activity::Wait);
    return static_cast<std::size_t>(requests.waitAny());
  };
  for (std::size_t left = received.size() + plan.outgoing.size(); left > 0; --left) {
    const std::size_t message = waitForNext();
    spans.complete(message);
    if (message < received.size())
      settle(static_cast<int>(received[message]));
  }
  return traffic;
}

template <class T> Exchange<T>::~Exchange() = default;

template class Exchange<float>;
template class Exchange<double>;

} // namespace einsumc
