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
#include "compiler/plan/BlocksInPlace.h"
#include "compiler/plan/FetchedBlocks.h"
#include "compiler/plan/GrowBlock.h"
#include "compiler/plan/ShareWork.h"
#include "compiler/plan/TaskLoops.h"
#include "compiler/plan/WrittenBlocks.h"

#include "einsumc/BlockTiles.h"
#include "einsumc/StridedCopy.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace einsumc {

namespace {

/// Tasks for each thread that keep a team busy: of one or two threads, which may be more in the end
/// than the machine file says, and of many.
constexpr int64_t kTasksOfFew = 12, kFewThreads = 2, kTasksOfMany = 4;
/// Blocks of the sums for each thread with which they may be shared instead.
constexpr int64_t kSumsOfMany = 8;
/// With blocks of C so long along m and n packing costs little, and C should stay in the caches
/// through all sums; with smaller ones the threads should keep what they have packed.
constexpr int64_t kLongSide = 384;
/// So many blocks of the sums are many.
constexpr int64_t kManySums = 3;
/// Sums of blocks that would be added to C are made shorter if they have up to so many elements.
constexpr int64_t kMostShortened = 512;
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
/// The same for those that leave fewer tasks to each thread, or have sums of other lengths.
constexpr double kFaster = 0.98;

class Chooser {
public:
  Chooser(const WorkDims &dims, ElementType type, const Machine &machine, const BlockUse &use)
      : dims(dims), type(type), machine(machine), elementBytes(sizeInBytes(type)),
        limits(machine, elementBytes), use(use),
        threads(use.shares == TeamShares::Equal ? 1 : std::max(machine.threads, kFewThreads)),
        enoughTasks(std::max(kTasksOfFew * std::min(machine.threads, kFewThreads),
                             kTasksOfMany * machine.threads)),
        enoughSums(std::min(2 * enoughTasks, kSumsOfMany * machine.threads)),
        batch{DimCounts(dims.size(), 1), DimCounts(dims.size(), 1)}, block(dims) {}

  BlockChoice run() {
    if (auto fetched = fetchedBlocks(dims, elementBytes, limits, use.isSerial ? 1 : threads,
                                     use.isSerial ? 1 : enoughTasks))
      return std::move(*fetched);
    const std::optional<BlockChoice> inLines = blocksInLines();
    std::optional<BlockChoice> inScratch;
    if (const auto written = writtenBlocks(kUsualScratch)) {
      inScratch = blocksThroughScratch(*written);
      if (packsAgain(*inScratch))
        takeLargerScratch(*inScratch);
      if (written->areMostlyWritten) {
        if (inLines)
          takeLines(*inScratch, *inLines);
        return *inScratch;
      }
    }
    choosePacked();
    chooseSumsAlongLeft();
    chooseFullVectors();
    chooseLongerSums();
    chooseMoreColumns();
    chooseLargerTasks();
    chooseSmaller();
    if (const auto inPlace = blocksInPlace())
      takeIfFaster(choice, *inPlace, kClearly);
    if (inScratch)
      takeIfFaster(choice, *inScratch, kClearly);
    if (inLines)
      takeLines(choice, *inLines);
    completeLines();
    return choice;
  }

private:
  /// One for as many tasks, the same caches and aims that has chosen nothing else.
  Chooser another() const {
    Chooser other(dims, type, machine, use);
    other.limits = limits;
    other.enoughTasks = enoughTasks;
    other.aims = aims;
    return other;
  }

  /// Takes what another one has chosen. This one's block stays as it is: it is not cut any more.
  void take(const Chooser &other) {
    choice = other.choice;
    aims.sumsAlong = other.aims.sumsAlong;
    aims.areVectorsFuller = other.aims.areVectorsFuller;
    aims.isLeftFar = other.aims.isLeftFar;
    aims.areColumnsMore = other.aims.areColumnsMore;
    isCutForTeam = other.isCutForTeam;
  }

