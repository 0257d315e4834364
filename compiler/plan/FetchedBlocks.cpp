//===- FetchedBlocks.cpp - blocks of contractions whose L is read in place --------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/plan/FetchedBlocks.h"

#include "compiler/plan/BlockCounts.h"
#include "compiler/plan/TaskLoops.h"

#include "einsumc/BlockTiles.h"
#include "einsumc/StridedCopy.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace einsumc {

namespace {

constexpr int64_t kShortestRow = BlockCounts::kShortestRow, kWrittenRow = BlockCounts::kWrittenRow;
/// L is fetched in place when it has so many bytes or more, so many of them next to each other
/// along m, some tiles along m, or one if that is a row of L, and meets so few columns of R: with
/// more, packing it takes little of the time.
constexpr int64_t kFetchedBytes = 4 << 20, kFetchedBytesInRow = 40, kLeastFetchedM = 128,
                  kFetchedColumns = 256;
/// The same of an R that passes by in the third-level cache.
constexpr int64_t kMostFetchedColumns = 384;
/// With fewer sums what a tile takes to begin and to end is most of its time.
constexpr int64_t kLeastFetchedSums = 8;
/// With so few columns packing it takes longer than all else: a tile for each thread is enough. R
/// is in the second-level cache then, unless columns are so few that kernels go through a tile
/// once.
constexpr int64_t kVeryFewColumns = 8, kColumnsAtOnce = 4;
/// Elements of a block along m of an L that is fetched that are enough.
constexpr int64_t kFetchedM = 4096;
/// Elements of L next to each other along m that come before longer rows of C, and that are enough.
constexpr int64_t kLeastFetchedRow = 64, kMostFetchedRow = 128, kFetchedRow = 384;
/// And those that are enough where longer runs of C then go past the caches.
constexpr int64_t kShortFetchedRow = 32;
/// Runs of L that a processor fetches from memory by itself, and uses of L so few that this
/// matters.
constexpr int64_t kSelfFetchedBytes = 512, kFewUses = 16;
/// The share of the lanes of vectors that are full enough for the result to be written in place.
constexpr double kFullVectors = 0.85;
/// So many times as large as C, L had rather be read than C be written in long rows.
constexpr double kSmallResult = 256;
/// The share of enough tasks for whose sake rows of L are not cut.
constexpr double kNearlyEnough = 0.75;
/// Sums of a vector that take as long as to copy it from scratch to C.
constexpr double kSumsForCopy = 32;

class Blocks {
public:
  Blocks(const WorkDims &dims, int64_t elementBytes, const BlockLimits &limits, int64_t threads,
         int64_t enoughTasks)
      : dims(dims), elementBytes(elementBytes), limits(limits), threads(threads),
        enoughTasks(enoughTasks), block(dims) {}

  std::optional<BlockChoice> run() {
    if (!areWorthIt())
      return std::nullopt;
    choose();
    choice.counts = block.counts;
    return choice;
  }

private:
  bool areWorthIt() const {
    const double bytes = toDouble(elementBytes);
    const int64_t m = dims.extentOf(DimClass::M), n = dims.extentOf(DimClass::N);
    const bool areSumsEnough = dims.extentOf(DimClass::K) >= kLeastFetchedSums;
    const bool isFewTimes = n <= std::min(kMostFetchedColumns, m);
    const bool isLarge = dims.elements(Role::A) * bytes >= toDouble(kFetchedBytes);
    const double bytesOfRight =
        toDouble(tiles::fetchingPanels(n, dims.extentOf(DimClass::K))) * bytes;
    // Enough rows for tiles that fetch others, and for the team, which shares nothing else.
    const int64_t ofTeam = dims.extentOf(DimClass::C) * ceilDiv(m, limits.panelRows);
    const bool areFewEnough = n <= kVeryFewColumns && ofTeam >= threads &&
                              (n <= kColumnsAtOnce || bytesOfRight <= toDouble(limits.leftBytes));
    const int64_t run = dims.runAlong(DimClass::M, Role::A);
    const bool areRowsEnough = m >= kLeastFetchedM || (run == m && m >= limits.panelRows);
    const bool isTall = areRowsEnough && (ofTeam >= enoughTasks || areFewEnough);
    const bool isLong = run * elementBytes >= kFetchedBytesInRow;
    const bool isRightSmall =
        n <= kFetchedColumns &&
        bytesOfRight <=
            toDouble(n <= BlockLimits::kFewColumns ? limits.rightBytes : limits.leftBytes);
    const bool isRightCached = isRightSmall || isLargeRightWorthIt(run, bytesOfRight);
    // With more uses reading takes little of the time, unless R comes from the third-level cache.
    const bool mayBeCut = isRightSmall && n > kFewUses;
    return areSumsEnough && isFewTimes && isLarge && isTall && isLong && isRightCached &&
           (mayBeCut || !isCutByBatch()) &&
           (isResultAlongLeft() || dims.elements(Role::C) <= dims.elements(Role::A));
  }

