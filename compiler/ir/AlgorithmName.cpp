//===- AlgorithmName.cpp - the published names of schedules -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/Schedule.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <utility>
#include <vector>

namespace einsumc {

namespace {

/// The classes of the loop dims with a traveller's way of moving, e.g. `m:none,k:gather`, in the
/// order of classes whatever the order of axes.
std::string signature(const Tree &tree, NodeId node, const NodeSchedule &schedule) {
  std::vector<std::pair<DimClass, std::string>> parts;
  for (std::size_t i = 0; i < schedule.axes.size(); ++i) {
    const AxisSchedule &axis = schedule.axes[i];
    if (!axis.loopDim || schedule.grid.extents[i] == 1)
      continue;
    static constexpr const char *kClass[] = {"c", "m", "n", "k"};
    const DimClass dimClass = classOf(tree, node, *axis.loopDim);
    std::string part = kClass[static_cast<int>(dimClass)];
    if (dimClass != DimClass::C || axis.movement == Movement::Stream)
      part += ":" + name(axis.movement).str();
    parts.emplace_back(dimClass, std::move(part));
  }
  llvm::sort(parts);
  std::string result;
  for (const auto &[dimClass, part] : parts)
    result += (result.empty() ? "" : ",") + part;
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
      {"n:none,k:gather", "tp2d"},
      {"m:none,k:gather", "tp2d"},
      {"n:none,k:none", "tp2d"},
      {"m:none,k:none", "tp2d"},
      {"m:none,n:none", "tp2d"},
      {"n:none,k:ring", "tp2d"},
      {"m:none,k:ring", "tp2d"},
      {"m:bcast,n:bcast", "summa"},
      {"m:ring,n:ring", "cannon"},
      {"m:gather,k:gather", "summa_a"},
      {"m:bcast,k:gather", "summa_a"},
      {"m:ring,k:gather", "summa_a"},
      {"n:gather,k:gather", "summa_b"},
      {"n:bcast,k:gather", "summa_b"},
      {"n:ring,k:gather", "summa_b"},
      {"m:gather,n:gather,k:gather", "summa_3d"},
      {"m:none,n:none,k:gather", "summa_3d"},
      {"m:none,n:none,k:ring", "summa_3d"},
      {"m:bcast,n:bcast,k:gather", "summa_25d"},
      {"m:ring,n:ring,k:gather", "cannon_25d"},
      {"m:bcast,m:none,n:bcast", "tesseract"},
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
