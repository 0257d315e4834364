//===- Report.cpp - a simulation for people and for programs ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Report.h"

#include "compiler/ir/AssignStorage.h"
#include "compiler/support/Text.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace einsumc::sim {

namespace {

double flopsOf(const Tree &tree) {
  double flops = 0;
  for (NodeId node = 0; node < tree.size(); ++node)
    flops += tree.flops(node);
  return flops;
}

/// Those that most passes, the first of equals; none that nothing passes.
std::vector<std::size_t> busiestLinks(const Simulation &simulation, std::size_t count) {
  std::vector<std::size_t> links(simulation.linkBytes.size());
  std::iota(links.begin(), links.end(), std::size_t{0});
  const auto end = links.begin() + static_cast<std::ptrdiff_t>(std::min(count, links.size()));
  std::partial_sort(links.begin(), end, links.end(), [&](std::size_t a, std::size_t b) {
    const double more = simulation.linkBytes[a] - simulation.linkBytes[b];
    return more != 0 ? more > 0 : a < b;
  });
  links.erase(end, links.end());
  std::erase_if(links, [&](std::size_t link) { return simulation.linkBytes[link] <= 0; });
  return links;
}

/// The part of the time in which the link is busy.
double utilisation(const Subject &subject, const Simulation &simulation, std::size_t link) {
  const double busy = simulation.linkBytes[link] * subject.network.secondsPerByte();
  return simulation.seconds > 0 ? busy / simulation.seconds : 0;
}

/// Whether the busiest rank has the memory.
bool fits(const Subject &subject) {
  return subject.bytes <= static_cast<double>(subject.machine.memory);
}

double bytesOf(const Simulation &simulation) {
  double bytes = 0;
  for (const SimulatedNode &node : simulation.nodes)
    bytes += node.bytes;
  return bytes;
}

} // namespace

double efficiency(const Subject &subject, double seconds) {
  const double peak = subject.machine.flopsPerSecond(subject.tree.elementType()) *
                      static_cast<double>(subject.schedule.ranks);
  return seconds > 0 ? flopsOf(subject.tree) / (seconds * peak) : 0;
}

void printTable(const Subject &subject, const Simulation &simulation, std::size_t busiest,
                llvm::raw_ostream &out) {
  const Tree &tree = subject.tree;
  out << llvm::format("%lld ranks on %lld nodes (%s): %.4g s, %.1f %% of the peak, ",
                      static_cast<long long>(subject.schedule.ranks),
                      static_cast<long long>(subject.network.nodes()),
                      subject.machine.topology.c_str(), simulation.seconds,
                      100 * efficiency(subject, simulation.seconds))
      << bytesText(bytesOf(simulation)) << " sent, "
      << bytesText(storedBytes(tree, subject.schedule)) << " of tensors a rank\n";
  if (!fits(subject))
    out << "with messages and scratch " << bytesText(subject.bytes) << ", more than the "
        << bytesText(static_cast<double>(subject.machine.memory)) << " of memory that a rank has\n";
  out << "\n";
  out << "    seconds     compute    transfer        wait        sent  node\n";
  for (const SimulatedNode &node : simulation.nodes)
    out << llvm::format("%11.4g %11.4g %11.4g %11.4g %11s  ", node.seconds, node.computeSeconds,
                        node.transferSeconds, node.waitSeconds, bytesText(node.bytes).c_str())
        << equationText(tree, node.node) << "  # "
        << algorithmName(tree, node.node,
                         subject.schedule.nodes[static_cast<std::size_t>(node.node)])
        << "\n";
  const std::vector<std::size_t> links = busiestLinks(simulation, busiest);
  if (links.empty())
    return;
  out << "\n     passed        busy  busiest links\n";
  for (const std::size_t link : links)
    out << llvm::format("%11s %9.1f %%  ", bytesText(simulation.linkBytes[link]).c_str(),
                        100 * utilisation(subject, simulation, link))
        << subject.network.linkName(static_cast<int64_t>(link)) << "\n";
}

void printJson(const Subject &subject, const Simulation &simulation, std::size_t busiest,
               llvm::raw_ostream &out) {
  const Tree &tree = subject.tree;
  llvm::json::OStream json(out, 2);
  auto writeNode = [&](const SimulatedNode &node) {
    json.attribute("name", tree.node(node.node).name);
    json.attribute("algorithm",
                   algorithmName(tree, node.node,
                                 subject.schedule.nodes[static_cast<std::size_t>(node.node)]));
    json.attribute("seconds", node.seconds);
    json.attribute("compute_seconds", node.computeSeconds);
    json.attribute("transfer_seconds", node.transferSeconds);
    json.attribute("wait_seconds", node.waitSeconds);
    json.attribute("bytes", node.bytes);
  };
  json.object([&] {
    json.attribute("ranks", subject.schedule.ranks);
    json.attribute("machine_nodes", subject.network.nodes());
    json.attribute("topology", subject.machine.topology);
    json.attribute("slices", countSlices(subject.schedule.slices));
    json.attribute("seconds", simulation.seconds);
    json.attribute("flops", flopsOf(tree));
    json.attribute("efficiency", efficiency(subject, simulation.seconds));
    json.attribute("bytes", bytesOf(simulation));
    json.attribute("tensor_bytes", storedBytes(tree, subject.schedule));
    json.attribute("memory_bytes", subject.bytes);
    json.attribute("fits_memory", fits(subject));
    json.attributeArray("nodes", [&] {
      for (const SimulatedNode &node : simulation.nodes)
        json.object([&] { writeNode(node); });
    });
    json.attributeArray("busiest_links", [&] {
      for (const std::size_t link : busiestLinks(simulation, busiest))
        json.object([&] {
          json.attribute("name", subject.network.linkName(static_cast<int64_t>(link)));
          json.attribute("bytes", simulation.linkBytes[link]);
          json.attribute("utilisation", utilisation(subject, simulation, link));
        });
    });
  });
  out << "\n";
}

} // namespace einsumc::sim
