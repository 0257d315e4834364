//===- FixedSchedule.h - what the user decided of the schedule --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_FIXEDSCHEDULE_H
#define EINSUMC_TOOLS_FIXEDSCHEDULE_H

#include "Options.h"

#include "compiler/ir/Machine.h"
#include "compiler/ir/ReadPlan.h"
#include "compiler/lower/MemoryNeed.h"

#include <optional>

namespace einsumc {

/// The schedules that --plan, --slice and --algorithm fix; --slice and --algorithm win, a named
/// node over `*`. `*` passes over nodes that lack the dims that the algorithm needs. The dims that
/// an algorithm leaves open are those that take the least time on the machine.
/// \param tree as it is before it is sliced
std::optional<PartialSchedule> fixedSchedule(const Tree &tree, const Machine &machine,
                                             const Options &options, Diagnostics &diagnostics);

/// Whether what every rank needs fits so many bytes; if not says what is missing and which tensor
/// is the largest.
bool checkMemory(const Tree &tree, const Schedule &schedule, const MemoryNeed &need,
                 int64_t memory);

} // namespace einsumc

#endif // EINSUMC_TOOLS_FIXEDSCHEDULE_H
