//===- Trace.h - what every thread does when --------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TRACE_H
#define EINSUMC_TRACE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace einsumc {

/// What a thread spends its time on.
enum class Activity : uint8_t {
  Node,     ///< the evaluation of a node, from its first message to its last; of thread 0
  Pack,     ///< copies a block of an operand into scratch
  Kernel,   ///< multiplies: a block, or all blocks of a thread
  Reduce,   ///< adds up the sums of the threads
  Exchange, ///< moves a tensor from one layout to another: copies, messages, and the wait for them
  Wait,     ///< waits for messages
  Step,     ///< computes a step of a node; of thread 0
  Send,     ///< a message of this rank is under way
  Receive,  ///< a message to this rank is expected or under way, or a chunk is fetched
};

/// A stretch of time of one thread, in nanoseconds on this rank's steady clock.
struct TraceEvent {
  int64_t begin = 0;
  int64_t end = 0;
  int32_t node = -1; ///< index in the order of evaluation; -1: none
  Activity activity = Activity::Node;
};

/// A message, in nanoseconds on this rank's steady clock: from when it was started on this rank to
/// when this rank saw that it was complete. Several may be under way at a time.
struct TransferEvent {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t bytes = 0;
  int32_t node = -1; ///< index in the order of evaluation; -1: none
  int32_t peer = 0;  ///< the rank that it goes to or comes from
  Activity activity = Activity::Send;
};

/// The events of one rank, in one run of its program. A thread writes to memory of its own, all of
/// it there before the run: nothing is locked or allocated meanwhile.
///
/// A thread keeps at most `eventsPerThread` events, and of those of blocks (Pack, Kernel) at most
/// three quarters as many, in which every node has its share: of a node with more blocks the later
/// ones are dropped, and counted. Nodes are always kept. A rank keeps as many transfers as a thread
/// events, and every node has its share of them.
class Trace {
public:
  /// 1.5 MiB a thread, and about 7 MiB of JSON: viewers take no more than some hundreds of MiB.
  static constexpr std::size_t kEventsPerThread = std::size_t{1} << 16;

  /// \param nodes of the program
  /// \param threads of the OpenMP team
  Trace(std::size_t nodes, int threads, std::size_t eventsPerThread = kEventsPerThread);

  /// Nanoseconds on the steady clock.
  static int64_t now() noexcept;

  /// Called by thread 0 around every node, outside of parallel regions.
  void beginNode(int index) noexcept;
  void endNode() noexcept;
  /// Adds an event of the calling OpenMP thread that began at \p begin and ends now.
  /// \pre the calling thread is one of the team
  void add(Activity activity, int64_t begin) noexcept;
  /// Adds a message of the current node that began at \p begin and is complete now. Called by any
  /// thread, one at a time: one that calls it after another one synchronises with that one.
  /// \param activity Send or Receive
  void addTransfer(Activity activity, int64_t begin, int32_t peer, int64_t bytes) noexcept;

  /// The evaluations of nodes.
  const std::vector<TraceEvent> &nodes() const { return nodeEvents; }
  int threads() const { return static_cast<int>(lanes.size()); }
  /// The other events of a thread, in the order of their ends.
  std::span<const TraceEvent> events(int thread) const {
    return lanes[static_cast<std::size_t>(thread)].events;
  }
  /// The messages, in the order of their ends.
  std::span<const TransferEvent> transfers() const { return transferLane.events; }
  /// Events and transfers for which there was no room, of all threads.
  int64_t dropped() const;

private:
  /// What is written by one thread at a time, on cache lines of its own.
  template <class Event> struct alignas(64) Lane {
    std::vector<Event> events;
    std::size_t limit = 0; ///< with so many events those of which nodes have shares are dropped...
    int32_t node = -2;     ///< ...while it works on this node; at first on none
    int64_t dropped = 0;
  };
  template <class Event>
  void shareRoom(Lane<Event> &lane, int32_t current, std::size_t room) const noexcept;

  std::size_t nodeCount;
  std::size_t eventsPerThread;
  std::vector<Lane<TraceEvent>> lanes; ///< by thread
  Lane<TransferEvent> transferLane;
  std::vector<TraceEvent> nodeEvents;
  std::atomic<int32_t> node = -1; ///< the current one, which the thread of transfers reads
  int64_t nodeBegin = 0;
};

/// Adds an event to a trace that lasts as long as this object; none when there is no trace, and
/// then it costs a branch at both ends.
class [[nodiscard]] TraceSpan {
public:
  TraceSpan(Trace *trace, Activity activity) noexcept
      : trace(trace), begin(trace == nullptr ? 0 : Trace::now()), activity(activity) {}
  ~TraceSpan() {
    if (trace != nullptr)
      trace->add(activity, begin);
  }
  TraceSpan(const TraceSpan &) = delete;
  TraceSpan &operator=(const TraceSpan &) = delete;

private:
  Trace *trace;
  int64_t begin;
  Activity activity;
};

} // namespace einsumc

#endif // EINSUMC_TRACE_H