  void choosePacked() {
    chooseUnevenParts();
    if (choice.sumsInScratch)
      fillPanelsOfSums();
    evenParts(&Chooser::completePacked);
    if (choice.packsLeft && !choice.panelsAcross && choice.columnTogether == 0)
      takeWholePanels();
    chooseRowsOfSums();
  }

  /// Takes many rows and short sums if these then add up in scratch, or do so anyway and operands
  /// are packed less often, which has to be faster.
  void chooseRowsOfSums() {
    if (aims.areSumsInScratch)
      return;
    const bool addOften =
        !choice.sumsInScratch && shouldSumInScratch() && choice.k <= kMostShortened;
    if (!addOften && !(choice.sumsInScratch && packsAgain(choice)))
      return;
    Chooser other = another();
    other.aims.areSumsInScratch = true;
    other.choosePacked();
    if (other.choice.sumsInScratch && (addOften || isFaster(other.choice, choice, kFaster)))
      take(other);
  }

  /// Takes blocks with another aim if they suit and take less than a share of the time.
  template <class Set, class Suits> void tryAim(Set &&set, double share, Suits &&suits) {
    Chooser other = another();
    set(other.aims);
    other.choosePacked();
    if (suits(other.choice) && isFaster(other.choice, choice, share))
      take(other);
  }

  /// Takes sums along L's rows rather than R's if that is faster, as L is packed for each block of
  /// R, or is much larger.
  void chooseSumsAlongLeft() {
    constexpr double kMuchLarger = 2;
    const bool isLarger = dims.elements(Role::A) >= kMuchLarger * dims.elements(Role::B);
    const bool areSeveral = dims.bySpeed(DimClass::K, Role::A).size() > 1;
    if (choice.kBlocks == 1 || !areSeveral || !(isLarger || packsAgain(choice)))
      return;
    tryAim([](BlockAims &other) { other.sumsAlong = Role::A; }, kFaster,
           [](const BlockChoice &) { return true; });
  }

  /// Takes other rows, with a little more room, if panels across dims have fuller vectors then, and
  /// that is faster.
  void chooseFullVectors() {
    if (!choice.panelsAcross || limits.fullness(choice.m) == 1)
      return;
    tryAim([](BlockAims &other) { other.areVectorsFuller = true; }, kFaster,
           [&](const BlockChoice &other) {
             return other.panelsAcross && limits.fullness(other.m) > limits.fullness(choice.m) &&
                    hasSuchRuns(other);
           });
  }

  /// Takes much longer sums if that is faster, as the result is read and written less often: L may
  /// come from the third-level cache then.
  void chooseLongerSums() {
    constexpr double kMuchLonger = 1.5;
    if (choice.kBlocks == 1 || choice.sumsInScratch || choice.sumsInParallel ||
        !limits.mayLeftBeFar())
      return;
    tryAim([](BlockAims &other) { other.isLeftFar = true; }, kFaster,
           [&](const BlockChoice &other) {
             return toDouble(other.k) >= kMuchLonger * toDouble(choice.k);
           });
  }

  /// Takes more columns and shorter sums if that is faster, as L is packed less often: of tiles in
  /// C itself, which is fetched while they are computed. R is packed once for all blocks of L, so
  /// its runs do not matter.
  void chooseMoreColumns() {
    constexpr double kLittleFaster = 0.99;
    if (choice.kBlocks == 1 || choice.sumsInScratch || choice.sumsInParallel ||
        !areTilesInPlace(dims, type, machine, choice))
      return;
    tryAim([](BlockAims &other) { other.areColumnsMore = true; }, kLittleFaster,
           [&](const BlockChoice &other) {
             return other.n > choice.n && hasSuchRun(Role::A, other, choice) &&
                    hasSuchRun(Role::C, other, choice);
           });
  }

  /// Where blocks were cut for the sake of the team, takes half as many tasks if that is faster, as
  /// an operand is packed less often, without short runs.
  void chooseLargerTasks() {
    if (!isCutForTeam || !packsAgain(choice))
      return;
    Chooser larger = another();
    larger.enoughTasks /= 2;
    larger.choosePacked();
    if (hasSuchRuns(larger.choice))
      takeIfFaster(choice, larger.choice, kFaster);
  }

