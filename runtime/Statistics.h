//===- Statistics.h - what a program measured about itself ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_STATISTICS_H
#define EINSUMC_RUNTIME_STATISTICS_H

#include "einsumc/Program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace einsumc {

/// The measurements of one or more runs, each of all slices, equal on all ranks. Times are those of
/// the slowest rank, of slices added up, their medians over the runs; traffic is that of one run,
/// summed over the ranks.
struct Statistics {
  struct Node {
    double seconds = 0;
    double waitSeconds = 0;
    Traffic traffic;
  };
  double seconds = 0;
  double waitSeconds = 0;
  double setupSeconds = 0;
  double inputSeconds = 0;      ///< before the first run
  double sliceInputSeconds = 0; ///< of one run
  Traffic traffic;
  int64_t peakBytes = 0;   ///< of the rank that held most
  int64_t tensorBytes = 0; ///< the part of tensors, of the rank that held most of them
  int repeat = 0;
  std::vector<Node> nodes;
};

/// Collects the measurements of the runs.
class Recorder {
public:
  /// What is added belongs to a new run.
  void startRun();
  /// Collective: adds a slice that just ended, of which this rank's clock says \p seconds.
  void addSlice(const Session &session, double seconds);
  /// Collective: seconds of the run that are no node's.
  void addSeconds(const Session &session, double seconds);
  /// Collective: seconds that the inputs of slices took.
  void addInputSeconds(const Session &session, double seconds);
  /// Collective: adds a run that just ended, as its only slice.
  void addRun(const Session &session, double seconds);
  /// Collective.
  Statistics finish(Session &session, double setupSeconds, double inputSeconds) const;

private:
  struct Run {
    /// Of the run, its waiting, the inputs of its slices; of every node its run and its waiting.
    std::vector<double> times = std::vector<double>(kFirstNode);
    std::vector<Traffic> traffic;
  };
  static constexpr std::size_t kSeconds = 0, kWait = 1, kInputs = 2, kFirstNode = 3;
  std::vector<Run> runs;
};

/// The JSON object that docs/programs.md documents.
std::string formatStatistics(const Statistics &statistics, const ProgramDescription &description,
                             int threads);

/// One or two lines for people.
std::string summarize(const Statistics &statistics, const ProgramDescription &description,
                      int threads);

/// The name and version of the MPI library, on one line.
std::string mpiLibrary();

/// Floating-point operations of one run, all its slices together.
double totalFlops(const ProgramDescription &description);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_STATISTICS_H
