//===- ExchangePhase.cpp - an exchange of messages as one phase -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "ExchangePhase.h"

#include <algorithm>

namespace einsumc::sim {

ExchangePhase::ExchangePhase(const Layout &from, const Layout &to, double elementBytes,
                             const Machine &machine, const Network &network)
    : machine(machine), network(network),
      firstRank(std::min(from.grid.firstRank, to.grid.firstRank)) {
  const int64_t end =
      std::max(from.grid.firstRank + from.grid.size(), to.grid.firstRank + to.grid.size());
  parts.resize(static_cast<std::size_t>(end - firstRank));
  const bool areAll = chooseReceivers(from, to);
  LinkLoads traffic(network);
  for (const int64_t receiver : receivers)
    for (const Transfer &transfer : incomingTransfers(from, to, receiver))
      if (transfer.from != transfer.to)
        add(transfer, static_cast<double>(volume(transfer.box)) * elementBytes, traffic);
  loads = traffic.byLink();
  const int64_t nodes = network.nodes();
  if (!areAll) // The nodes looked at receive no more than others.
    std::for_each(loads.begin() + nodes, loads.begin() + 2 * nodes,
                  [&](double &load) { load /= scale; });
  if (static_cast<int64_t>(loads.size()) > 2 * nodes)
    busiestBetween = *std::max_element(loads.begin() + 2 * nodes, loads.end());
  if (!areAll)
    pairs.clear();
}

/// All ranks of the target, or those of nodes spread evenly if they get too many messages.
bool ExchangePhase::chooseReceivers(const Layout &from, const Layout &to) {
  constexpr double kMost = 1 << 20;
  const int64_t begin = to.grid.firstRank, size = to.grid.size();
  // As many as the first or the middle one gets.
  std::size_t messages = 1;
  for (const int64_t rank : {begin, begin + size / 2})
    messages = std::max(messages, incomingTransfers(from, to, rank).size());
  const double share = kMost / static_cast<double>(messages) / static_cast<double>(size);
  const int64_t firstNode = network.nodeOf(begin), lastNode = network.nodeOf(begin + size - 1);
  const int64_t nodes = lastNode - firstNode + 1;
  const int64_t chosen =
      std::clamp<int64_t>(static_cast<int64_t>(share * static_cast<double>(nodes)), 1, nodes);
  std::vector<bool> isChosen(static_cast<std::size_t>(nodes), false);
  for (int64_t i = 0; i < chosen; ++i)
    isChosen[static_cast<std::size_t>(i * evenStep(nodes) % nodes)] = true;
  for (int64_t rank = begin; rank < begin + size; ++rank)
    if (isChosen[static_cast<std::size_t>(network.nodeOf(rank) - firstNode)])
      receivers.push_back(rank);
  scale = static_cast<double>(size) / static_cast<double>(receivers.size());
  return chosen == nodes;
}

void ExchangePhase::add(const Transfer &transfer, double bytes, LinkLoads &traffic) {
  Part &sender = parts[static_cast<std::size_t>(transfer.from - firstRank)];
  Part &receiver = parts[static_cast<std::size_t>(transfer.to - firstRank)];
  sender.sent += scale;
  receiver.received += 1;
  pairs.emplace_back(transfer.from, transfer.to);
  if (network.isWithinNode(transfer.from, transfer.to)) {
    sender.sentWithin += bytes;
    receiver.receivedWithin += bytes;
    return;
  }
  sender.isBetween = receiver.isBetween = true;
  traffic.add(transfer.from, transfer.to, bytes * scale);
}

double ExchangePhase::seconds(int64_t rank) const {
  const Part &part = parts[static_cast<std::size_t>(rank - firstRank)];
  const double messages = std::max(part.sent, part.received);
  double bytesSeconds = std::max(part.sentWithin, part.receivedWithin) * machine.withinNode.beta;
  const double alpha = part.isBetween ? machine.betweenNodes.alpha : machine.withinNode.alpha;
  if (part.isBetween) {
    const auto node = static_cast<std::size_t>(network.nodeOf(rank));
    const auto nodes = static_cast<std::size_t>(network.nodes());
    const double busiest = std::max({loads[node], loads[node + nodes], busiestBetween});
    bytesSeconds = std::max(bytesSeconds, busiest * network.secondsPerByte());
  }
  // Bytes move while later messages start.
  return std::max(alpha + bytesSeconds, messages * alpha + bytesSeconds / messages);
}

void ExchangePhase::play(std::vector<double> &clocks, std::vector<double> &transferSeconds) const {
  if (pairs.empty())
    return playTogether(clocks, transferSeconds);
  std::vector<double> begins = clocks;
  for (const auto &[from, to] : pairs) {
    const auto sender = static_cast<std::size_t>(from), receiver = static_cast<std::size_t>(to);
    const double both = std::max(clocks[sender], clocks[receiver]);
    begins[sender] = std::max(begins[sender], both);
    begins[receiver] = std::max(begins[receiver], both);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].sent == 0 && parts[i].received == 0)
      continue;
    const int64_t rank = firstRank + static_cast<int64_t>(i);
    const double spent = seconds(rank);
    clocks[static_cast<std::size_t>(rank)] = begins[static_cast<std::size_t>(rank)] + spent;
    transferSeconds[static_cast<std::size_t>(rank)] += spent;
  }
}

/// All take as long as those that were looked at.
void ExchangePhase::playTogether(std::vector<double> &clocks,
                                 std::vector<double> &transferSeconds) const {
  double longest = 0, begin = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int64_t rank = firstRank + static_cast<int64_t>(i);
    begin = std::max(begin, clocks[static_cast<std::size_t>(rank)]);
    if (parts[i].sent > 0 || parts[i].received > 0)
      longest = std::max(longest, seconds(rank));
  }
  if (longest == 0)
    return;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t index = static_cast<std::size_t>(firstRank) + i;
    clocks[index] = begin + longest;
    transferSeconds[index] += longest;
  }
}

} // namespace einsumc::sim
