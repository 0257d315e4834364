//===- BlockNest.cpp - the blocks and loops of contractions that the processor limits ---------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// The blocks are Goto's (Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", 2008) over dims instead of m, n and k: the threads share the blocks m x n of C,
// and multiply a packed m x k block of L by a packed k x n block of R for each. Consecutive tasks
// of a thread share their block of R. A block holds parts of as many dims as it takes to read and
// write whole cache lines of all three tensors.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/NestDims.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

namespace einsumc {

namespace {

/// Bytes of a block of L, which stays in the second-level cache, and of R, which is streamed from
/// the third.
constexpr int64_t kLeftBytes = 192 << 10, kRightBytes = 768 << 10;
/// Elements of a block along k: as much of L as a tile has along m then fits the first-level cache.
constexpr int64_t kMostK = 128;
/// Elements of a block along m and n: beyond these, longer ones gain nothing.
constexpr int64_t kMostM = 2048, kMostN = 2048;
/// What long sides are multiples of, so that they fall into whole register blocks.
constexpr int64_t kStepM = 32, kStepN = 12, kStepK = 16;
/// Elements of a cache line, at most: dims that are contiguous somewhere enter blocks with these.
constexpr int64_t kLine = 16;
/// Elements of a dim, at least, along which memory is read: single lines come slowly.
constexpr int64_t kContiguous = 64;
/// Tasks that keep a team busy.
constexpr int64_t kEnoughTasks = 24;
/// The shortest sides to which blocks are cut for that.
constexpr int64_t kLeastM = 48, kLeastN = 96;
/// An operand of so few elements is read in place if it can be, and so is one that meets so few
/// elements of the other operand that packing would not pay.
constexpr int64_t kSmallOperand = 32 << 10, kFewUses = 32;
/// The largest result, in elements, of which each thread may have a copy.
constexpr int64_t kPrivateResult = int64_t{1} << 20;

class BlockNest {
public:
  BlockNest(const NestDims &dims, int64_t elementBytes, LocalNest &nest)
      : dims(dims), elementBytes(elementBytes), nest(nest) {}

  void run() {
    nest.kernel = NestKernel::Block;
    chooseBlocks();
    const int64_t sums = blocksOf(nest.k);
    nest.sumsInParallel = !nest.serial && tasks() < kEnoughTasks && sums >= 2 * kEnoughTasks &&
                          resultSize() <= kPrivateResult;
    if (!nest.serial && !nest.sumsInParallel)
      shrinkForTeam();
    chooseAccess();
    addLoops();
  }

private:
  void chooseBlocks() {
    nest.k = fill(dims.bySpeed(DimClass::K, nest.rightRole()), {nest.rightRole(), nest.leftRole()},
                  kMostK, kStepK);
    const int64_t k = std::max<int64_t>(nest.k.size(), 1);
    nest.m = fill(dims.bySpeed(DimClass::M, Role::C), {Role::C, nest.leftRole()},
                  std::clamp<int64_t>(kLeftBytes / elementBytes / k, kLeastM, kMostM), kStepM);
    nest.n = fill(dims.bySpeed(DimClass::N, Role::C), {Role::C, nest.rightRole()},
                  std::clamp<int64_t>(kRightBytes / elementBytes / k, kLeastN, kMostN), kStepN);
  }

  /// Takes indices of the candidates, in their order, up to a number of elements. Dims along which
  /// one of the roles' tensors is contiguous come first, with a cache line of it.
  NestSide fill(const std::vector<std::size_t> &candidates, std::initializer_list<Role> contiguous,
                int64_t most, int64_t step) const {
    std::map<std::size_t, int64_t> counts;
    int64_t product = 1;
    auto grow = [&](std::size_t dim, int64_t wanted) {
      int64_t &count = counts.try_emplace(dim, 1).first->second;
      product /= count;
      // Rather a little more than a dim cut in two.
      const int64_t extent = dims.extent(dim);
      const int64_t room = std::max<int64_t>(most / product, 1);
      const bool nearlyFits = wanted >= extent && 2 * extent <= 3 * room;
      count = std::max(count, nearlyFits ? extent : std::min({wanted, extent, room}));
      product *= count;
    };
    for (const Role role : contiguous)
      for (std::size_t dim : candidates)
        if (dims.isUnit(role, dim))
          grow(dim, kContiguous);
    for (std::size_t dim : candidates)
      grow(dim, dims.extent(dim));

    NestSide side;
    for (std::size_t dim : candidates)
      if (const int64_t count = counts[dim]; count > 1 || dims.extent(dim) == 1)
        side.dims.push_back({dim, balanced(dims.extent(dim), count, step)});
    return side;
  }

  /// The length of nearly equal parts, at most so long, in multiples of `step` where long.
  static int64_t balanced(int64_t extent, int64_t most, int64_t step) {
    const int64_t parts = ceilDiv(extent, most);
    const int64_t part = ceilDiv(extent, parts);
    if (parts == 1 || part <= 2 * step)
      return part;
    const int64_t rounded = ceilDiv(part, step) * step;
    return rounded <= most ? rounded : ceilDiv(ceilDiv(extent, parts + 1), step) * step;
  }

