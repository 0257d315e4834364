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

/// Bytes of a block of L, which stays in the second-level cache (unless the kernels go through it
/// only once or twice), and of R, which is streamed from the third.
constexpr int64_t kLeftBytes = 192 << 10, kStreamedLeftBytes = 1280 << 10, kRightBytes = 768 << 10;
/// Bytes of a row of a panel: what a kernel takes at a time along m. Its length should be a
/// multiple of a vector's, in elements.
constexpr int64_t kPanelBytes = 128, kStepPanel = 8;
/// Elements of the result along n with which L is streamed.
constexpr int64_t kFewColumns = 96;
/// Elements of a block along k: as much of L as a tile has along m then fits the first-level cache.
constexpr int64_t kMostK = 384;
/// Elements of a block along m and n: beyond these, longer ones gain nothing.
constexpr int64_t kMostM = 2048, kMostN = 2048;
/// What long sides are multiples of, so that they fall into whole register blocks.
constexpr int64_t kStepM = 32, kStepN = 12, kStepK = 16;
/// Elements of a dim along which a tensor is contiguous: first so many of every such dim, then,
/// where there is room, more. Rows of C are written past the caches or stay in them, so whole
/// panels do; single cache lines come slowly from memory, so what is read has longer ones, the more
/// so the less often it is used.
constexpr int64_t kShortestRow = 16, kWrittenRow = 32, kLongRow = 64;
constexpr int64_t kReadRow = 96, kReusedRow = 48;
constexpr int64_t kManyUses = 192;
/// Tasks that keep a team busy.
constexpr int64_t kEnoughTasks = 24;
/// The shortest sides to which blocks are cut for that.
constexpr int64_t kLeastM = 48, kLeastN = 96;
/// An operand of so few elements is read in place if it can be, and so is one that meets so few
/// elements of the other operand that packing would not pay.
constexpr int64_t kSmallOperand = 32 << 10, kFewUses = 32;
/// With blocks of C so long along m and n packing costs little, and C should stay in the caches
/// through all sums; with smaller ones the threads should keep what they have packed.
constexpr int64_t kLongSide = 384;
/// A result of so many bytes has left the caches before it is used.
constexpr int64_t kCacheBytes = 16 << 20;
/// The largest result, in elements, of which each thread may have a copy: the sums are long.
constexpr int64_t kPrivateResult = int64_t{1} << 20;

class BlockNest {
public:
  BlockNest(const NestDims &dims, int64_t elementBytes, LocalNest &nest)
      : dims(dims), elementBytes(elementBytes), nest(nest) {}

  void run() {
    nest.kernel = NestKernel::Block;
    chooseBlocks();
    const int64_t sums = blocksOf(nest.k, DimClass::K);
    nest.sumsInParallel = !nest.serial && tasks() < kEnoughTasks && sums >= 2 * kEnoughTasks &&
                          dims.resultSize() <= kPrivateResult;
    if (!nest.serial && !nest.sumsInParallel)
      shrinkForTeam();
    chooseAccess();
    nest.resultPastCaches = sums == 1 && dims.resultSize() * elementBytes >= kCacheBytes;
    addLoops();
  }

private:
  void chooseBlocks() {
    // A block of L that is transposed on its way must have room for rows of both sides.
    const bool isStreamed = dims.extentOf(DimClass::N) <= kFewColumns;
    const int64_t leftElements = (isStreamed ? kStreamedLeftBytes : kLeftBytes) / elementBytes;
    nest.k = fill(DimClass::K, {nest.rightRole(), nest.leftRole()},
                  std::min(kMostK, leftElements / rowsOfLeft()), kStepK);
    const int64_t k = nest.k.size();
    nest.m = fill(DimClass::M, {Role::C, nest.leftRole()},
                  std::clamp(leftElements / k, kLeastM, kMostM), kStepM);
    nest.n = fill(DimClass::N, {Role::C, nest.rightRole()},
                  std::clamp(kRightBytes / elementBytes / k, kLeastN, kMostN), kStepN);
  }

  /// The dims of a class along which one of the roles' tensors is contiguous, each once.
  std::vector<std::size_t> contiguousDims(DimClass dimClass,
                                          std::initializer_list<Role> roles) const {
    std::vector<std::size_t> result;
    for (const Role role : roles)
      for (const std::size_t dim : dims.bySpeed(dimClass, role))
        if (dims.isUnit(role, dim) && !llvm::is_contained(result, dim))
          result.push_back(dim);
    return result;
  }

  /// The elements that a block should have of a dim along which a tensor is contiguous.
  int64_t rowOf(DimClass dimClass, std::size_t dim) const {
    if (dims.isUnit(Role::C, dim))
      return kWrittenRow;
    const int64_t uses = dims.extentOf(dimClass == DimClass::M ? DimClass::N : DimClass::M);
    return uses <= kFewColumns ? kReadRow : uses < kManyUses ? kReusedRow : kShortestRow;
  }

  /// Elements of a block of L along m with rows of all dims along which it or C is contiguous.
  int64_t rowsOfLeft() const {
    int64_t product = 1;
    for (const std::size_t dim : contiguousDims(DimClass::M, {Role::C, nest.leftRole()}))
      product *= std::min(dims.extent(dim), rowOf(DimClass::M, dim));
    return product;
  }

