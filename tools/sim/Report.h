//===- Report.h - a simulation for people and for programs ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SIM_REPORT_H
#define EINSUMC_SIM_REPORT_H

#include "Simulation.h"

#include "llvm/Support/raw_ostream.h"

#include <cstddef>
#include <cstdint>

namespace einsumc::sim {

/// What was simulated.
struct Subject {
  const Tree &tree;
  const Machine &machine;
  const Schedule &schedule;
  const Network &network;
  const double bytes; ///< that the busiest rank needs: tensors, messages and scratch
};

/// The tree's flops over those that all ranks could do at their peak in that time.
double efficiency(const Subject &subject, double seconds);

/// A table of the nodes, and of the \p busiest links.
void printTable(const Subject &subject, const Simulation &simulation, std::size_t busiest,
                llvm::raw_ostream &out);

/// One JSON object.
void printJson(const Subject &subject, const Simulation &simulation, std::size_t busiest,
               llvm::raw_ostream &out);

} // namespace einsumc::sim

#endif // EINSUMC_SIM_REPORT_H