  int64_t blocksOf(const NestSide &side) const {
    int64_t product = 1;
    for (const SideDim &part : side.dims)
      product *= ceilDiv(dims.extent(part.dim), part.count);
    for (std::size_t dim : outside(side))
      product *= dims.extent(dim);
    return product;
  }

  /// The dims of the side's class that are not in it.
  std::vector<std::size_t> outside(const NestSide &side) const {
    const DimClass dimClass = &side == &nest.m   ? DimClass::M
                              : &side == &nest.n ? DimClass::N
                                                 : DimClass::K;
    std::vector<std::size_t> result;
    for (std::size_t dim : dims.bySpeed(dimClass, Role::C))
      if (!llvm::any_of(side.dims, [&](const SideDim &part) { return part.dim == dim; }))
        result.push_back(dim);
    return result;
  }

  int64_t tasks() const { return dims.extentOf(DimClass::C) * blocksOf(nest.m) * blocksOf(nest.n); }

  int64_t resultSize() const {
    return dims.extentOf(DimClass::C) * dims.extentOf(DimClass::M) * dims.extentOf(DimClass::N);
  }

  /// Halves the longer side of a block until there are enough tasks or the sides are short.
  void shrinkForTeam() {
    while (tasks() < kEnoughTasks) {
      const bool canM = nest.m.size() > kLeastM;
      const bool canN = nest.n.size() > kLeastN;
      if (!canM && !canN)
        return;
      halve(canM && (!canN || nest.m.size() >= nest.n.size()) ? nest.m : nest.n);
    }
  }

  /// Halves the largest part of a side.
  void halve(NestSide &side) {
    SideDim &largest =
        *std::max_element(side.dims.begin(), side.dims.end(),
                          [](const SideDim &a, const SideDim &b) { return a.count < b.count; });
    largest.count = balanced(dims.extent(largest.dim), ceilDiv(largest.count, 2),
                             &side == &nest.m ? kStepM : kStepN);
  }

  void chooseAccess() {
    const int64_t m = dims.extentOf(DimClass::M);
    const int64_t n = dims.extentOf(DimClass::N);
    const int64_t k = dims.extentOf(DimClass::K);
    const bool oneK = nest.k.dims.size() <= 1;
    const bool mInPlace =
        oneK && nest.m.dims.size() == 1 && dims.isUnit(nest.leftRole(), nest.m.dims.front().dim);
    const bool nInPlace =
        oneK && nest.n.dims.size() == 1 &&
        (nest.k.dims.empty() || dims.isUnit(nest.rightRole(), nest.k.dims.front().dim));
    auto access = [](bool inPlace, int64_t uses, int64_t size) {
      return inPlace && (uses <= kFewUses || size <= kSmallOperand) ? BlockAccess::Direct
                                                                    : BlockAccess::Packed;
    };
    nest.left = access(mInPlace, n, m * k);
    nest.right = access(nInPlace, m, k * n);
  }

  /// The sums outermost, so that consecutive tasks of a thread share what they have packed.
  void addLoops() {
    std::vector<NestLoop> tasks;
    const std::vector<std::size_t> batch = dims.bySpeed(DimClass::C, Role::C);
    for (std::size_t dim : llvm::reverse(batch))
      tasks.push_back({dim, 1});
    addSide(nest.n, nest.rightRole(), tasks);
    addSide(nest.m, nest.leftRole(), tasks);
    addSide(nest.k, nest.leftRole(), nest.loops);
    nest.firstTeamLoop = nest.sumsInParallel ? 0 : nest.loops.size();
    nest.teamLoops = nest.sumsInParallel ? nest.loops.size() : tasks.size();
    nest.loops.insert(nest.loops.end(), tasks.begin(), tasks.end());
  }

  /// The loops over the blocks of a side, the slowest dim of the role's tensor outermost.
  void addSide(const NestSide &side, Role role, std::vector<NestLoop> &loops) const {
    std::vector<NestLoop> found;
    for (const SideDim &part : side.dims)
      if (part.count < dims.extent(part.dim))
        found.push_back({part.dim, part.count});
    for (std::size_t dim : outside(side))
      found.push_back({dim, 1});
    llvm::sort(found, [&](const NestLoop &a, const NestLoop &b) {
      return dims.speed(role, a.dim) < dims.speed(role, b.dim);
    });
    loops.insert(loops.end(), found.begin(), found.end());
  }

  const NestDims &dims;
  int64_t elementBytes;
  LocalNest &nest;
};

} // namespace

void blockNest(const NestDims &dims, int64_t elementBytes, LocalNest &nest) {
  BlockNest(dims, elementBytes, nest).run();
}

} // namespace einsumc