  /// Whether R may pass by in the third-level cache for every tile of L: that is as fast where L is
  /// read in long runs, each thread packs little of R beside its part of L, and writing C does not
  /// take most of the time.
  bool isLargeRightWorthIt(int64_t runOfLeft, double bytesOfRight) const {
    constexpr int64_t kLongRowBytes = 96, kLeastRows = 3;
    constexpr double kLargeResult = 2;
    const int64_t m = dims.extentOf(DimClass::M), n = dims.extentOf(DimClass::N);
    const int64_t most = n <= kFetchedColumns ? limits.wholeRightBytes
                                              : std::min(limits.rightBytes, limits.wholeRightBytes);
    return bytesOfRight <= toDouble(most) && runOfLeft * elementBytes >= kLongRowBytes &&
           kLeastRows * limits.threads * n <= m &&
           dims.elements(Role::C) <= kLargeResult * dims.elements(Role::A);
  }

  /// Whether L has short runs only because they go on along a dim of a batch: packed for several
  /// products at a time, it is read in long ones.
  bool isCutByBatch() const {
    int64_t run = 1;
    for (const std::size_t dim : dims.inOrder(Role::A)) {
      if (dims.stride(Role::A, dim) != run || run * elementBytes >= kSelfFetchedBytes)
        return false;
      if (dims[dim].dimClass == DimClass::C && dims.extent(dim) > 1)
        return true;
      run *= dims.extent(dim);
    }
    return false;
  }

  /// Whether C is computed in place where L is fetched: where both are contiguous for long enough,
  /// and the vectors of that run are full, or L has no longer ones, or copying C takes too long. In
  /// scratch vectors go on from one run of L to the next, which is worth a copy where many sums
  /// would leave lanes empty.
  bool isResultAlongLeft() const {
    const std::optional<std::size_t> row = rowOfLeft();
    if (!row || !dims.isUnit(Role::C, *row))
      return false;
    const int64_t run = dims.extent(*row);
    const double emptyLanes = 1 - fullnessInPlace(run);
    if (areRunsJoined(run) && emptyLanes * toDouble(dims.extentOf(DimClass::K)) >= kSumsForCopy)
      return false;
    // Tiles in place end with the run, so where L goes on behind it they also read it in shorter
    // pieces: a short tail does not make up for that.
    return run * elementBytes >= kFetchedBytesInRow &&
           (limits.fullness(run) >= kFullVectors || dims.runAlong(DimClass::M, Role::A) == run ||
            isResultLarge());
  }

  /// The fastest dim of m in L, if one has several indices.
  std::optional<std::size_t> rowOfLeft() const {
    const DimIndices order = dims.bySpeed(DimClass::M, Role::A);
    const auto first = llvm::find_if(order, [&](std::size_t dim) { return dims.extent(dim) > 1; });
    return first == order.end() ? std::nullopt : std::optional(*first);
  }

  /// The share of the vectors' time that rows of a run of L fill.
  double fullnessInPlace(int64_t run) const {
    const int64_t lanes = limits.lanes(), tail = run % lanes;
    const double timeOfTail =
        tail == 0 ? 0 : tiles::timeOfTail(tail, dims.extentOf(DimClass::N), lanes);
    return toDouble(run) / (toDouble(lanes) * (toDouble(run / lanes) + timeOfTail));
  }