  /// Takes blocks for smaller caches if they are much faster, as an operand is packed less often,
  /// without short runs.
  void chooseSmaller() {
    if (!packsAgain(choice) || isForOneThread(dims))
      return;
    for (const int64_t parts : {2, 4}) {
      Chooser smaller = another();
      smaller.limits.divide(parts);
      smaller.aims.isLeftFar = smaller.aims.areColumnsMore = false;
      smaller.choosePacked();
      if (hasSuchRuns(smaller.choice))
        takeIfFaster(choice, smaller.choice, kMuchFaster);
    }
  }

  /// Whether other blocks have as long runs of all tensors, or long ones, in batches of as many
  /// products.
  bool hasSuchRuns(const BlockChoice &other) const {
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      if (dims[dim].dimClass == DimClass::C && other.counts[dim] != choice.counts[dim])
        return false;
    return hasSuchRun(Role::A, other, choice) && hasSuchRun(Role::B, other, choice) &&
           hasSuchRun(Role::C, other, choice);
  }

  bool hasSuchRun(Role role, const BlockChoice &other, const BlockChoice &than) const {
    const double enough = toDouble(copies::kRunBytes) / toDouble(elementBytes);
    return dims.run(role, other.counts) >= std::min(enough, dims.run(role, than.counts));
  }

  void chooseUnevenParts() {
    batch = growBlock(dims, limits, elementBytes, aims, block);
    completeForTeam();
  }

  void completeForTeam() {
    isCutForTeam = !use.isSerial && block.tasks() < enoughTasks;
    if (isCutForTeam)
      choice.sumsInParallel =
          shareWork(dims, limits, aims,
                    {enoughTasks, enoughSums, std::max(machine.threads, kFewThreads),
                     use.maySplitSums && dims.elements(Role::C) <= kPrivateResult},
                    batch, block);
    completePacked();
  }

  /// Whether sums that are added to C in short runs and often should rather add up in scratch.
  bool shouldSumInScratch() const {
    return choice.kBlocks >= kManySums && !choice.sumsInParallel &&
           (aims.areSumsInScratch || !areTilesInPlace(dims, type, machine, choice));
  }

