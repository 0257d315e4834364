//===- BlockChoice.cpp - how a contraction is cut into blocks ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/BlockChoice.h"

#include "compiler/plan/BlockAccess.h"
#include "compiler/plan/BlockCost.h"
#include "compiler/plan/BlockCounts.h"
#include "compiler/plan/BlockPanels.h"
#include "compiler/plan/FetchedBlocks.h"
#include "compiler/plan/TaskLoops.h"
#include "compiler/plan/WrittenBlocks.h"

#include "einsumc/BlockTiles.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace einsumc {

namespace {

constexpr int64_t kFewColumns = BlockLimits::kFewColumns;
/// Bytes of a block of L along m that are enough: a larger block rather has longer sums, so that C
/// is read and written less often.
constexpr int64_t kEnoughBytesM = 512;
/// Elements of a block along k that a block of L with many rows has nevertheless: it then comes in
/// part from the third-level cache.
constexpr int64_t kLeastK = 384;
/// Elements of a block along m and n: beyond these, longer ones gain nothing.
constexpr int64_t kMostM = BlockLimits::kMostM, kMostN = 2048;
/// What many sums are a multiple of.
constexpr int64_t kStepK = 16;
/// Elements of a dim along which a tensor is contiguous: first so many of every such dim, then,
/// where there is room, more. Rows of C are written past the caches or stay in them, so whole
/// panels do; single cache lines come slowly from memory, so what is read has longer ones, the more
/// so the less often it is used.
constexpr int64_t kShortestRow = BlockCounts::kShortestRow, kWrittenRow = BlockCounts::kWrittenRow;
constexpr int64_t kLongRow = 64;
constexpr int64_t kReadRow = 96, kReusedRow = 48;
constexpr int64_t kManyUses = 192;
/// Bytes of a tensor that should lie next to each other in a block, over several dims if need be:
/// pages of memory are opened for longer pieces than cache lines.
constexpr int64_t kRunBytes = 512;
/// The same of a large operand that is used few times, and what comes first.
constexpr int64_t kFarRunBytes = 4096, kLineBytes = 64;
/// Shares of all tensors that are large, and that are worth runs of some cache lines, or one.
constexpr double kLargeShare = 0.25, kSmallShare = 0.0625;
/// Sums and columns for which a batch of products leaves room in a block.
constexpr int64_t kLeastBatchK = 128, kLeastBatchN = 256;
/// Tasks for each thread that keep a team busy: of one or two threads, which may be more in the end
/// than the machine file says, and of many.
constexpr int64_t kTasksOfFew = 12, kFewThreads = 2, kTasksOfMany = 4;
/// Fewer tasks for each thread are worth reading operands in parts of lines.
constexpr int64_t kTasksAtLeast = 3;
/// Blocks of the sums for each thread with which they may be shared instead.
constexpr int64_t kSumsOfMany = 8;
/// The shortest sides to which blocks are cut for that.
constexpr int64_t kLeastN = 96;
/// With blocks of C so long along m and n packing costs little, and C should stay in the caches
/// through all sums; with smaller ones the threads should keep what they have packed.
constexpr int64_t kLongSide = 384;
/// The same of blocks of C that would be added to in short runs, and are summed in scratch instead.
constexpr int64_t kLongSideOfSums = 256;
/// So many blocks of the sums are many.
constexpr int64_t kManySums = 3;
/// Sums of up to so many elements are made shorter, by half at most, for the sake of blocks with so
/// many columns.
constexpr int64_t kMostShortened = 512, kManyColumns = 512;
/// The largest result, in elements, of which each thread may have a copy: the sums are long.
constexpr int64_t kPrivateResult = int64_t{1} << 20;
/// Eighths of the second-level cache for the blocks of a result through scratch: with room for
/// others, and as many as may be.
constexpr int64_t kUsualScratch = 3, kLargeScratch = 6;
/// The share of the time of packed blocks that those of a result through scratch must take at most
/// where the estimate decides, which knows copies in the caches less well.
constexpr double kClearly = 0.9;
/// The share of the usual packed blocks' time that those for smaller caches must take at most.
constexpr double kMuchFaster = 0.8;

class Chooser {
public:
  Chooser(const WorkDims &dims, ElementType type, const Machine &machine, bool isSerial,
          bool maySplitSums, TeamShares shares)
      : dims(dims), type(type), machine(machine), elementBytes(sizeInBytes(type)),
        limits(machine, elementBytes), isSerial(isSerial), shares(shares),
        threads(shares == TeamShares::Equal ? 1 : std::max(machine.threads, kFewThreads)),
        enoughTasks(std::max(kTasksOfFew * std::min(machine.threads, kFewThreads),
                             kTasksOfMany * machine.threads)),
        enoughSums(std::min(2 * enoughTasks, kSumsOfMany * machine.threads)),
        maySplitSums(maySplitSums), leastBatch(dims.size(), 1), lineOfBatch(dims.size(), 1),
        block(dims) {}

