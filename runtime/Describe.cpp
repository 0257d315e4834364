//===- Describe.cpp - what a program is, without running it -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Describe.h"

#include "Format.h"
#include "RankPlace.h"
#include "Region.h"
#include "Statistics.h"

#include <mpi.h>

#include <algorithm>
#include <vector>

namespace einsumc {
namespace {

std::string threadLevel() {
  int level = MPI_THREAD_SINGLE;
  checkMpi(MPI_Query_thread(&level), "MPI_Query_thread");
  return level >= MPI_THREAD_MULTIPLE ? "MPI_THREAD_MULTIPLE" : "MPI_THREAD_SERIALIZED";
}

/// `MPICH Version: 4.0.2, MPI 4.0, MPI_THREAD_SERIALIZED`.
std::string mpiLine() {
  int version = 0, subversion = 0;
  checkMpi(MPI_Get_version(&version, &subversion), "MPI_Get_version");
  return mpiLibrary() + ", MPI " + std::to_string(version) + "." + std::to_string(subversion) +
         ", " + threadLevel() + "\n";
}

std::string formatAxis(const AxisPlacement &axis) {
  switch (axis.kind) {
  case AxisKind::Split:
    return "S(" + std::to_string(axis.position) + ")" +
           (axis.level > 0 ? "." + std::to_string(axis.level) : "");
  case AxisKind::Copy:
    return "B";
  case AxisKind::Partial:
    return "P";
  case AxisKind::Root:
    return "R";
  }
  return "";
}

std::string useText(const std::vector<int> &dims, const ProgramDescription &description) {
  std::string text = "[";
  for (std::size_t p = 0; p < dims.size(); ++p) {
    const DimDescription &dim = description.dims[static_cast<std::size_t>(dims[p])];
    text += (p > 0 ? ", " : "") + dim.name + "=" + std::to_string(dim.extent);
  }
  return text + "]";
}

/// `1.5 MiB a rank`, or from ... to when the ranks differ; ranks without a part count as 0.
std::string bytesPerRank(const Layout &layout, const ProgramDescription &description) {
  int64_t least = 0, most = 0;
  for (int64_t rank = 0; rank < description.ranks; ++rank) {
    const int64_t bytes = layout.localSize(rank) * static_cast<int64_t>(sizeOf(description.dtype));
    least = rank == 0 ? bytes : std::min(least, bytes);
    most = std::max(most, bytes);
  }
  return (least == most ? "" : formatBytes(least) + " to ") + formatBytes(most) + " a rank";
}

std::string tensorLine(const TensorDescription &tensor, const ProgramDescription &description) {
  const std::string kind = tensor.isInput ? "input" : tensor.isOutput ? "output" : "tensor";
  return "  " + kind + " " + tensor.name + useText(tensor.dims, description) + ": " +
         formatLayout(tensor.layout) + ", " + bytesPerRank(tensor.layout, description) + "\n";
}

std::string nodeLines(const NodeDescription &node) {
  return "  " + node.text + "\n    " + node.algorithm + " on " +
         (node.grid.empty() ? "[]" : node.grid) + ", " + formatNumber(node.flops) +
         " flops, predicted " + formatNumber(node.predictedSeconds) + " s and " +
         formatBytes(static_cast<int64_t>(node.predictedBytes)) + " sent\n";
}

std::string sliceLines(const ProgramDescription &description) {
  if (description.slices.empty())
    return "";
  std::string text = "evaluated in " + countOf(countSlices(slicePartsOf(description)), "slice") +
                     ", one after the other; all of the above is of one slice:\n";
  for (const SliceDescription &slice : description.slices) {
    const DimDescription &dim = description.dims[static_cast<std::size_t>(slice.dim)];
    text += "  " + dim.name + " in " + std::to_string(slice.parts) + " parts of " +
            std::to_string(dim.extent) + "\n";
  }
  return text;
}

} // namespace

std::string formatLayout(const Layout &layout) {
  std::string text = "grid " + formatIndex(layout.grid.extents);
  if (layout.grid.firstRank != 0)
    text += " from rank " + std::to_string(layout.grid.firstRank);
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
    text += (axis == 0 ? ", " : " ") + formatAxis(layout.axes[axis]);
  return text;
}

std::string describe(const ProgramDescription &description, const Session &session) {
  std::string text = description.name + ", compiled by einsumc " EINSUMC_VERSION " for " +
                     countOf(description.ranks, "rank") + ", " +
                     (description.dtype == DType::F32 ? "f32" : "f64") + "\n";
  text += mpiLine();
  text += describePlaces(gatherPlaces(session.comm(), session.threads()));
  if (session.comm().size() != description.ranks)
    text += "note: it runs on " + countOf(description.ranks, "rank") + " only\n";
  text += "tensors:\n";
  for (const TensorDescription &tensor : description.tensors)
    text += tensorLine(tensor, description);
  for (const auto &[tensor, layout] : description.finalLayouts)
    text += "  output " + description.tensors[static_cast<std::size_t>(tensor)].name +
            " ends as: " + formatLayout(layout) + ", " + bytesPerRank(layout, description) + "\n";
  text += "tensors take at most " +
          formatBytes(static_cast<int64_t>(description.predictedTensorBytes)) +
          " a rank at a time: results share storage; with messages and scratch of " +
          countOf(session.threads(), "thread") + " " +
          formatBytes(static_cast<int64_t>(description.predictedPeakBytes(session.threads()))) +
          "\n";
  text += sliceLines(description);
  text += description.slices.empty() ? "nodes:\n" : "nodes, of one slice:\n";
  for (const NodeDescription &node : description.nodes)
    text += nodeLines(node);
  text += "plan:\n" + description.plan;
  if (!text.ends_with('\n'))
    text += '\n';
  return text;
}

} // namespace einsumc
