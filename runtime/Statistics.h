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

/// The measurements of one or more runs, equal on all ranks. Times are those of the slowest rank,
/// their medians over the runs; traffic is that of one run, summed over the ranks.
struct Statistics {
  struct Node {
    double seconds = 0;
    double waitSeconds = 0;
    Traffic traffic;
  };
  double seconds = 0;
  double waitSeconds = 0;
  double setupSeconds = 0;
  double inputSeconds = 0;
  Traffic traffic;
  int64_t peakBytes = 0;   ///< of the rank that held most
  int64_t tensorBytes = 0; ///< the part of tensors, of the rank that held most of them
  int repeat = 0;
  std::vector<Node> nodes;
};

/// Collects the measurements of the runs.
class Recorder {
public:
  /// Collective: adds a run that just ended, of which this rank's clock says \p seconds.
  void addRun(const Session &session, double seconds);
  /// Collective.
  Statistics finish(Session &session, double setupSeconds, double inputSeconds) const;

private:
  struct Run {
    std::vector<double> times; ///< of the run, its waiting, and of every node the same two
    std::vector<Traffic> traffic;
  };
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

/// Floating-point operations of one run.
double totalFlops(const ProgramDescription &description);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_STATISTICS_H
