//===- LocalNest.cpp - chooses the loops and tiles of a contraction ---------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/LocalNest.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace einsumc {

std::size_t LocalNest::outerLoops() const {
  return static_cast<std::size_t>(llvm::count_if(
      loops, [&](const NestLoop &loop) { return dims[loop.dim].dimClass != DimClass::K; }));
}

namespace {

/// Elements of a tile along m, n and k: two packed inputs and a result in half of a 1 MiB L2.
constexpr int64_t kTileM = 128, kTileN = 128, kTileK = 256;
/// Where one dim alone gives so many elements, no other joins it in a tile, so that the tile can
/// be read in place.
constexpr int64_t kEnoughM = 24, kEnoughN = 12, kEnoughK = 32;
/// Elements at a time of kernels that stream through memory.
constexpr int64_t kStream = 2048;
/// With fewer iterations a nest cannot keep a team busy.
constexpr int64_t kFewTasks = 8;
/// Below so many flops a team costs more than it gains.
constexpr double kSerialFlops = 200'000;
/// The largest result, in elements, of which each thread may have a copy.
constexpr int64_t kPrivateResult = int64_t{1} << 16;

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

class NestChooser {
public:
  NestChooser(const Tree &tree, NodeId node, const NodeSchedule &schedule,
              const std::array<Layout, 3> &stored)
      : tree(tree), node(node) {
    nest.dims = fuseDims(tree, node, schedule, {stored.begin(), stored.end()});
  }

  LocalNest run() {
    orient();
    if (isStreaming())
      tileForStreaming();
    else
      tileForGemm();
    addLoops();
    double iterations = 1;
    for (const FusedDim &dim : nest.dims)
      iterations *= static_cast<double>(dim.extent);
    nest.serial = 2 * iterations < kSerialFlops;
    nest.sumsInParallel =
        !nest.serial && tasks(0, nest.outerLoops()) < kFewTasks &&
        tasks(nest.outerLoops(), nest.loops.size()) >= kFewTasks &&
        extentOf(DimClass::C) * extentOf(DimClass::M) * extentOf(DimClass::N) <= kPrivateResult;
    return std::move(nest);
  }

private:
  /// Where a dim stands in a role's tensor: the larger, the faster; -1 when it is not there.
  int speed(Role role, std::size_t dim) const {
    const std::vector<DimId> &dims = dimsOf(tree, node, role);
    const auto at = llvm::find(dims, nest.dims[dim].dims.back());
    return at == dims.end() ? -1 : static_cast<int>(at - dims.begin());
  }

  /// Whether neighbours along the dim are neighbours in the role's tensor.
  bool isUnit(Role role, std::size_t dim) const {
    const std::vector<DimId> &dims = dimsOf(tree, node, role);
    auto last =
        std::find_if(dims.rbegin(), dims.rend(), [&](DimId d) { return tree.dim(d).extent > 1; });
    return last != dims.rend() && *last == nest.dims[dim].dims.back();
  }

  /// The dims of a class, the fastest in the role's tensor first.
  std::vector<std::size_t> dimsBySpeed(DimClass dimClass, Role role) const {
    std::vector<std::size_t> result;
    for (std::size_t d = 0; d < nest.dims.size(); ++d)
      if (nest.dims[d].dimClass == dimClass)
        result.push_back(d);
    llvm::sort(result,
               [&](std::size_t a, std::size_t b) { return speed(role, a) > speed(role, b); });
    return result;
  }

  int64_t extentOf(DimClass dimClass) const {
    int64_t product = 1;
    for (const FusedDim &dim : nest.dims)
      if (dim.dimClass == dimClass)
        product *= dim.extent;
    return product;
  }

  /// Lets the operand with the fastest m or n dim of the result play L.
  void orient() {
    std::optional<std::size_t> fastest;
    for (std::size_t d = 0; d < nest.dims.size(); ++d)
      if ((nest.dims[d].dimClass == DimClass::M || nest.dims[d].dimClass == DimClass::N) &&
          (!fastest || speed(Role::C, d) > speed(Role::C, *fastest)))
        fastest = d;
    nest.swapped = fastest && nest.dims[*fastest].dimClass == DimClass::N;
    if (!nest.swapped)
      return;
    for (FusedDim &dim : nest.dims)
      if (dim.dimClass == DimClass::M || dim.dimClass == DimClass::N)
        dim.dimClass = dim.dimClass == DimClass::M ? DimClass::N : DimClass::M;
  }

  /// Whether the node moves more than it computes, so that its tensors are read in place: one
  /// operand is (nearly) a vector, or the elements of a batch lie next to each other.
  bool isStreaming() const {
    if (extentOf(DimClass::M) < 4 || extentOf(DimClass::N) < 4)
      return true;
    const std::vector<std::size_t> batch = dimsBySpeed(DimClass::C, Role::C);
    return !batch.empty() && isUnit(Role::C, batch.front()) && nest.dims[batch.front()].extent >= 8;
  }

