//===- StridedCopy.cpp - copies between strided views -----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/StridedCopy.h"

#include "CopyKernels.h"
#include "CopyLoops.h"
#include "CopyTiles.h"
#include "NarrowTranspose.h"
#include "PermutedRuns.h"
#include "PieceTable.h"
#include "RowsToWrite.h"
#include "ShortRuns.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace einsumc {

namespace {

/// Smaller copies are done before a team has started.
constexpr int64_t kSerialBytes = 32 * 1024;

/// Steps of a part that are worth preparing a kernel for.
constexpr int64_t kSteps = 4;

/// The two innermost loops of a copy and the kernel for them.
template <class T> struct Innermost {
  CopyKernel<T> kernel;
  Loop inner, outer;
};

/// \p inner goes furthest inside in the target, and \p outer in the source if that is another one.
/// \param joinsRows rows make up long runs past the caches
template <class T, class Op>
Innermost<T> chooseKernel(const Loop &inner, const Loop &outer, bool joinsRows) {
  constexpr int kLeastJoined = 4; // Shorter ones are not worth a call each.
  if (inner.to == 1 && inner.from == 1 && inner.extent > (joinsRows ? kLeastJoined : kMostUnrolled))
    return {copyRows<T, Op>, inner, outer};
  if (const CopyKernel<T> kernel = transposingKernel<T, Op>(inner, outer))
    return {kernel, inner, outer};
  if (inner.extent <= kMostUnrolled && (inner.extent <= outer.extent || outer.from != 1))
    return {unrolledKernel<T, Op>(inner.extent), inner, outer};
  if (outer.extent <= kMostUnrolled)
    return {unrolledKernel<T, Op>(outer.extent), outer, inner};
  return {copyStridedBlocks<T, Op>, inner, outer};
}

/// The loop along which a kernel copies the pieces that the first one goes through: the next of
/// the target that is worth a call, or the longest.
std::size_t loopOfPieces(std::span<const Loop> loops) {
  constexpr int64_t kEnough = 8;
  const auto pieces = loops.subspan(1);
  auto found = std::find_if(pieces.begin(), pieces.end(),
                            [](const Loop &loop) { return loop.extent >= kEnough; });
  if (found == pieces.end())
    found = std::max_element(pieces.begin(), pieces.end(),
                             [](const Loop &a, const Loop &b) { return a.extent < b.extent; });
  return found - loops.begin();
}

/// Where the source of a copy lies.
enum class Origin : uint8_t { Near, Anywhere, Memory };

/// The loop along which a kernel copies rows of the target, the first loop: the innermost of the
/// source, or the next when it is the same. Where rows are neighbours in both: from a near cache
/// rather a loop of enough of them, if they are short; from memory that of the nearest ones in the
/// source, if they are many.
std::size_t loopOfRows(std::span<const Loop> loops, Origin origin) {
  constexpr int64_t kMany = 16;
  const std::size_t source = innermostInSource(loops);
  const Loop &first = loops.front();
  const bool areNeighbours = first.to == 1 && first.from == 1;
  if (origin == Origin::Near && areNeighbours && first.extent <= kMostUnrolled)
    return loopOfPieces(loops);
  if (source != 0)
    return source;
  const std::size_t nearest = 1 + innermostInSource(loops.subspan(1));
  return origin == Origin::Memory && areNeighbours && loops[nearest].extent > kMany ? nearest : 1;
}

/// Takes the loops that matter most to the memory out of the nest: the innermost of the target and
/// that of its rows.
template <class T, class Op>
Innermost<T> takeInnermost(LoopNest &nest, bool joinsRows, Origin origin) {
  constexpr Loop kOnce = {1, 0, 0};
  if (nest.loops().empty())
    return chooseKernel<T, Op>(kOnce, kOnce, joinsRows);
  if (nest.loops().size() == 1)
    return chooseKernel<T, Op>(nest.take(0), kOnce, joinsRows);
  const Loop outer = nest.take(loopOfRows(nest.loops(), origin));
  return chooseKernel<T, Op>(nest.take(0), outer, joinsRows);
}

/// Whether a nest has few rows or columns that are transposed, the others filling lines, and what
/// is next to these few comes soon: so lines are used up while they are in a near cache. Past the
/// caches, where ShortRuns write whole lines of shorter rows, these are long.
template <class T> bool isNarrow(const LoopNest &nest, bool pastCaches) {
  constexpr int64_t kLine = kCacheLine<T>, kNear = 2 * kLine;
  const int64_t least = pastCaches ? 4 * kLine : kLine;
  if (nest.loops().size() < 2)
    return false;
  const Loop &x = nest.loops().front(), &y = nest.loops()[innermostInSource(nest.loops())];
  if (x.to != 1 || x.from == 1 || y.from != 1)
    return false;
  return x.extent < y.extent ? x.extent < kLine && y.extent >= least && y.to <= x.extent + kNear
                             : y.extent < kLine && x.extent >= least && x.from <= y.extent + kNear;
}

/// Runs of several loops, unless registers transpose what is narrow.
template <class T>
std::optional<typename ShortRuns<T>::Found> findShortRuns(LoopNest &nest, int64_t leastSteps,
                                                          bool pastCaches) noexcept {
  return isNarrow<T>(nest, pastCaches) ? std::nullopt
                                       : ShortRuns<T>::find(nest, leastSteps, pastCaches);
}

/// What a copy goes through at a time instead of two loops, if anything.
template <class T> struct Runs {
  /// Takes the loops out of a nest, if at least so many steps are left.
  Runs(LoopNest &nest, int64_t leastSteps, bool pastCaches) noexcept {
    if (const auto found = PermutedRuns<T>::find(nest, leastSteps))
      permuted.emplace(nest, *found);
    else if (const auto runs = findShortRuns<T>(nest, leastSteps, pastCaches))
      few.emplace(nest, *runs);
  }

  std::optional<PermutedRuns<T>> permuted;
  std::optional<ShortRuns<T>> few;
};

/// Calls \p copy for every step of the loops, and tells it how far on the source is that it should
/// fetch: of the next call, or of a later one if calls copy too little for memory to answer
/// meanwhile. Behind the last one this is \p next elements from the source's begin. What calls
/// write is fetched before.
/// \param elements that a call copies
template <class T, class Copy>
void runLoops(std::span<const Loop> loops, T *target, const T *source, int64_t elements,
              int64_t next, const RowsToWrite<T> &rows, Copy &&copy) noexcept {
  constexpr std::size_t kRing = 32;
  // Less than what transposes read that fetch streams: these want to know where the next call is.
  constexpr int64_t kBytesAhead = 4096, kMostAhead = 16;
  static_assert(kRing > kRowsToWriteAhead && kRing > kMostAhead);
  std::array<CopyOffset, kRing> steps;
  int64_t count = 1;
  for (const Loop &loop : loops)
    count *= loop.extent;
  // The first calls of a pass have none before them; what rows to write need is not for long.
  const int64_t most = rows.isNothing() ? std::clamp<int64_t>(count / 4, 1, kMostAhead) : 1;
  const int64_t reads =
      std::clamp<int64_t>(kBytesAhead / (elements * static_cast<int64_t>(sizeof(T))), 1, most);
  const int64_t lag = std::max(rows.stepsAhead(), reads);
  int64_t begun = 0, done = 0;
  const auto step = [&](int64_t number) -> CopyOffset & {
    return steps[static_cast<std::size_t>(number) % kRing];
  };
  const auto copyNext = [&](int64_t following) {
    const CopyOffset at = step(done++);
    copy(target + at.to, source + at.from, following - at.from);
  };
  forEachStep(loops, [&](int64_t to, int64_t from) {
    rows.fetch(target + to);
    step(begun++) = {to, from};
    if (begun - done > lag)
      copyNext(step(done + reads).from);
  });
  while (done + 1 < begun)
    copyNext(step(std::min(done + reads, begun - 1)).from);
  copyNext(next);
}

/// Whether transposes \p work in the steps of \p rest read memory a few lines here and a few there:
/// unless the rows are long, or all that one of them reads is followed by what the next one does.
template <class T> bool isScattered(const Innermost<T> &work, LoopNest &rest) {
  constexpr int64_t kLongRow = 4 * kCacheLine<T>;
  rest.sortForSource(kCacheLine<T>);
  const Loop &rows = work.inner, &columns = work.outer;
  const bool goesOn =
      rows.from == columns.extent && rest.loops().front().from == rows.extent * columns.extent;
  return columns.extent <= kLongRow && !goesOn;
}

/// Whether a copy to a cache goes through tiles, unless it has long rows, or squares that transpose
/// as memory gives them, or is narrow: else lines of the source are used element by element, each
/// time after many others. Pieces of a part that stays in a near cache need none either.
template <class T, class Op> bool isForTiles(const LoopNest &nest, Origin origin) {
  constexpr int64_t kLeastSteps = 1024, kMostPieces = (64 << 10) / sizeof(T);
  if (Op::isPastCaches || nest.loops().size() < 3 || nest.steps() < kLeastSteps)
    return false;
  const Loop &first = nest.loops().front();
  const bool isInPieces = first.to == 1 && first.from == 1;
  if (isInPieces && origin == Origin::Anywhere && nest.steps() <= kMostPieces)
    return false;
  const auto goesBack = [](const Loop &loop) { return std::min(loop.to, loop.from) < 0; };
  if (std::any_of(nest.loops().begin(), nest.loops().end(), goesBack))
    return false;
  LoopNest rest = nest;
  const Innermost<T> work = takeInnermost<T, Op>(rest, false, origin);
  if (work.kernel == transpose<T, Op>)
    return origin == Origin::Memory && isScattered(work, rest);
  return work.kernel != copyRows<T, Op> && !isNarrow<T>(nest, false);
}

/// Copies tiles out of scratch.
template <class T, class Op> class TileCopy {
public:
  explicit TileCopy(const LoopNest &tile) noexcept : nest(tile) {
    if (const auto found = findShortRuns<T>(nest, kSteps, false))
      runs.emplace(nest, *found);
    else if (PieceTable<T>::isFor(nest))
      pieces.emplace(nest, Op());
    else
      work = takeInnermost<T, Op>(nest, false, Origin::Near);
    nest.sortForBoth();
  }

  int64_t steps() const { return nest.steps(); }

  /// Fetches some of \p rows at each step.
  void operator()(T *target, const T *scratch, RowsOverSteps<T> &rows) const noexcept {
    LineWriter<T> lines(1); // Not past the caches.
    forEachStep(nest.loops(), [&](int64_t to, int64_t from) {
      rows.fetch();
      if (runs)
        runs->template copy<Op>(target + to, scratch + from, 0, lines);
      else if (pieces)
        pieces->copy(target + to, scratch + from);
      else
        work.kernel(target + to, scratch + from, work.inner, work.outer, 0, lines);
    });
  }

private:
  LoopNest nest; ///< around the runs, the pieces or the innermost loops
  std::optional<ShortRuns<T>> runs;
  std::optional<PieceTable<T>> pieces;
  Innermost<T> work;
};

template <class T, class Op>
[[gnu::noinline]] // Small copies need no stack for a tile.
void runTiles(T *target, const T *source, const CopyTiles<T> &tiles) noexcept {
  tiles.template run<TileCopy<T, Op>>(target, source);
}

template <class T, class Op>
[[gnu::noinline]] // Other copies need no stack for a table.
void runPieces(T *target, const T *source, LoopNest &nest) noexcept {
  const PieceTable<T> pieces(nest, Op());
  nest.sortForBoth();
  forEachStep(nest.loops(),
              [&](int64_t to, int64_t from) { pieces.copy(target + to, source + from); });
}

/// What steps with \p work write past the caches by rows: nothing to fetch for where these go on in
/// the next one of \p rest.
template <class T, class Op>
RowsToWrite<T> rowsToWrite(const Innermost<T> &work, const LoopNest &rest) {
  const Loop &inner = work.inner, &outer = work.outer;
  const bool goOn = !rest.loops().empty() && rest.loops().front().to == inner.extent * outer.extent;
  return Op::isPastCaches && work.kernel == copyRows<T, Op> && !goOn ? RowsToWrite<T>(inner, outer)
                                                                     : RowsToWrite<T>();
}

/// Transposes with rows so far apart go through all of the nest with a few rows at a time: about as
/// many streams as the processor's prefetchers follow, whose lines do not compete for the same few
/// places of a cache, and as fill the lines of the target. Not past the caches, where those lines
/// would be written in parts.
constexpr int64_t kFarBytes = 4096;

template <class T, class Op>
void runInnermost(T *target, const T *source, LoopNest &nest, LineWriter<T> &lines,
                  Origin origin) noexcept {
  if (isForTiles<T, Op>(nest, origin))
    if (const CopyTiles<T> tiles(nest.loops()); tiles.isWorthIt())
      return runTiles<T, Op>(target, source, tiles);
  if constexpr (!Op::isPastCaches)
    if (origin == Origin::Anywhere && PieceTable<T>::isFor(nest))
      return runPieces<T, Op>(target, source, nest);
  Innermost<T> work = takeInnermost<T, Op>(nest, Op::isPastCaches && lines.hasLongRuns, origin);
  if (origin == Origin::Memory) // The target is in a cache.
    nest.sortForSource(kCacheLine<T>);
  else
    nest.sortForBoth();
  const int64_t rows = work.inner.extent;
  const bool areFar = !Op::isPastCaches && work.kernel == transpose<T, Op> &&
                      work.inner.from * static_cast<int64_t>(sizeof(T)) >= kFarBytes;
  const int64_t step = areFar ? kCacheLine<T> : rows;
  const RowsToWrite<T> written = rowsToWrite<T, Op>(work, nest);
  for (int64_t row = 0; row < rows; row += work.inner.extent) {
    // The last rows go with those before them: few alone would not fill a packet.
    work.inner.extent = rows - row < 2 * step ? rows - row : step;
    const int64_t next = row + work.inner.extent < rows ? work.inner.extent * work.inner.from : 0;
    runLoops(nest.loops(), target + row * work.inner.to, source + row * work.inner.from,
             work.inner.extent * work.outer.extent, next, written,
             [&](T *to, const T *from, int64_t ahead) {
               work.kernel(to, from, work.inner, work.outer, ahead, lines);
             });
  }
}

/// Copies \p nest, each step of it with the \p runs that were taken from it if there are any.
/// \param runInTarget of the whole nest
template <class T, class Op>
void runCopy(T *target, const T *source, LoopNest &nest, const Runs<T> &runs, int64_t runInTarget,
             Origin origin = Origin::Anywhere) noexcept {
  LineWriter<T> lines(runInTarget);
  if (const auto &permuted = runs.permuted) {
    nest.sortForBoth();
    const Loop batch = permuted->takeBatch(nest);
    runLoops(nest.loops(), target, source, permuted->length() * batch.extent, 0, RowsToWrite<T>(),
             [&](T *to, const T *from, int64_t ahead) {
               permuted->template copy<Op>(to, from, batch, ahead, lines);
             });
  } else if (const auto &few = runs.few) {
    nest.sortForBoth();
    runLoops(nest.loops(), target, source, few->elements(), 0, RowsToWrite<T>(),
             [&](T *to, const T *from, int64_t ahead) {
               few->template copy<Op>(to, from, ahead, lines);
             });
  } else {
    runInnermost<T, Op>(target, source, nest, lines, origin);
  }
  if (Op::isPastCaches) {
    lines.flush();
    simd::endStoresPastCaches();
  }
}

template <class T> int64_t bytesOf(const LoopNest &nest) {
  return nest.steps() * static_cast<int64_t>(sizeof(T));
}

/// Whether a copy is too large for the caches.
bool isPastCaches(int64_t bytes) {
  constexpr int64_t kCacheBytes = 8 * 1024 * 1024;
  return bytes > kCacheBytes;
}

/// The same for a part of a copy of \p bytes.
template <class T>
void runOverwrite(T *target, const T *source, LoopNest &nest, const Runs<T> &runs,
                  int64_t runInTarget, int64_t bytes, Origin origin = Origin::Anywhere) noexcept {
  if (isPastCaches(bytes))
    runCopy<T, OverwritePastCaches>(target, source, nest, runs, runInTarget);
  else
    runCopy<T, Overwrite>(target, source, nest, runs, runInTarget, origin);
}

template <class T>
void copyFrom(Origin origin, T *target, const T *source, std::span<const CopyLoop> loops) noexcept {
  LoopNest nest(loops);
  if (nest.empty())
    return;
  const int64_t bytes = bytesOf<T>(nest);
  const int64_t runInTarget = nest.runInTarget();
  const Runs<T> runs(nest, kSteps, isPastCaches(bytes));
  runOverwrite(target, source, nest, runs, runInTarget, bytes, origin);
}

template <class T, class Op>
void runAll(T *target, const T *source, std::span<const CopyLoop> loops) noexcept {
  LoopNest nest(loops);
  if (nest.empty())
    return;
  const int64_t runInTarget = nest.runInTarget();
  const Runs<T> runs(nest, kSteps, Op::isPastCaches);
  runCopy<T, Op>(target, source, nest, runs, runInTarget);
}

/// Whether a copy is faster by tiles than by \p runs past the caches, or by loops if there are
/// none: at the ends of runs that are no whole lines, lines are touched twice, the second time long
/// after the first.
template <class T> bool isWorthTiles(const LoopNest &nest, const Runs<T> &runs) {
  constexpr int64_t kMemoryBytes = 16 * 1024 * 1024; // In a cache lines are soon touched again.
  const int64_t bytes = bytesOf<T>(nest);
  if (runs.permuted ||
      (runs.few ? runs.few->areWholeLines() || bytes <= kMemoryBytes : !isPastCaches(bytes)))
    return false;
  return CopyTiles<T>(nest.loops()).haveLongRuns();
}

} // namespace

