//===- Network.cpp - the links of a machine and who shares them -------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/Network.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace einsumc {

namespace {

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The product, or the largest number if it is beyond.
int64_t saturatingProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  return llvm::MulOverflow(a, b, product) ? std::numeric_limits<int64_t>::max() : product;
}

int64_t saturatingProduct(llvm::ArrayRef<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors)
    product = saturatingProduct(product, factor);
  return product;
}

/// The extents of `torus:AxB`. \pre the topology is one
llvm::SmallVector<int64_t> torusExtents(llvm::StringRef topology) {
  llvm::SmallVector<llvm::StringRef> texts;
  topology.drop_front(llvm::StringLiteral("torus:").size()).split(texts, 'x');
  llvm::SmallVector<int64_t> extents;
  for (const llvm::StringRef text : texts)
    text.getAsInteger(10, extents.emplace_back());
  return extents;
}

/// K/2 of `fattree:K`, at least 1; nothing for other topologies.
std::optional<int64_t> halfPorts(llvm::StringRef topology) {
  int64_t ports = 0;
  if (!topology.consume_front("fattree:") || topology.getAsInteger(10, ports))
    return std::nullopt;
  return std::max<int64_t>(1, ports / 2);
}

} // namespace

GridAxis axisOf(const Grid &grid, std::size_t axis) {
  return {grid.firstRank, grid.size(), grid.stride(axis), grid.extents[axis]};
}

int64_t evenStep(int64_t count) {
  constexpr double kGolden = 0.6180339887498949;
  int64_t step = static_cast<int64_t>(kGolden * static_cast<double>(count)) | 1;
  while (std::gcd(step, count) != 1)
    step += 2;
  return step;
}

Network::Network(const Machine &machine, int64_t ranks)
    : within(machine.withinNode), between(machine.betweenNodes),
      perNode(std::max<int64_t>(1, machine.ranksPerNode)), nodeCount(divideUp(ranks, perNode)),
      linkCount(2 * nodeCount) {
  const llvm::StringRef topology = machine.topology;
  if (topology == "ring")
    makeTorus({nodeCount});
  else if (topology.starts_with("torus:"))
    makeTorus(torusExtents(topology));
  else if (const std::optional<int64_t> ports = halfPorts(topology))
    makeFatTree(*ports);
}

std::optional<int64_t> Network::nodeLimit(const Machine &machine) {
  const llvm::StringRef topology = machine.topology;
  if (topology.starts_with("torus:"))
    return saturatingProduct(torusExtents(topology));
  if (const std::optional<int64_t> ports = halfPorts(topology))
    return saturatingProduct({*ports, *ports, saturatingProduct(*ports, 2)});
  return std::nullopt;
}

/// Makes links only where nodes in use, or routes between them, may lie.
void Network::makeTorus(llvm::SmallVector<int64_t> extents) {
  int64_t stride = 1;
  torus.resize(extents.size());
  for (std::size_t d = extents.size(); d-- > 0;) {
    // The nodes in use fill the inner dims, or else are all at 0 on the outer ones.
    const int64_t used = std::min(divideUp(nodeCount, stride),
                                  d == 0 ? std::numeric_limits<int64_t>::max() : extents[d]);
    // Within half of a ring the shorter way leads never round its end.
    const bool wraps = used > extents[d] / 2 + 1 || used >= extents[d];
    torus[d] = {wraps ? std::max(used, extents[d]) : used, stride, wraps, 0};
    stride *= torus[d].extent;
  }
  for (TorusDim &dim : torus) {
    dim.firstLink = linkCount;
    linkCount += 2 * stride;
  }
}

void Network::makeFatTree(int64_t ports) {
  half = ports;
  edges = divideUp(nodeCount, half);
  pods = divideUp(edges, half);
  edgePorts = std::min(half, nodeCount);
  corePorts = std::min(half, edges);
  linkCount += 2 * (edges * edgePorts + pods * edgePorts * corePorts);
}

template <class Visit>
void Network::forEachTorusSegment(int64_t from, int64_t to, Visit &visit) const {
  const int64_t size = torus.front().stride * torus.front().extent;
  for (const TorusDim &dim : torus) {
    const int64_t a = from / dim.stride % dim.extent, b = to / dim.stride % dim.extent;
    if (a == b)
      continue;
    const int64_t ahead = b > a ? b - a : b - a + dim.extent; // in positive direction
    const bool isPositive = dim.wraps ? 2 * ahead <= dim.extent : b > a;
    const int64_t count = isPositive ? ahead : dim.extent - ahead;
    const int64_t line = from / (dim.stride * dim.extent) * dim.stride + from % dim.stride;
    const int64_t begin = isPositive ? a : (a - count + 1 + dim.extent) % dim.extent;
    visit(Segment{dim.firstLink + (isPositive ? 0 : size) + line * dim.extent, dim.extent, begin,
                  count, !isPositive});
    from += (b - a) * dim.stride;
  }
}

