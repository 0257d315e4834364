//===- ExplainReason.h - what decided between schedules of a node -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_TOOLS_EXPLAINREASON_H
#define EINSUMC_TOOLS_EXPLAINREASON_H

#include "compiler/plan/Plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace einsumc {

/// In words, what decided for the first alternative of a node against the next: predicted time and
/// where most of the difference lies, what is added for doubt, or memory.
/// \param memory that a rank may use, if that is limited
std::string reasonOfChosen(const Tree &tree, NodeId node, const std::vector<Alternative> &list,
                           std::optional<int64_t> memory);

/// In words, what the planner would do with a node whose schedule is fixed, as the first
/// alternative.
std::string reasonOfFixed(const Tree &tree, NodeId node, const std::vector<Alternative> &list);

} // namespace einsumc

#endif // EINSUMC_TOOLS_EXPLAINREASON_H
