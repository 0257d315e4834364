//===- Trace.h - what every thread does when --------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TRACE_H
#define EINSUMC_TRACE_H

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
  Wait,     ///< waits for messages, within an exchange
};

/// A stretch of time of one thread, in nanoseconds on this rank's steady clock.
struct TraceEvent {
  int64_t begin = 0;
  int64_t end = 0;
  int32_t node = -1; ///< index in the order of evaluation; -1: none
  Activity activity = Activity::Node;
};

/// The events of one rank, in one run of its program. A thread writes to memory of its own, all of
/// it there before the run: nothing is locked or allocated meanwhile.
///
/// A thread keeps at most `eventsPerThread` events, and of those of blocks (Pack, Kernel) at most
/// three quarters as many, in which every node has its share: of a node with more blocks the later
/// ones are dropped, and counted. Nodes are always kept.
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

  /// The evaluations of nodes.
  const std::vector<TraceEvent> &nodes() const { return nodeEvents; }
  int threads() const { return static_cast<int>(lanes.size()); }
  /// The other events of a thread, in the order of their ends.
  std::span<const TraceEvent> events(int thread) const {
    return lanes[static_cast<std::size_t>(thread)].events;
  }
  /// Events for which there was no room, of all threads.
  int64_t dropped() const;

private:
  /// What one thread writes, on cache lines of its own.
  struct alignas(64) Lane {
    std::vector<TraceEvent> events;
    std::size_t blockLimit = 0; ///< with so many events those of blocks are dropped...
    int32_t node = -2;          ///< ...while it works on this node; at first on none
    int64_t dropped = 0;
  };
  void shareRoom(Lane &lane) const noexcept;

  std::size_t nodeCount;
  std::size_t eventsPerThread;
  std::vector<Lane> lanes; ///< by thread
  std::vector<TraceEvent> nodeEvents;
  int32_t node = -1; ///< the current one
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