template <class Visit>
void Network::forEachTreeSegment(int64_t from, int64_t to, Visit &visit) const {
  const int64_t edgeFrom = from / half, edgeTo = to / half;
  if (edgeFrom == edgeTo)
    return;
  const int64_t podFrom = edgeFrom / half, podTo = edgeTo / half;
  const int64_t aggregation = to % half, core = edgeTo % half;
  const int64_t up = 2 * nodeCount, down = up + edges * edgePorts,
                coreUp = down + edges * edgePorts, coreDown = coreUp + pods * edgePorts * corePorts;
  visit(Segment{up + edgeFrom * edgePorts + aggregation});
  if (podFrom != podTo) {
    visit(Segment{coreUp + (podFrom * edgePorts + aggregation) * corePorts + core});
    visit(Segment{coreDown + (podTo * edgePorts + aggregation) * corePorts + core});
  }
  visit(Segment{down + edgeTo * edgePorts + aggregation});
}

template <class Visit> void Network::forEachSegment(int64_t from, int64_t to, Visit &&visit) const {
  if (from == to)
    return;
  visit(Segment{from}); // The links of a line of one.
  if (!torus.empty())
    forEachTorusSegment(from, to, visit);
  else if (half > 0)
    forEachTreeSegment(from, to, visit);
  visit(Segment{nodeCount + to});
}

void Network::route(int64_t from, int64_t to, llvm::SmallVectorImpl<int64_t> &links) const {
  forEachSegment(nodeOf(from), nodeOf(to), [&](const Segment &part) {
    for (int64_t i = 0; i < part.count; ++i)
      links.push_back(part.line +
                      (part.begin + (part.isBackwards ? part.count - 1 - i : i)) % part.length);
  });
}

std::string Network::torusLinkName(const TorusDim &dim, int64_t link) const {
  const int64_t size = torus.front().stride * torus.front().extent;
  const bool isPositive = link < size;
  const int64_t line = link % size / dim.extent, at = link % size % dim.extent;
  const int64_t next = (at + (isPositive ? 1 : dim.extent - 1)) % dim.extent;
  const int64_t node = line / dim.stride * dim.stride * dim.extent + line % dim.stride;
  return "node " + std::to_string(node + at * dim.stride) + " -> node " +
         std::to_string(node + next * dim.stride);
}

std::string Network::treeLinkName(int64_t link) const {
  const int64_t edgeLinks = edges * edgePorts, coreLinks = pods * edgePorts * corePorts;
  auto text = [](const char *what, int64_t number) { return what + std::to_string(number); };
  auto joined = [](bool isUp, const std::string &below, const std::string &above) {
    return isUp ? below + " -> " + above : above + " -> " + below;
  };
  if (link < 2 * edgeLinks) {
    const int64_t edge = link % edgeLinks / edgePorts, port = link % edgePorts;
    return joined(link < edgeLinks, text("edge ", edge),
                  text("aggregation ", edge / half * half + port));
  }
  link -= 2 * edgeLinks;
  const int64_t pod = link % coreLinks / (edgePorts * corePorts);
  const int64_t port = link % coreLinks / corePorts % edgePorts, core = link % corePorts;
  return joined(link < coreLinks, text("aggregation ", pod * half + port),
                text("core ", port * half + core));
}

std::string Network::linkName(int64_t link) const {
  if (link < 2 * nodeCount)
    return "node " + std::to_string(link % nodeCount) + (link < nodeCount ? " out" : " in");
  for (const TorusDim &dim : llvm::reverse(torus))
    if (link >= dim.firstLink)
      return torusLinkName(dim, link - dim.firstLink);
  return treeLinkName(link - 2 * nodeCount);
}

namespace {

int64_t shifted(const GridAxis &axis, int64_t rank, int64_t distance) {
  const int64_t from = axis.coordinate(rank);
  const int64_t to = (from - distance % axis.extent + axis.extent) % axis.extent;
  return rank + (to - from) * axis.stride;
}

void addShift(const GridAxis &axis, int64_t distance, LinkLoads &loads) {
  for (int64_t rank = axis.firstRank; rank < axis.firstRank + axis.size; ++rank)
    loads.add(rank, shifted(axis, rank, distance), 1);
}

/// The pairs of different ranks on the axis's lines that begin on the node of given ranks and end
/// there. The ranks of a line on it are neighbours.
double pairsWithin(const GridAxis &axis, int64_t begin, int64_t end) {
  double pairs = 0;
  for (int64_t rank = begin; rank < end; ++rank) {
    const int64_t at = axis.coordinate(rank);
    const int64_t before = std::min(at, (rank - begin) / axis.stride);
    const int64_t after = std::min(axis.extent - 1 - at, (end - 1 - rank) / axis.stride);
    pairs += static_cast<double>(before + after);
  }
  return pairs;
}

/// Calls visit(begin, end) for the grid's ranks of every node.
template <class Visit> void forEachNode(const GridAxis &axis, int64_t perNode, Visit &&visit) {
  const int64_t end = axis.firstRank + axis.size;
  for (int64_t begin = axis.firstRank, next = 0; begin < end; begin = next) {
    next = std::min(end, (begin / perNode + 1) * perNode);
    visit(begin, next);
  }
}

/// About so many distances of the extent-1 ones, spread evenly, each with its opposite.
std::vector<int64_t> someDistances(int64_t extent, int64_t count) {
  const int64_t step = evenStep(extent);
  std::vector<int64_t> distances;
  for (int64_t i = 1, distance = 0; i <= count / 2; ++i) {
    distance = (distance + step) % extent;
    distances.push_back(distance);
    distances.push_back(extent - distance);
  }
  return distances;
}

} // namespace