  /// Takes indices of a class's dims, the fastest in the first role first, up to a number of
  /// elements; rows of the dims along which one of the roles' tensors is contiguous before others.
  NestSide fill(DimClass dimClass, std::initializer_list<Role> roles, int64_t most,
                int64_t step) const {
    const std::vector<std::size_t> candidates = dims.bySpeed(dimClass, *roles.begin());
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
    const std::vector<std::size_t> contiguous = contiguousDims(dimClass, roles);
    for (const std::size_t dim : contiguous)
      grow(dim, kShortestRow);
    for (const std::size_t dim : contiguous)
      grow(dim, rowOf(dimClass, dim));
    for (const std::size_t dim : contiguous)
      grow(dim, kLongRow);
    for (const std::size_t dim : candidates)
      grow(dim, dims.extent(dim));

    NestSide side;
    for (const std::size_t dim : candidates)
      if (const int64_t count = counts[dim]; count > 1 || dims.extent(dim) == 1)
        side.dims.push_back({dim, balanced(dims.extent(dim), count, step)});
    return side;
  }

  /// The length of nearly equal parts, about at most so long, in multiples of `step` where long.
  static int64_t balanced(int64_t extent, int64_t most, int64_t step) {
    const int64_t parts = ceilDiv(extent, most);
    const int64_t part = ceilDiv(extent, parts);
    if (parts == 1 || part <= 2 * step)
      return part;
    const int64_t rounded = ceilDiv(part, step) * step;
    return rounded <= most ? rounded : ceilDiv(ceilDiv(extent, parts + 1), step) * step;
  }

  int64_t blocksOf(const NestSide &side, DimClass dimClass) const {
    int64_t product = 1;
    for (const SideDim &part : side.dims)
      product *= ceilDiv(dims.extent(part.dim), part.count);
    for (const std::size_t dim : outside(side, dimClass))
      product *= dims.extent(dim);
    return product;
  }

  /// The dims of a class that are not in its side.
  std::vector<std::size_t> outside(const NestSide &side, DimClass dimClass) const {
    std::vector<std::size_t> result;
    for (const std::size_t dim : dims.bySpeed(dimClass, Role::C))
      if (!llvm::any_of(side.dims, [&](const SideDim &part) { return part.dim == dim; }))
        result.push_back(dim);
    return result;
  }

  int64_t tasks() const {
    return dims.extentOf(DimClass::C) * blocksOf(nest.m, DimClass::M) *
           blocksOf(nest.n, DimClass::N);
  }

  /// Halves the longer side of a block until there are enough tasks or the sides are short.
  void shrinkForTeam() {
    while (tasks() < kEnoughTasks) {
      const bool canM = nest.m.size() > kLeastM;
      const bool canN = nest.n.size() > kLeastN;
      if (!canM && !canN)
        return;
      if (canM && (!canN || nest.m.size() >= nest.n.size()))
        halve(nest.m, nest.leftRole());
      else
        halve(nest.n, nest.rightRole());
    }
  }

  /// Halves the largest part of a side; rows along which a tensor is contiguous last.
  void halve(NestSide &side, Role operand) {
    const auto isRow = [&](const SideDim &part) {
      return dims.isUnit(Role::C, part.dim) || dims.isUnit(operand, part.dim);
    };
    SideDim &largest = *std::max_element(
        side.dims.begin(), side.dims.end(), [&](const SideDim &a, const SideDim &b) {
          const bool canA = a.count > 1 && !isRow(a), canB = b.count > 1 && !isRow(b);
          return canA != canB ? canB : a.count < b.count;
        });
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
    if (nest.left == BlockAccess::Packed)
      choosePanels();
  }

  /// As many dims of m, from the fastest on, as make about a kernel's rows.
  void choosePanels() {
    const int64_t most = kPanelBytes / elementBytes;
    int64_t rows = 1;
    for (const SideDim &part : nest.m.dims) {
      ++nest.panelDims;
      nest.panelCount = part.count;
      if (rows * part.count > most) {
        nest.panelCount = panelPart(part.count, rows, most);
        return;
      }
      rows *= part.count;
    }
  }

  /// Indices a panel of a dim that is cut: those with the fewest vectors, more rather than fewer.
  static int64_t panelPart(int64_t count, int64_t rows, int64_t most) {
    int64_t best = std::max<int64_t>(most / rows, 1);
    auto vectors = [&](int64_t part) {
      const int64_t rest = count % part;
      return count / part * ceilDiv(part * rows, kStepPanel) + ceilDiv(rest * rows, kStepPanel);
    };
    for (int64_t part = best; part * rows * 3 >= most * 2; --part)
      if (vectors(part) < vectors(best))
        best = part;
    return best;
  }

  void addLoops() {
    std::vector<NestLoop> tasks;
    const std::vector<std::size_t> batch = dims.bySpeed(DimClass::C, Role::C);
    for (const std::size_t dim : llvm::reverse(batch))
      tasks.push_back({dim, 1});
    addSide(nest.n, DimClass::N, nest.rightRole(), tasks);
    addSide(nest.m, DimClass::M, nest.leftRole(), tasks);
    std::vector<NestLoop> sums;
    addSide(nest.k, DimClass::K, nest.leftRole(), sums);

    const bool areLong = nest.m.size() >= kLongSide && nest.n.size() >= kLongSide;
    const bool sumsInside = areLong && !nest.sumsInParallel;
    nest.firstTeamLoop = nest.sumsInParallel || sumsInside ? 0 : sums.size();
    nest.teamLoops = nest.sumsInParallel ? sums.size() : tasks.size();
    nest.loops = sumsInside ? tasks : sums;
    const std::vector<NestLoop> &inner = sumsInside ? sums : tasks;
    nest.loops.insert(nest.loops.end(), inner.begin(), inner.end());
  }

  /// The loops over the blocks of a side, the slowest dim of the role's tensor outermost.
  void addSide(const NestSide &side, DimClass dimClass, Role role,
               std::vector<NestLoop> &loops) const {
    std::vector<NestLoop> found;
    for (const SideDim &part : side.dims)
      if (part.count < dims.extent(part.dim))
        found.push_back({part.dim, part.count});
    for (const std::size_t dim : outside(side, dimClass))
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