  /// Whether vectors of C in scratch go on from one run of L to the next if they are not full.
  bool areRunsJoined(int64_t run) const {
    return run >= std::max(limits.lanes(), tiles::kLeastRunToJoin) &&
           dims.extentOf(DimClass::M) > run &&
           dims.extentOf(DimClass::N) >= tiles::kLeastColumnsToJoin;
  }

  void choose() {
    choice.fetchesLeft = true;
    choice.sumsAsIn = choice.rowsAsIn = Role::A;
    choice.packsRight = true;
    choice.resultThroughScratch = !isResultAlongLeft();
    for (std::size_t dim = 0; dim < dims.size(); ++dim)
      if (dims[dim].dimClass == DimClass::N || dims[dim].dimClass == DimClass::K)
        block.counts[dim] = dims.extent(dim);
    choice.n = block.sizeOf(DimClass::N);
    choice.k = block.sizeOf(DimClass::K);
    const int64_t rows = choice.resultThroughScratch
                             ? std::min(kFetchedM, limits.leftBytes / elementBytes / choice.n)
                             : kFetchedM;
    if (!growWholeRows() && !growLongRuns(rows))
      growRows(rows);
    block.fill(DimClass::M, Role::A, rows, {kShortestRow});
    alignRunsOfLeft();
    cutRunsOfLeft();
    growTasks();
    evenBlocks();
    if (!choice.resultThroughScratch) // A task is one block.
      block.counts = choice.taskCounts;
    choice.m = block.sizeOf(DimClass::M);
    choice.mBlocks = block.blocksOf(DimClass::M);
  }

  /// Where a large C has rows across L that it goes on behind along rows of L, takes these and
  /// all of those, so that C is written in long runs: cache lines that lie apart go past the caches
  /// at a third of the speed. Such a block may fill most of the second-level cache. Returns false,
  /// with the block as it was, where that is not so, or leaves too few tasks.
  bool growWholeRows() {
    const std::optional<std::size_t> row = rowOfLeft(), across = rowAcrossLeft();
    if (!row || !across || dims.stride(Role::C, *row) != dims.extent(*across))
      return false;
    const int64_t most = 4 * limits.leftBytes / 3 / elementBytes / choice.n;
    if (dims.extent(*across) * kMostFetchedRow > most)
      return false;
    const DimCounts before = block.counts;
    block.counts[*across] = dims.extent(*across);
    growRunOfLeft(kMostFetchedRow, kMostFetchedRow, most);
    const bool fits = block.sizeOf(DimClass::M) <= most && block.tasks() >= enoughTasks;
    if (!fits)
      block.counts = before;
    return fits;
  }

  /// Where a large C has long rows across L that begin in the midst of lines, takes as much of them
  /// as goes past the caches all the same, and leaves room for shorter rows of L. Returns false,
  /// with the block as it was, where that is not so, or there is no room.
  bool growLongRuns(int64_t rows) {
    const std::optional<std::size_t> across = rowAcrossLeft();
    if (!across || dims.extent(*across) % limits.lanes() == 0)
      return false;
    return growRunsOf(*across, copies::kCollectedRunBytes / elementBytes, rows) ||
           growRunsOf(*across, copies::kLongRunBytes / elementBytes, rows);
  }

  /// Tries that with runs of so many elements along a dim, or all of it.
  bool growRunsOf(std::size_t across, int64_t wanted, int64_t rows) {
    const int64_t run = std::min(wanted, dims.extent(across));
    if (run * kShortFetchedRow > rows)
      return false;
    const DimCounts before = block.counts;
    block.grow(across, run, rows);
    growRows(rows);
    block.fill(DimClass::M, Role::A, rows, {kShortestRow});
    const bool areLong = block.counts[across] >= run; // Parts of a dim are evened out.
    if (!areLong)
      block.counts = before;
    return areLong;
  }

  /// The dim of m along which a large C in scratch is contiguous, if L is not.
  std::optional<std::size_t> rowAcrossLeft() const {
    const std::size_t row = dims.fastest(Role::C);
    const bool isAcross = choice.resultThroughScratch && isResultLarge() &&
                          dims[row].dimClass == DimClass::M && !dims.isUnit(Role::A, row);
    return isAcross ? std::optional(row) : std::nullopt;
  }

