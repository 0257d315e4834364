//===- BlockNest.cpp - the blocks and loops of contractions that the processor limits ---------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// The nest is Goto's (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
// 2008) over dims instead of m, n and k: a task packs a k x n block of R and goes through blocks
// m x k of L, packed too, with a kernel. A block holds parts of as many dims as it takes to read
// and write whole cache lines of all three tensors.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/lower/NestDims.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

namespace einsumc {

namespace {

/// Bytes of a block of L, which stays in half of the smallest L2 in use, and of R, which a core
/// streams from its part of the L3.
constexpr int64_t kLeftBytes = 256 << 10, kRightBytes = 512 << 10;
/// Elements of a block along each role: beyond these, longer ones gain nothing.
constexpr int64_t kMostK = 256, kMostM = 2048, kMostN = 2048;
/// Elements of a cache line, at most: dims that are contiguous somewhere enter blocks with these.
constexpr int64_t kLine = 16;
/// Elements of L along m for which one packed block of R should serve.
constexpr int64_t kEnoughReuse = 1024;
/// Tasks that keep a team of many threads busy.
constexpr int64_t kEnoughTasks = 32;
/// The shortest sides to which blocks are cut for that.
constexpr int64_t kLeastM = 64, kLeastN = 64;
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
                  kMostK);
    const int64_t k = std::max<int64_t>(nest.k.size(), 1);
    nest.m = fill(dims.bySpeed(DimClass::M, Role::C), {Role::C, nest.leftRole()},
                  std::clamp<int64_t>(kLeftBytes / elementBytes / k, kLeastM, kMostM));
    nest.n = fill(dims.bySpeed(DimClass::N, Role::C), {Role::C, nest.rightRole()},
                  std::clamp<int64_t>(kRightBytes / elementBytes / k, kLeastN, kMostN));
  }

  /// Takes indices of the candidates, in their order, up to a number of elements. Dims along which
  /// one of the roles' tensors is contiguous come first, with a cache line of it.
  NestSide fill(const std::vector<std::size_t> &candidates, std::initializer_list<Role> contiguous,
                int64_t most) const {
    std::map<std::size_t, int64_t> counts;
    int64_t product = 1;
    auto grow = [&](std::size_t dim, int64_t wanted) {
      int64_t &count = counts.try_emplace(dim, 1).first->second;
      product /= count;
      const int64_t room = std::max<int64_t>(most / product, 1);
      count = std::max(count, std::min({wanted, dims.extent(dim), room}));
      product *= count;
    };
    for (const Role role : contiguous)
      for (std::size_t dim : candidates)
        if (dims.isUnit(role, dim))
          grow(dim, kLine);
    for (std::size_t dim : candidates)
      grow(dim, dims.extent(dim));

    NestSide side;
    for (std::size_t dim : candidates)
      if (const int64_t count = counts[dim]; count > 1 || dims.extent(dim) == 1)
        side.dims.push_back({dim, balanced(dims.extent(dim), count)});
    return side;
  }

  /// The length of equal parts, at most so long, in whole cache lines where there are many.
  static int64_t balanced(int64_t extent, int64_t most) {
    const int64_t part = ceilDiv(extent, ceilDiv(extent, most));
    if (part == extent || part <= 2 * kLine)
      return part;
    const int64_t lines = ceilDiv(part, kLine) * kLine;
    return lines <= most ? lines : most / kLine * kLine;
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
  void halve(NestSide &side) const {
    SideDim &largest =
        *std::max_element(side.dims.begin(), side.dims.end(),
                          [](const SideDim &a, const SideDim &b) { return a.count < b.count; });
    largest.count = balanced(dims.extent(largest.dim), ceilDiv(largest.count, 2));
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

  void addLoops() {
    std::vector<NestLoop> batch, right, left, sums, inner;
    for (std::size_t dim : llvm::reverse(dims.bySpeed(DimClass::C, Role::C)))
      batch.push_back({dim, 1});
    addSide(nest.n, Role::C, right);
    addSide(nest.m, Role::C, left);
    addSide(nest.k, nest.leftRole(), sums);
    widenForReuse(left, inner);

    std::vector<NestLoop> tasks = std::move(batch);
    tasks.insert(tasks.end(), right.begin(), right.end());
    tasks.insert(tasks.end(), left.begin(), left.end());
    if (nest.sumsInParallel)
      std::swap(tasks, sums);
    nest.teamLoops = tasks.size();
    nest.loops = std::move(tasks);
    nest.loops.insert(nest.loops.end(), sums.begin(), sums.end());
    nest.loops.insert(nest.loops.end(), inner.begin(), inner.end());
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

  /// Lets a task go through several blocks of L with one block of R, if it leaves enough tasks:
  /// the loops over m, from the innermost, move into the task as far as they are used up.
  void widenForReuse(std::vector<NestLoop> &left, std::vector<NestLoop> &inner) const {
    if (nest.right == BlockAccess::Direct)
      return;
    int64_t spare = nest.sumsInParallel ? tasks() : tasks() / kEnoughTasks;
    int64_t reuse = nest.m.size();
    for (std::size_t l = left.size(); l-- > 0 && spare > 1 && reuse < kEnoughReuse;) {
      const NestLoop loop = left[l];
      const int64_t iterations = ceilDiv(dims.extent(loop.dim), loop.step);
      const int64_t taken = std::min({iterations, spare, ceilDiv(kEnoughReuse, reuse)});
      if (taken == 1)
        continue;
      inner.insert(inner.begin(), loop);
      left[l].step = loop.step * ceilDiv(iterations, ceilDiv(iterations, taken));
      if (left[l].step >= dims.extent(loop.dim))
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(l));
      spare /= taken;
      reuse *= taken;
    }
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