  BlockChoice run() {
    if (auto fetched = fetchedBlocks(dims, elementBytes, limits, isSerial ? 1 : threads,
                                     isSerial ? 1 : enoughTasks))
      return std::move(*fetched);
    std::optional<BlockChoice> inScratch;
    if (const auto written = writtenBlocks(kUsualScratch)) {
      inScratch = blocksThroughScratch(*written);
      if (packsAgain(*inScratch))
        takeLargerScratch(*inScratch);
      if (written->areMostlyWritten)
        return *inScratch;
    }
    choosePacked();
    chooseSmaller();
    if (inScratch)
      takeIfFaster(choice, *inScratch, kClearly);
    return choice;
  }

private:
  void choosePacked() {
    chooseUnevenParts();
    if (!choice.sumsInScratch && shouldSumInScratch() && choice.k <= kMostShortened)
      lengthenRows();
    if (choice.sumsInScratch)
      fillPanelsOfSums();
    evenParts(&Chooser::completePacked);
    if (choice.packsLeft && !choice.panelsAcross && choice.columnTogether == 0)
      takeWholePanels();
  }

  /// Takes blocks for smaller caches if they are much faster, as an operand is packed less often,
  /// without shorter runs.
  void chooseSmaller() {
    if (!packsAgain(choice) || isForOneThread(dims))
      return;
    for (const int64_t parts : {2, 4}) {
      Chooser smaller(dims, type, machine, isSerial, maySplitSums, shares);
      smaller.limits.divide(parts);
      smaller.choosePacked();
      if (hasSuchRuns(smaller.choice))
        takeIfFaster(choice, smaller.choice, kMuchFaster);
    }
  }

  /// Whether other blocks have as long runs of all tensors, in batches of as many products.
  bool hasSuchRuns(const BlockChoice &other) const {
    const auto hasSuchRun = [&](Role role) {
      return dims.run(role, other.counts) >= dims.run(role, choice.counts);
    };
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      if (dims[dim].dimClass == DimClass::C && other.counts[dim] != choice.counts[dim])
        return false;
    return hasSuchRun(Role::A) && hasSuchRun(Role::B) && hasSuchRun(Role::C);
  }

  void chooseUnevenParts() {
    chooseSides();
    if (!isSerial && block.tasks() < enoughTasks)
      shareWork();
    completePacked();
  }

  /// Whether sums that are added to C in short runs and often should rather add up in scratch.
  bool shouldSumInScratch() const {
    return choice.kBlocks >= kManySums && !choice.sumsInParallel &&
           (isForSums || !areTilesInPlace(dims, type, machine, choice));
  }

  /// Takes more rows and shorter sums if these may then add up in scratch.
  void lengthenRows() {
    const DimCounts countsBefore = block.counts;
    const BlockChoice before = choice;
    isForSums = true;
    block.counts.assign(dims.size(), 1);
    chooseUnevenParts();
    if (choice.sumsInScratch && choice.n >= kManyColumns && 2 * choice.k >= before.k)
      return;
    isForSums = false;
    block.counts = countsBefore;
    choice = before;
  }