double Network::shiftCongestion(const GridAxis &axis, int64_t distance) const {
  return knownShifts.of({axis, distance % axis.extent}, [&] {
    LinkLoads loads(*this);
    addShift(axis, distance, loads);
    return loads.largest();
  });
}

double Network::pairsWithinNodes(const GridAxis &axis) const {
  double pairs = 0;
  forEachNode(axis, perNode,
              [&](int64_t begin, int64_t end) { pairs += pairsWithin(axis, begin, end); });
  return pairs;
}

double Network::pairsLeavingNode(const GridAxis &axis) const {
  double most = 0;
  forEachNode(axis, perNode, [&](int64_t begin, int64_t end) {
    const auto pairs = static_cast<double>((end - begin) * (axis.extent - 1));
    most = std::max(most, pairs - pairsWithin(axis, begin, end));
  });
  return most;
}

double Network::countExchange(const GridAxis &axis) const {
  if (axis.extent == 1)
    return 0;
  const double atCards = pairsLeavingNode(axis) / static_cast<double>(axis.extent - 1);
  if ((torus.empty() && half == 0) || atCards == 0)
    return atCards;
  constexpr int64_t kMessages = int64_t{1} << 20;
  const int64_t affordable = std::max<int64_t>(8, kMessages / axis.size);
  std::vector<int64_t> distances;
  if (affordable < axis.extent - 1)
    distances = someDistances(axis.extent, affordable);
  else
    for (int64_t distance = 1; distance < axis.extent; ++distance)
      distances.push_back(distance);
  LinkLoads loads(*this);
  for (const int64_t distance : distances)
    addShift(axis, distance, loads);
  return std::max(atCards, loads.largest() / static_cast<double>(distances.size()));
}

double Network::exchangeCongestion(const GridAxis &axis) const {
  return knownExchanges.of(axis, [&] { return countExchange(axis); });
}

Link Network::shiftLink(const GridAxis &axis, int64_t distance) const {
  Link link{0, 0};
  if (distance % axis.extent == 0)
    return link;
  auto isAny = [&](bool isWithin) {
    for (int64_t rank = axis.firstRank; rank < axis.firstRank + axis.size; ++rank)
      if (isWithinNode(rank, shifted(axis, rank, distance)) == isWithin)
        return true;
    return false;
  };
  if (isAny(true))
    link = within;
  if (const double congestion = shiftCongestion(axis, distance); congestion > 0)
    link = {std::max(link.alpha, between.alpha),
            std::max(link.beta, secondsPerByte() * congestion)};
  return link;
}

Link Network::exchangeLink(const GridAxis &axis) const {
  if (axis.extent == 1)
    return {0, 0};
  const double pairs = static_cast<double>(axis.size) * static_cast<double>(axis.extent - 1);
  const double shareWithin = pairsWithinNodes(axis) / pairs;
  Link link{shareWithin > 0 ? within.alpha : 0, shareWithin * within.beta};
  if (const double congestion = exchangeCongestion(axis); congestion > 0)
    link = {std::max(link.alpha, between.alpha),
            std::max(link.beta, secondsPerByte() * congestion)};
  return link;
}

LinkLoads::LinkLoads(const Network &network)
    : network(network), changes(static_cast<std::size_t>(network.links()), 0.0) {}

void LinkLoads::add(int64_t from, int64_t to, double amount) {
  network.forEachSegment(network.nodeOf(from), network.nodeOf(to),
                         [&](const Network::Segment &part) { addSegment(part, amount); });
}

void LinkLoads::addSegment(const Network::Segment &segment, double amount) {
  double *const line = &changes[static_cast<std::size_t>(segment.line)];
  const int64_t end = segment.begin + segment.count;
  line[segment.begin] += amount;
  if (end > segment.length)
    line[0] += amount;
  if (end != segment.length)
    line[end % segment.length] -= amount;
}

std::vector<double> LinkLoads::byLink() const {
  std::vector<double> loads = changes;
  const int64_t size =
      network.torus.empty() ? 0 : network.torus.front().stride * network.torus.front().extent;
  for (const Network::TorusDim &dim : network.torus)
    for (int64_t i = 0; i < 2 * size; ++i)
      if (i % dim.extent != 0)
        loads[static_cast<std::size_t>(dim.firstLink + i)] +=
            loads[static_cast<std::size_t>(dim.firstLink + i - 1)];
  return loads;
}

double LinkLoads::largest() const {
  double most = 0;
  for (const double load : byLink())
    most = std::max(most, load);
  return most;
}

} // namespace einsumc