  /// Whether C is nearly as large as L, or larger.
  bool isResultLarge() const { return 2 * dims.elements(Role::C) > dims.elements(Role::A); }

  void growRows(int64_t rows) {
    // First whole cache lines of C, then long rows of L: with many sums each is on another page.
    // Rows of a large C that begin in the midst of lines, which are written in parts at both ends,
    // come before very long ones of L.
    const DimIndices rowsOfC = block.contiguousDims(DimClass::M, {Role::C});
    const bool areInParts = isResultLarge() && llvm::any_of(rowsOfC, [&](std::size_t dim) {
                              return dims.extent(dim) % limits.lanes() != 0;
                            });
    for (const int64_t lengthInC : {kShortestRow, kWrittenRow}) {
      for (const std::size_t dim : rowsOfC)
        block.grow(dim, areInParts ? 2 * lengthInC : lengthInC, rows);
      if (areInParts && lengthInC == kShortestRow)
        growRunOfLeft(kLeastFetchedRow, kMostFetchedRow, rows);
      else
        growRunOfLeft(kFetchedRow, kFetchedRow, rows);
    }
  }

  /// Cuts blocks until there are enough tasks or they are short, also in C unless that is small:
  /// the slow dims of L first, so that its rows stay long, and these, unless there are nearly
  /// enough tasks, into whole vectors.
  void cutRunsOfLeft() {
    const bool isResultSmall = kSmallResult * dims.elements(Role::C) <= dims.elements(Role::A);
    DimIndices order = dims.bySpeed(DimClass::M, Role::A);
    for (; !order.empty(); order.pop_back()) {
      const std::size_t dim = order.back();
      int64_t &count = block.counts[dim];
      const int64_t blocks = ceilDiv(dims.extent(dim), count);
      const int64_t parts = ceilDiv(enoughTasks * blocks, block.tasks());
      const int64_t inRow = dims.stride(Role::A, dim); // If the row goes on along this dim.
      const bool isInRow = inRow < dims.runAlong(DimClass::M, Role::A);
      if (isInRow && kNearlyEnough * toDouble(enoughTasks) <= toDouble(block.tasks()))
        continue;
      const bool isWritten = dims.isUnit(Role::C, dim) && !isResultSmall;
      const int64_t least =
          std::max(isWritten ? kWrittenRow : 1, isInRow ? ceilDiv(limits.panelRows, inRow) : 1);
      int64_t part = ceilDiv(dims.extent(dim), std::max<int64_t>(parts, 1));
      if (part >= count || least >= count)
        continue;
      part = std::max(part, least);
      count = isInRow ? fullPart(part, inRow, std::max(least, ceilDiv(2 * part, 3))) : part;
    }
  }

  /// The indices of a dim, from so many to at least \p shortest, with which rows fill vectors best.
  int64_t fullPart(int64_t part, int64_t inRow, int64_t shortest) const {
    for (int64_t shorter = part; shorter >= shortest; --shorter)
      if (limits.fullness(shorter * inRow) > limits.fullness(part * inRow))
        part = shorter;
    return part;
  }

  /// Cuts rows of L into whole vectors, if need be into rows of half the length: those that begin
  /// in the midst of cache lines take the processor half as long again.
  void alignRunsOfLeft() {
    int64_t run = 1;
    for (const std::size_t dim : dims.bySpeed(DimClass::M, Role::A)) {
      if (dims.extent(dim) == 1)
        continue;
      if (dims.stride(Role::A, dim) != run)
        return;
      int64_t &count = block.counts[dim];
      if (count < dims.extent(dim)) {
        const int64_t aligned = fullPart(count, run, ceilDiv(count, 2));
        count = limits.fullness(aligned * run) == 1 ? aligned : count;
        return;
      }
      run *= count;
    }
  }