  /// Cuts the dim along which C is written so that panels of the next one are full: in scratch,
  /// runs of C do not matter to kernels.
  void fillPanelsOfSums() {
    const DimIndices order = dimsOfTask(dims, DimClass::M, choice.rowsAsIn, choice.taskCounts);
    if (order.size() < 2 || choice.panelsAcross)
      return;
    const std::size_t first = order[0], second = order[1];
    if (block.counts[first] == dims.extent(first))
      return;
    const int64_t count = countOfFullPanels(dims.extent(first), dims.extent(second), kShortestRow,
                                            limits.panelRows, limits.lanes());
    const int64_t rows = block.counts[first] * block.counts[second];
    const int64_t inPanel = limits.panelRows / count;
    DimCounts filled = block.counts;
    filled[first] = count;
    filled[second] = std::min(dims.extent(second), roundUp(ceilDiv(rows, count), inPanel));
    changeCounts(filled);
  }

  /// Takes other counts, unless sums would no longer add up where those before were chosen for.
  void changeCounts(const DimCounts &counts) {
    const DimCounts before = std::exchange(block.counts, counts);
    const bool sumsInScratch = choice.sumsInScratch;
    completePacked();
    if (choice.sumsInScratch == sumsInScratch)
      return;
    block.counts = before;
    completePacked();
  }

  /// Leaves out the rest of the dim that panels are cut along if that makes no more blocks: a few
  /// indices of it would be copied one by one.
  void takeWholePanels() {
    const BlockPanels panels = panelsOf(dims, choice, limits.panelRows);
    if (panels.dims == 0)
      return;
    const std::size_t cut =
        dimsOfTask(dims, DimClass::M, choice.rowsAsIn, choice.taskCounts)[panels.dims - 1];
    const int64_t whole = block.counts[cut] / panels.count * panels.count;
    const auto blocksOf = [&](int64_t count) { return ceilDiv(dims.extent(cut), count); };
    if (whole == 0 || blocksOf(whole) > blocksOf(block.counts[cut]))
      return;
    DimCounts counts = block.counts;
    counts[cut] = whole;
    changeCounts(counts);
  }

  void takeCounts() {
    choice.counts = choice.taskCounts = block.counts;
    choice.m = block.sizeOf(DimClass::M);
    choice.n = block.sizeOf(DimClass::N);
    choice.k = block.sizeOf(DimClass::K);
    choice.mBlocks = block.blocksOf(DimClass::M);
    choice.nBlocks = block.blocksOf(DimClass::N);
    choice.kBlocks = block.blocksOf(DimClass::K);
  }

  void completePacked() {
    takeCounts();
    choice.sumsInside = choice.m >= kLongSide && choice.n >= kLongSide && !choice.sumsInParallel;
    chooseAccess(dims, block, elementBytes, choice);
    choice.columnTogether = columnTogether(dims, choice, limits, elementBytes);
    choice.panelsAcross = choice.columnTogether == 0 && shouldGoAcross(dims, choice, limits);
    choice.sumsInScratch = false; // Until it is known how tiles would get into C.
    choice.sumsInScratch = std::min(choice.m, choice.n) >= kLongSideOfSums && shouldSumInScratch();
    choice.sumsInside = choice.sumsInside || choice.sumsInScratch;
  }

  /// \param complete chooses what follows from the counts
  void evenParts(void (Chooser::*complete)()) {
    (this->*complete)();
    if (isSerial || choice.sumsInParallel)
      return;
    const bool sumsInScratch = choice.sumsInScratch; // What the counts were chosen for.
    const DimCounts even =
        einsumc::evenParts(dims, limits.lanes(), block.counts, [&](const DimCounts &counts) {
          block.counts = counts;
          (this->*complete)();
          const LocalCost cost = costOf(choice);
          const bool isOther = choice.sumsInScratch != sumsInScratch;
          return TeamTime{isOther ? std::numeric_limits<double>::infinity() : cost.seconds(),
                          cost.imbalance};
        });
    block.counts = even;
    (this->*complete)();
  }

  LocalCost costOf(const BlockChoice &blocks) const {
    return blockCost(dims, type, machine, blocks, threads);
  }

