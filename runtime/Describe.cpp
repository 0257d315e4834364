//===- Describe.cpp - what a program is, without running it -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Describe.h"

#include "Format.h"
#include "HostName.h"
#include "Statistics.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

namespace einsumc {
namespace {

std::string threadLevel() {
  int level = MPI_THREAD_SINGLE;
  checkMpi(MPI_Query_thread(&level), "MPI_Query_thread");
  return level >= MPI_THREAD_MULTIPLE ? "MPI_THREAD_MULTIPLE" : "MPI_THREAD_SERIALIZED";
}

/// `host1 (4 ranks), host2 (4 ranks)`. Collective.
std::string listHosts(const Communicator &comm) {
  using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
  Name own{};
  hostName().copy(own.data(), own.size() - 1);
  std::vector<Name> all(static_cast<std::size_t>(comm.size()));
  barrier(comm); // Late ranks are waited for politely.
  checkMpi(
      MPI_Allgather(own.data(), own.size(), MPI_CHAR, all.data(), own.size(), MPI_CHAR, comm.get()),
      "MPI_Allgather");
  std::map<std::string, int64_t> ranks;
  for (const Name &name : all)
    ++ranks[name.data()];
  std::string text;
  for (const auto &[name, count] : ranks)
    text += (text.empty() ? "" : ", ") + name + " (" + countOf(count, "rank") + ")";
  return text;
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
  text += "started on " + countOf(session.comm().size(), "rank") + " with " +
          countOf(session.threads(), "thread") + " each: " + listHosts(session.comm()) + "\n";
  text += mpiLibrary() + ", " + threadLevel() + "\n";
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
          " a rank at a time: results share storage\n";
  text += "nodes:\n";
  for (const NodeDescription &node : description.nodes)
    text += nodeLines(node);
  text += "plan:\n" + description.plan;
  if (!text.ends_with('\n'))
    text += '\n';
  return text;
}

} // namespace einsumc