  /// Joins blocks to as few tasks as are enough, as the first tiles of a task are not fetched
  /// during a product, or to some more where the threads then have more equal shares: first those
  /// that follow each other in L.
  void growTasks() {
    choice.taskCounts = block.counts;
    int64_t left = block.tasks();
    for (const std::size_t dim : dims.bySpeed(DimClass::M, Role::A)) {
      const int64_t blocks = ceilDiv(dims.extent(dim), block.counts[dim]);
      const int64_t most = std::clamp<int64_t>(left / enoughTasks, 1, blocks);
      if (most < blocks && most == 1)
        return;
      const int64_t parts = ceilDiv(blocks, most);
      choice.taskCounts[dim] = evenPart(dim, parts);
      left = left / blocks * parts;
    }
  }

  /// Takes equal parts of dims of which tasks have one block where the threads' shares are more
  /// equal then. Rows of L stay as they are, and rows of C that are whole vectors are cut into
  /// such.
  void evenBlocks() {
    constexpr double kWorth = 0.97;
    double imbalance = imbalanceOf(choice.taskCounts);
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      const int64_t extent = dims.extent(dim), count = block.counts[dim];
      const bool isInRow = dims.stride(Role::A, dim) < dims.runAlong(DimClass::M, Role::A);
      if (dims[dim].dimClass != DimClass::M || isInRow || choice.taskCounts[dim] != count)
        continue;
      const bool areVectors = dims.isUnit(Role::C, dim) && extent % limits.lanes() == 0;
      DimCounts even = choice.taskCounts;
      even[dim] = roundUp(ceilDiv(extent, ceilDiv(extent, count)), areVectors ? limits.lanes() : 1);
      const double ofEven = imbalanceOf(even);
      if (even[dim] >= count || ofEven > kWorth * imbalance)
        continue;
      block.counts[dim] = even[dim];
      choice.taskCounts = even;
      imbalance = ofEven;
    }
  }

  double imbalanceOf(const DimCounts &counts) const {
    return einsumc::imbalanceOf(
        dims, counts, taskLoops(dims, toDouble(elementBytes), counts, TaskOrder()), threads);
  }

  /// The indices of a dim that tasks have if these are so many or at most half as many more: of
  /// whole blocks, unless a task is one.
  int64_t evenPart(std::size_t dim, int64_t parts) const {
    constexpr double kWorth = 0.99;
    const int64_t rows = dims.isUnit(Role::A, dim) ? kShortestRow : 1;
    const int64_t step = choice.resultThroughScratch ? block.counts[dim] : rows;
    const int64_t blocks = ceilDiv(dims.extent(dim), block.counts[dim]);
    DimCounts counts = choice.taskCounts;
    int64_t best = 0;
    double bestShare = 0;
    for (int64_t more = parts; more <= std::min(blocks, parts + parts / 2); ++more) {
      counts[dim] = std::min(dims.extent(dim), roundUp(ceilDiv(dims.extent(dim), more), step));
      const double share = imbalanceOf(counts);
      if (best == 0 || share < kWorth * bestShare) {
        best = counts[dim];
        bestShare = share;
      }
    }
    return best;
  }

  /// Takes indices of the dims along which L is contiguous, up to so many elements of it, or more
  /// rather than to cut a dim.
  void growRunOfLeft(int64_t wanted, int64_t uncut, int64_t most) {
    int64_t run = 1;
    for (const std::size_t dim : dims.bySpeed(DimClass::M, Role::A))
      if (dims.extent(dim) > 1) {
        if (dims.stride(Role::A, dim) != run || run >= wanted)
          return;
        const bool isUncut = run * dims.extent(dim) <= uncut;
        block.grow(dim, isUncut ? dims.extent(dim) : ceilDiv(wanted, run), most);
        run *= dims.extent(dim);
      }
  }

  const WorkDims &dims;
  const int64_t elementBytes;
  const BlockLimits &limits;
  const int64_t threads, enoughTasks;
  BlockCounts block;
  BlockChoice choice;
};

} // namespace

std::optional<BlockChoice> fetchedBlocks(const WorkDims &dims, int64_t elementBytes,
                                         const BlockLimits &limits, int64_t threads,
                                         int64_t enoughTasks) {
  return Blocks(dims, elementBytes, limits, threads, enoughTasks).run();
}

} // namespace einsumc