  /// Takes other blocks if they take less than a share of the time.
  void takeIfFaster(BlockChoice &taken, const BlockChoice &other, double share) const {
    if (costOf(other).seconds() < share * costOf(taken).seconds())
      taken = other;
  }

  /// \param eighths of the second-level cache for all blocks of a task together
  std::optional<WrittenBlocks> writtenBlocks(int64_t eighths) const {
    if (isSerial)
      return std::nullopt;
    return einsumc::writtenBlocks(dims, elementBytes, limits.lanes(),
                                  eighths * limits.leftBytes / 4 / elementBytes, enoughTasks);
  }

  /// Whether there are several blocks of both sides, so that an operand is packed for each of the
  /// other one's.
  static bool packsAgain(const BlockChoice &blocks) {
    return blocks.mBlocks > 1 && blocks.nBlocks > 1;
  }

  /// Takes blocks with more room if an operand then is packed once.
  void takeLargerScratch(BlockChoice &blocks) const {
    const auto larger = writtenBlocks(kLargeScratch);
    if (!larger)
      return;
    const BlockChoice other = blocksThroughScratch(*larger);
    if (!packsAgain(other))
      takeIfFaster(blocks, other, kClearly);
  }

  BlockChoice blocksThroughScratch(const WrittenBlocks &written) const {
    Chooser other = *this;
    other.chooseWritten(written.counts);
    return other.choice;
  }

  void chooseWritten(const DimCounts &counts) {
    block.counts = counts;
    choice.resultThroughScratch = choice.packsLeft = choice.packsRight = true;
    evenParts(&Chooser::takeCounts);
  }

  /// Panels and vectors of rows.
  BlockCounts::Steps rowSteps() const { return {limits.panelRows, limits.lanes()}; }

  void chooseSides() {
    // A block of L that is transposed on its way must have room for rows of both sides.
    const bool isStreamed = dims.extentOf(DimClass::N) <= kFewColumns;
    int64_t leftElements =
        (isStreamed ? limits.streamedLeftBytes : limits.leftBytes) / elementBytes;
    int64_t mostK = longestSums();
    if (isForSums)
      mostK = std::min(mostK, limits.leftBytes / elementBytes / kLongSideOfSums);
    growFarRuns(leftElements);
    leftElements /= block.sizeOf(DimClass::C);
    const int64_t rowsAtLeast =
        std::max({rowsOfLeft(), rowsToFill(dims, limits), block.sizeOf(DimClass::M)});
    const int64_t sums = std::min(mostK, std::max<int64_t>(kLeastK, leftElements / rowsAtLeast));
    growRows(DimClass::K, {Role::B, Role::A}, sums);
    block.growRuns(DimClass::K, {Role::B, Role::A}, kRunBytes / elementBytes, sums);
    block.fill(DimClass::K, Role::B, sums, {kStepK});
    choice.k = block.sizeOf(DimClass::K);
    const int64_t rows = std::max(leftElements / choice.k, limits.panelRows);
    growRows(DimClass::M, {Role::C, Role::A}, std::min(rows, kMostM));
    block.growRuns(DimClass::M, {Role::C, Role::A}, kRunBytes / elementBytes, rows);
    block.fill(DimClass::M, Role::C, std::min(rows, kMostM), rowSteps());
    // Sums in scratch stay in the third-level cache, too.
    const int64_t inColumn = isForSums ? std::max(choice.k, block.sizeOf(DimClass::M)) : choice.k;
    const int64_t columns = std::clamp(
        limits.rightBytes / elementBytes / inColumn / block.sizeOf(DimClass::C), kLeastN, kMostN);
    growRows(DimClass::N, {Role::C, Role::B}, columns);
    block.growRuns(DimClass::N, {Role::C, Role::B}, kRunBytes / elementBytes, columns);
    block.fill(DimClass::N, Role::C, columns, {tiles::kStepN});
  }

