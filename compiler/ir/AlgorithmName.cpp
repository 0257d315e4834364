//===- AlgorithmName.cpp - the published names of schedules -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Schedule.h"

#include <map>

namespace einsumc {

namespace {

/// The classes of the loop dims with a traveller's way of moving, e.g. `m:none,k:gather`.
std::string signature(const Tree &tree, NodeId node, const NodeSchedule &schedule) {
  std::string result;
  for (std::size_t i = 0; i < schedule.axes.size(); ++i) {
    const AxisSchedule &axis = schedule.axes[i];
    if (!axis.loopDim || schedule.grid.extents[i] == 1)
      continue;
    static constexpr const char *kClass[] = {"c", "m", "n", "k"};
    result += result.empty() ? "" : ",";
    const DimClass dimClass = classOf(tree, node, *axis.loopDim);
    result += kClass[static_cast<int>(dimClass)];
    if (dimClass != DimClass::C || axis.movement == Movement::Stream)
      result += ":" + name(axis.movement).str();
  }
  return result;
}

} // namespace

namespace {

/// Whether A and B are each cut once more along the dim along which they are cut already, so that
/// no rank stores more than the others: the load-balanced 3-D layout.
bool isCutTwice(const Tree &tree, NodeId node, const NodeSchedule &schedule) {
  for (const AxisSchedule &axis : schedule.axes) {
    const std::optional<Role> role =
        axis.loopDim ? travellerOf(classOf(tree, node, *axis.loopDim)) : std::nullopt;
    if (!role || *role == Role::C)
      continue;
    const DimId dim = dimsOf(tree, node, *role)[static_cast<std::size_t>(axis.storage.position)];
    if (classOf(tree, node, dim) != (*role == Role::A ? DimClass::M : DimClass::N))
      return false;
  }
  return true;
}

} // namespace

std::string algorithmName(const Tree &tree, NodeId node, const NodeSchedule &schedule) {
  static const std::map<std::string, std::string> kNames = {
      {"", "local"},
      {"c", "dist_c"},
      {"m:none", "tp1d"},
      {"n:none", "tp1d"},
      {"m:ring", "ring_m"},
      {"n:ring", "ring_n"},
      {"k:ring", "ring_k"},
      {"k:none", "reduce_k"},
      {"k:gather", "reduce_k"},
      {"k:gather,n:none", "tp2d"},
      {"k:gather,m:none", "tp2d"},
      {"k:none,n:none", "tp2d"},
      {"k:none,m:none", "tp2d"},
      {"m:bcast,n:bcast", "summa"},
      {"m:ring,n:ring", "cannon"},
      {"m:gather,k:gather", "summa_a"},
      {"m:bcast,k:gather", "summa_a"},
      {"k:gather,n:gather", "summa_b"},
      {"k:gather,n:bcast", "summa_b"},
      {"m:gather,n:gather,k:gather", "summa_3d"},
      {"m:bcast,n:bcast,k:gather", "summa_25d"},
      {"m:ring,n:ring,k:gather", "cannon_25d"},
      {"m:bcast,n:bcast,m:none", "tesseract"},
      {"m:bcast,n:bcast,n:none", "tesseract"},
      {"m:none,m:ring", "rotating"},
      {"n:none,n:ring", "rotating"},
      {"m:get", "one_sided"},
      {"n:get", "one_sided"},
      {"k:get", "one_sided"},
      {"m:get,n:get", "one_sided"},
      {"m:get,n:get,k:gather", "one_sided"},
      {"c:stream", "master_worker"},
      {"m:stream", "master_worker"},
      {"n:stream", "master_worker"},
  };
  auto found = kNames.find(signature(tree, node, schedule));
  if (found == kNames.end())
    return "custom";
  const bool isCube = found->second == "summa_3d" && isCutTwice(tree, node, schedule);
  return isCube ? "cube_3d" : found->second;
}

} // namespace einsumc