  void tileForStreaming() {
    auto side = [&](DimClass dimClass, Role role) {
      const std::vector<std::size_t> dims = dimsBySpeed(dimClass, role);
      if (dims.empty())
        return TileSide{};
      const int64_t extent = nest.dims[dims.front()].extent;
      return TileSide{{dims.front()}, std::min(extent, kStream)};
    };
    nest.c = side(DimClass::C, Role::C);
    nest.m = side(DimClass::M, Role::C);
    nest.n = side(DimClass::N, Role::C);
    nest.k = side(DimClass::K, extentOf(DimClass::M) >= extentOf(DimClass::N) ? nest.leftRole()
                                                                              : nest.rightRole());
    // Enough tasks for a team, from the dims that no kernel vectorises over last.
    for (TileSide *side : {&nest.n, &nest.m, &nest.c}) {
      const int64_t now = taskCount();
      if (side->dims.empty() || now >= kFewTasks)
        continue;
      const int64_t extent = nest.dims[side->dims.front()].extent;
      side->count =
          std::max<int64_t>(std::min<int64_t>(side->count, 16), ceilDiv(extent, 4 * kFewTasks));
      side->count = std::min(side->count, extent);
    }
  }

  /// Iterations of all loops but those of class k, with the tiles as they are now.
  int64_t taskCount() const {
    int64_t product = 1;
    for (std::size_t d = 0; d < nest.dims.size(); ++d)
      if (nest.dims[d].dimClass != DimClass::K)
        product *= ceilDiv(nest.dims[d].extent, stepOf(d));
    return product;
  }

  void tileForGemm() {
    nest.m = fill(dimsBySpeed(DimClass::M, Role::C), kTileM, kEnoughM, 16);
    nest.n = fill(dimsBySpeed(DimClass::N, Role::C), kTileN, kEnoughN, 1);
    nest.k = fill(dimsBySpeed(DimClass::K, nest.rightRole()), kTileK, kEnoughK, 1);
    const bool oneM = nest.m.dims.size() == 1;
    const bool oneN = nest.n.dims.size() == 1;
    const bool oneK = nest.k.dims.size() <= 1;
    if (!oneM || !oneK || !isUnit(nest.leftRole(), nest.m.dims.front()))
      nest.left = TileAccess::Packed;
    if (!oneN || !oneK || !isUnitInRight())
      nest.right = TileAccess::Packed;
    if (!oneM || !oneN || !isUnit(Role::C, nest.m.dims.front()))
      nest.result = TileAccess::Packed;
  }

  bool isUnitInRight() const {
    return isUnit(nest.rightRole(), nest.n.dims.front()) ||
           (!nest.k.dims.empty() && isUnit(nest.rightRole(), nest.k.dims.front()));
  }

  /// Takes dims into a tile until it has about `target` elements, or `enough` from whole dims.
  TileSide fill(const std::vector<std::size_t> &candidates, int64_t target, int64_t enough,
                int64_t multiple) const {
    TileSide side;
    int64_t elements = 1;
    for (std::size_t dim : candidates) {
      const int64_t extent = nest.dims[dim].extent;
      const int64_t room = std::max<int64_t>(target / elements, 1);
      const int64_t tiles = ceilDiv(extent, room);
      side.dims.push_back(dim);
      side.count = ceilDiv(extent, tiles);
      if (tiles > 1 && elements == 1)
        side.count = std::min(ceilDiv(side.count, multiple) * multiple, extent);
      elements *= side.count;
      if (tiles > 1 || elements >= enough)
        break;
    }
    return side;
  }

  /// Indices of a dim that one iteration of the nest covers.
  int64_t stepOf(std::size_t dim) const {
    for (const TileSide *side : {&nest.c, &nest.m, &nest.n, &nest.k})
      if (llvm::is_contained(side->dims, dim))
        return side->dims.back() == dim ? side->count : nest.dims[dim].extent;
    return 1;
  }

  void addLoops() {
    for (const auto &[dimClass, role] :
         {std::pair{DimClass::C, Role::C}, std::pair{DimClass::N, Role::C},
          std::pair{DimClass::M, Role::C}, std::pair{DimClass::K, nest.leftRole()}}) {
      std::vector<std::size_t> dims = dimsBySpeed(dimClass, role);
      for (std::size_t dim : llvm::reverse(dims))
        if (stepOf(dim) < nest.dims[dim].extent)
          nest.loops.push_back({dim, stepOf(dim)});
    }
  }

  /// Iterations of the loops [first, last).
  int64_t tasks(std::size_t first, std::size_t last) const {
    int64_t product = 1;
    for (std::size_t l = first; l < last; ++l)
      product *= ceilDiv(nest.dims[nest.loops[l].dim].extent, nest.loops[l].step);
    return product;
  }

  const Tree &tree;
  NodeId node;
  LocalNest nest;
};

} // namespace

LocalNest chooseNest(const Tree &tree, NodeId node, const NodeSchedule &schedule,
                     const std::array<Layout, 3> &stored) {
  return NestChooser(tree, node, schedule, stored).run();
}

} // namespace einsumc