  /// Elements of a block along k. Where a large R comes from memory, which has to be fetched ahead,
  /// the second-level cache must have more room for its tiles beside L.
  int64_t longestSums() const {
    const int64_t most = limits.leftBytes / kEnoughBytesM;
    const bool isFar = limits.isRightFar && dims.extentOf(DimClass::M) >= kMostM &&
                       dims.extentOf(DimClass::N) >= kMostN;
    return isFar && dims.extentOf(DimClass::K) > most ? 2 * most / 3 : most;
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
    for (const std::size_t dim : block.contiguousDims(DimClass::M, {Role::C, Role::A}))
      product *= std::min(dims.extent(dim), rowOf(DimClass::M, dim));
    return product;
  }

  /// Takes rows of the dims along which one of the roles' tensors is contiguous, up to a number of
  /// elements.
  void growRows(DimClass dimClass, std::initializer_list<Role> roles, int64_t most) {
    const DimIndices contiguous = block.contiguousDims(dimClass, roles);
    for (const std::size_t dim : contiguous)
      block.grow(dim, kShortestRow, most);
    for (const std::size_t dim : contiguous)
      block.grow(dim, rowOf(dimClass, dim), most);
    for (const std::size_t dim : contiguous)
      block.grow(dim, kLongRow, most);
  }

  /// Takes indices of dims of all classes that make runs of operands which are long enough for the
  /// processor to fetch them from memory by itself, if the operands are large and used too seldom
  /// for the time of that not to matter: by turns up to ever longer ones. Lines of C come first,
  /// as blocks of it are written in shorter runs otherwise.
  void growFarRuns(int64_t leftElements) {
    const auto isFar = [&](Role role, int64_t bytes) {
      const int64_t uses = dims.extentOf(role == Role::A ? DimClass::N : DimClass::M);
      const int64_t few = bytes <= kLineBytes ? kManyUses : bytes <= kRunBytes ? kManyUses / 2 : 0;
      const double share = uses < few ? kSmallShare : kLargeShare;
      return uses < kManyUses && dims.elements(role) >= share * dims.footprint();
    };
    if (!isFar(Role::A, kLineBytes) && !isFar(Role::B, kLineBytes))
      return;
    for (const int64_t bytes : {kLineBytes, kRunBytes, kFarRunBytes}) {
      if (bytes <= (isLarge(Role::C) ? kRunBytes : kLineBytes))
        growRun(Role::C, bytes / elementBytes, leftElements);
      for (const Role role : {Role::A, Role::B})
        if (isFar(role, bytes))
          growRun(role, bytes / elementBytes, leftElements);
    }
  }

  bool isLarge(Role role) const { return dims.elements(role) >= kLargeShare * dims.footprint(); }

  void growRun(Role role, int64_t wanted, int64_t leftElements) {
    int64_t run = 1;
    for (const std::size_t dim : dims.inOrder(role)) {
      if (dims.stride(role, dim) != run || run >= wanted)
        return;
      const DimClass dimClass = dims[dim].dimClass;
      // The products of a batch are written one by one here, so it does nothing for C, and harm if
      // C is larger than a small operand.
      if (dimClass == DimClass::C &&
          (role == Role::C || (!isLarge(role) && dims.elements(role) < dims.elements(Role::C))))
        return;
      block.grow(dim, ceilDiv(wanted, run), mostOf(dimClass, leftElements));
      if (dimClass == DimClass::C) {
        block.even(dim);
        leastBatch[dim] = std::max(leastBatch[dim], ceilDiv(kRunBytes / elementBytes, run));
        lineOfBatch[dim] = std::max(lineOfBatch[dim], ceilDiv(kLineBytes / elementBytes, run));
      }
      if (block.counts[dim] < dims.extent(dim))
        return;
      run *= dims.extent(dim);
    }
  }

