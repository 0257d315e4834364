//===- Algorithms.h - the named points of the schedule space ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_PLAN_ALGORITHMS_H
#define EINSUMC_PLAN_ALGORITHMS_H

#include "compiler/ir/Schedule.h"

#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace einsumc {

/// Parts of what a rank computes that stream from the root: one comes while another is computed.
constexpr int64_t kStreamedParts = 4;

/// So many ranks from one on compute the same.
NodeSchedule localSchedule(int64_t ranks, int64_t firstRank = 0);

/// One axis of all ranks that cuts the node along a dim: a travelling input is copied to all; a
/// travelling result is added up into blocks of its longest dim, or everywhere if it has none
/// longer than 1.
NodeSchedule cutAlong(const Tree &tree, NodeId node, DimId dim, int64_t ranks);

/// What a node takes by a schedule, in seconds.
using ScheduleSeconds = std::function<double(const NodeSchedule &)>;

/// The schedule that an algorithm's name, with or without choices (AlgorithmText), gives a node on
/// so many ranks. What is not chosen: the grid is as square as the ranks factor, the dims of each
/// class are those that take the least time, and chunks of a lone traveller are cut along the dim
/// that does. Of equals, and without \p seconds, they are the longest, and chunks are cut along a
/// traveller's longest other dim. On failure a text that says what the node lacks, or what is wrong
/// with the name.
std::variant<NodeSchedule, std::string> scheduleByName(const Tree &tree, NodeId node,
                                                       llvm::StringRef text, int64_t ranks,
                                                       const ScheduleSeconds &seconds = {});

/// What is wrong with such a name for any node, or nothing.
std::string checkAlgorithm(llvm::StringRef text);

/// The names that `scheduleByName` knows, in the order of the documentation.
std::vector<std::string> algorithmNames();

} // namespace einsumc

#endif // EINSUMC_PLAN_ALGORITHMS_H
