//===- EventEngine.h - activities that wait for each other and share links --------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SIM_EVENTENGINE_H
#define EINSUMC_SIM_EVENTENGINE_H

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace einsumc::sim {

/// What a byte of a flow takes of a link's time.
struct LinkShare {
  std::size_t link = 0;
  double secondsPerByte = 0;
};

/// Plays a graph of activities. An activity begins when all those before it are over. A delay takes
/// its time. A flow waits its latency, then shares links with the flows of that time: their rates,
/// in bytes a second, are max-min fair (D. Bertsekas and R. Gallager, "Data Networks", 2nd ed.,
/// section 6.5.2): all grow alike until a link has no time left, which fixes those of its flows.
class EventEngine {
public:
  using Id = uint32_t;

  explicit EventEngine(std::size_t links) : linkCount(links) {}

  /// Seconds of compute, or 0: over as soon as all that is before it.
  Id addDelay(double seconds);
  /// \param shares of links, at least one of more than 0 if there are bytes
  Id addFlow(double latency, double bytes, std::vector<LinkShare> shares);
  void after(Id later, Id earlier);

  /// Plays everything, once. \throws std::logic_error if activities wait for each other
  void run();
  double begin(Id id) const { return activities[id].begin; }
  double end(Id id) const { return activities[id].end; }
  /// The time in which any of them lasts.
  double coverage(std::vector<Id> ids) const;

private:
  struct Activity {
    double seconds = 0; ///< delay or latency
    double bytes = 0;   ///< still to go
    std::vector<LinkShare> shares;
    std::vector<Id> later;
    int32_t missing = 0; ///< activities before it
    double rate = 0;     ///< bytes a second
    double begin = 0, end = -1;
  };
  struct Timer {
    double when = 0;
    Id id = 0;
    auto operator<=>(const Timer &) const = default;
  };

  void start(Id id, double now);
  void finish(Id id, double now);
  /// When the first flow is over as things are, or infinity.
  double nextFlowEnd(double now) const;
  void moveFlows(double seconds);
  void finishFlows(double now);
  void shareLinks();
  bool freezeFlowsOf(double rate);

  std::size_t linkCount;
  std::vector<Activity> activities;
  std::vector<Timer> timers; ///< a heap
  std::vector<Id> flows;     ///< under way
  bool areRatesOld = false;
  std::size_t over = 0;
  // By link, of flows whose rates are still to be found.
  std::vector<double> timeLeft, demand;
  std::vector<std::size_t> usedLinks;
};

} // namespace einsumc::sim

#endif // EINSUMC_SIM_EVENTENGINE_H
