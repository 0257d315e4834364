//===- AlgorithmName.cpp - the published names of schedules
//------------------------------------===//
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
    if (dimClass != DimClass::C)
      result += ":" + name(axis.movement).str();
  }
  return result;
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
  };
  auto found = kNames.find(signature(tree, node, schedule));
  return found == kNames.end() ? "custom" : found->second;
}

} // namespace einsumc