  /// Cuts the dim along which C is written so that panels of the next one are full: in scratch,
  /// runs of C do not matter to kernels. One that is whole stays so unless there are many rows.
  void fillPanelsOfSums() {
    const DimIndices order = dimsOfTask(dims, DimClass::M, choice.rowsAsIn, choice.taskCounts);
    if (order.size() < 2 || choice.panelsAcross)
      return;
    const std::size_t first = order[0], second = order[1];
    if (block.counts[first] == dims.extent(first) && !aims.areSumsInScratch)
      return;
    const int64_t count =
        countOfFullPanels(dims.extent(first), dims.extent(second), BlockCounts::kShortestRow,
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
    chooseAccess(dims, block, elementBytes, mayPackRight, choice);
    choice.columnTogether = columnTogether(dims, choice, limits, elementBytes);
    choice.panelsAcross = choice.columnTogether == 0 && shouldGoAcross(dims, choice, limits);
    choice.sumsInScratch = false; // Until it is known how tiles would get into C.
    choice.sumsInScratch =
        std::min(choice.m, choice.n) >= BlockLimits::kLongSideOfSums && shouldSumInScratch();
    choice.sumsInside = choice.sumsInside || choice.sumsInScratch;
  }

  /// \param complete chooses what follows from the counts
  void evenParts(void (Chooser::*complete)()) {
    (this->*complete)();
    if (use.isSerial || choice.sumsInParallel)
      return;
    const bool sumsInScratch = choice.sumsInScratch; // What the counts were chosen for.
    const DimCounts even =
        einsumc::evenParts(dims, limits.lanes(), block.counts, [&](const DimCounts &counts) {
          block.counts = counts;
          (this->*complete)();
          const LocalCost cost = costOf(choice);
          const bool isOther = choice.sumsInScratch != sumsInScratch;
          return TeamTime{isOther ? std::numeric_limits<double>::infinity() : cost.seconds(),
                          cost.kernelSeconds * cost.imbalance, cost.imbalance};
        });
    block.counts = even;
    (this->*complete)();
  }

  LocalCost costOf(const BlockChoice &blocks) const {
    return blockCost(dims, type, machine, blocks, threads);
  }

  /// Takes other blocks if they take less than a share of the time.
  void takeIfFaster(BlockChoice &taken, const BlockChoice &other, double share) const {
    if (isFaster(other, taken, share))
      taken = other;
  }

  bool isFaster(const BlockChoice &other, const BlockChoice &than, double share) const {
    return costOf(other).seconds() < share * costOf(than).seconds();
  }

  /// \param eighths of the second-level cache for all blocks of a task together
  std::optional<WrittenBlocks> writtenBlocks(int64_t eighths) const {
    if (use.isSerial)
      return std::nullopt;
    return einsumc::writtenBlocks(dims, elementBytes, limits.lanes(),
                                  eighths * limits.leftBytes / 4 / elementBytes, enoughTasks);
  }

  /// Blocks whose C is written by whole lines, if it can be.
  std::optional<BlockChoice> blocksInLines() const {
    if (use.isSerial || use.adds)
      return std::nullopt;
    const auto counts =
        einsumc::blocksInLines(dims, elementBytes, limits.lanes(),
                               kUsualScratch * limits.leftBytes / 4 / elementBytes, enoughTasks);
    if (!counts)
      return std::nullopt;
    Chooser other = *this;
    other.choice.resultInLines = true;
    other.chooseWhole(*counts);
    return other.choice;
  }

  /// Has tasks complete the lines of C if that is faster although operands are packed again.
  void completeLines() {
    if (use.isSerial || choice.kBlocks > 1 || choice.sumsInParallel ||
        choice.resultThroughScratch || choice.resultInLines)
      return;
    BlockChoice other = choice;
    other.linesInside = true;
    takeIfFaster(choice, other, kClearly);
  }

  /// Takes blocks whose C is written by whole lines if they are faster: clearly where sums are so
  /// long that writing takes little of the time, or operands are read in shorter runs that are not
  /// long.
  void takeLines(BlockChoice &taken, const BlockChoice &inLines) const {
    constexpr int64_t kFewSums = 64;
    const bool isSure = inLines.k <= kFewSums && hasSuchRun(Role::A, inLines, taken) &&
                        hasSuchRun(Role::B, inLines, taken);
    takeIfFaster(taken, inLines, isSure ? 1 : kClearly);
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

  /// Blocks whose R is read in place, if it can be.
  std::optional<BlockChoice> blocksInPlace() const {
    Chooser other(dims, type, machine, use);
    if (isForOneThread(dims) || !growInPlace(dims, limits, elementBytes, other.block))
      return std::nullopt;
    other.mayPackRight = false;
    other.completeForTeam();
    return other.choice.packsRight ? std::nullopt : std::optional(other.choice);
  }

  BlockChoice blocksThroughScratch(const WrittenBlocks &written) const {
    Chooser other = *this;
    other.choice.resultThroughScratch = true;
    other.chooseWhole(written.counts);
    return other.choice;
  }

  /// Takes blocks of all sums.
  void chooseWhole(const DimCounts &counts) {
    block.counts = counts;
    choice.packsLeft = choice.packsRight = true;
    evenParts(&Chooser::takeCounts);
  }

  const WorkDims &dims;
  ElementType type;
  const Machine &machine;
  int64_t elementBytes;
  BlockLimits limits;
  BlockUse use;
  int64_t threads, enoughTasks, enoughSums;
  BatchCounts batch;
  BlockAims aims;
  bool mayPackRight = true;
  bool isCutForTeam = false; ///< blocks had too few tasks
  BlockCounts block;
  BlockChoice choice;
};

} // namespace

BlockChoice chooseBlocks(const WorkDims &dims, ElementType type, const Machine &machine,
                         const BlockUse &use) {
  return Chooser(dims, type, machine, use).run();
}

} // namespace einsumc