  /// Elements along a class for which there is room beside those that a block has of the others.
  int64_t mostOf(DimClass dimClass, int64_t leftElements) const {
    const auto atLeast = [&](DimClass of, int64_t elements) {
      return std::max(block.sizeOf(of), std::min(dims.extentOf(of), elements));
    };
    // R stays in the second-level cache, too, as it is used as seldom; not for a batch's sake.
    const int64_t nearRight = limits.leftBytes / elementBytes;
    const int64_t right = limits.rightBytes / elementBytes;
    const int64_t c = block.sizeOf(DimClass::C);
    const int64_t k = atLeast(DimClass::K, c > 1 ? kLeastBatchK : kLeastK);
    const int64_t m = atLeast(DimClass::M, limits.panelRows);
    const int64_t n = atLeast(DimClass::N, kLeastN);
    switch (dimClass) {
    case DimClass::C: // With sums that are worth a kernel.
      return std::min(
          leftElements / (m * atLeast(DimClass::K, kLeastBatchK)),
          right / (atLeast(DimClass::N, kLeastBatchN) * atLeast(DimClass::K, kLeastBatchK)));
    case DimClass::K:
      return std::min(leftElements / (c * m), nearRight / (c * n));
    case DimClass::M:
      return std::min(kMostM, leftElements / (c * k));
    case DimClass::N:
      return std::min(kMostN, nearRight / (c * k));
    }
    return 1;
  }

  /// Gives the threads enough blocks of the sums if there are as many, else of the result, or at
  /// last shorter ones of the sums, or of a batch along which operands are then read in lines, and
  /// in parts of lines if there still are very few.
  void shareWork() {
    const bool maySplit = maySplitSums && dims.elements(Role::C) <= kPrivateResult;
    choice.sumsInParallel = maySplit && block.blocksOf(DimClass::K) >= enoughSums;
    if (choice.sumsInParallel)
      return;
    const DimCounts whole = block.counts;
    shrinkForTeam();
    if (2 * block.tasks() >= enoughTasks)
      return;
    const DimCounts shrunk = std::exchange(block.counts, whole);
    choice.sumsInParallel = maySplit && cutSums();
    if (choice.sumsInParallel)
      return;
    block.counts = shrunk;
    while (2 * block.tasks() < enoughTasks && halveBatch(lineOfBatch))
      ;
    const int64_t needed =
        std::min(enoughTasks / 2, kTasksAtLeast * std::max(machine.threads, kFewThreads));
    while (block.tasks() < needed && halveBatch(DimCounts(dims.size(), 1)))
      ;
  }

  /// Cuts the sums into enough blocks for the team. Returns whether they are long enough.
  bool cutSums() {
    while (block.blocksOf(DimClass::K) < enoughSums)
      if (!block.halve(DimClass::K, Role::A, kLeastK, {1}))
        return false;
    return true;
  }

  /// Cuts blocks until there are enough tasks or the sides are short, first along m, if the rows
  /// still fill vectors then: every task packs its block of L, while R is packed once for a row of
  /// them.
  void shrinkForTeam() {
    while (block.tasks() < enoughTasks)
      if (!halveBatch(leastBatch) &&
          !block.halve(DimClass::M, Role::A, std::max(limits.panelRows, rowsToFill(dims, limits)),
                       rowSteps()) &&
          !block.halve(DimClass::N, Role::B, kLeastN, {tiles::kStepN}))
        return;
  }

  /// Halves a dim of a batch of which there are more than so many indices. Returns whether it
  /// could.
  bool halveBatch(const DimCounts &least) {
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      if (dims[dim].dimClass != DimClass::C || block.counts[dim] <= least[dim])
        continue;
      const int64_t parts = 2 * ceilDiv(dims.extent(dim), block.counts[dim]);
      block.counts[dim] = std::max(least[dim], ceilDiv(dims.extent(dim), parts));
      return true;
    }
    return false;
  }

  const WorkDims &dims;
  ElementType type;
  const Machine &machine;
  int64_t elementBytes;
  BlockLimits limits;
  bool isSerial;
  TeamShares shares;
  int64_t threads, enoughTasks, enoughSums;
  bool maySplitSums;
  DimCounts leastBatch;   ///< by dim: indices of a batch that make runs which are not short
  DimCounts lineOfBatch;  ///< the same, that make lines
  bool isForSums = false; ///< blocks have shorter sums and more rows, for sums in scratch
  BlockCounts block;
  BlockChoice choice;
};

} // namespace

BlockChoice chooseBlocks(const WorkDims &dims, ElementType type, const Machine &machine,
                         bool isSerial, bool maySplitSums, TeamShares shares) {
  return Chooser(dims, type, machine, isSerial, maySplitSums, shares).run();
}

} // namespace einsumc