template <class T>
void copyStrided(T *target, const T *source, std::span<const CopyLoop> loops) noexcept {
  copyFrom(Origin::Anywhere, target, source, loops);
}

template <class T>
void copyFromMemory(T *target, const T *source, std::span<const CopyLoop> loops) noexcept {
  copyFrom(Origin::Memory, target, source, loops);
}

template <class T>
void copyPastCaches(T *target, const T *source, std::span<const CopyLoop> loops) noexcept {
  runAll<T, OverwritePastCaches>(target, source, loops);
}

template <class T>
void addStrided(T *target, const T *source, std::span<const CopyLoop> loops) noexcept {
  runAll<T, Increment>(target, source, loops);
}

template <class T> void copyParallel(T *target, const T *source, std::span<const CopyLoop> loops) {
  LoopNest nest(loops);
  if (nest.empty())
    return;
  const int parts = omp_get_max_threads();
  const int64_t bytes = bytesOf<T>(nest);
  const int64_t runInTarget = nest.runInTarget();
  LoopNest left = nest; // Without the runs.
  Runs<T> runs(left, kSteps * parts, isPastCaches(bytes));
  const bool isByTiles = isWorthTiles<T>(nest, runs);
  if (isByTiles)
    runs.few.reset();
  else
    nest = left;
  if (!isByTiles && (parts == 1 || bytes < kSerialBytes))
    return runOverwrite(target, source, nest, runs, runInTarget, bytes);
#pragma omp parallel for schedule(static) num_threads(parts)
  for (int part = 0; part < parts; ++part) {
    LoopNest mine = nest;
    const CopyOffset begin = cutLoops(mine.loops(), parts, part);
    if (mine.steps() == 0)
      continue;
    if (isByTiles)
      runTiles<T, Overwrite>(target + begin.to, source + begin.from, CopyTiles<T>(mine.loops()));
    else
      runOverwrite(target + begin.to, source + begin.from, mine, runs, runInTarget, bytes);
  }
}

template void copyStrided(float *, const float *, std::span<const CopyLoop>) noexcept;
template void copyStrided(double *, const double *, std::span<const CopyLoop>) noexcept;
template void copyFromMemory(float *, const float *, std::span<const CopyLoop>) noexcept;
template void copyFromMemory(double *, const double *, std::span<const CopyLoop>) noexcept;
template void copyPastCaches(float *, const float *, std::span<const CopyLoop>) noexcept;
template void copyPastCaches(double *, const double *, std::span<const CopyLoop>) noexcept;
template void addStrided(float *, const float *, std::span<const CopyLoop>) noexcept;
template void addStrided(double *, const double *, std::span<const CopyLoop>) noexcept;
template void copyParallel(float *, const float *, std::span<const CopyLoop>);
template void copyParallel(double *, const double *, std::span<const CopyLoop>);

} // namespace einsumc
