//===- ShortRuns.h - copies between tensors of many short dims --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_SHORTRUNS_H
#define EINSUMC_RUNTIME_SHORTRUNS_H

#include "CopyKernels.h"
#include "CopyLoops.h"
#include "PastCaches.h"
#include "SimdVector.h"

#include "einsumc/StridedCopy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

namespace einsumc {

/// The inner part of a copy in which no single loop goes through a cache line of both tensors, as
/// with dims of extent 2. It takes as many loops as make runs of one to four lines in the source,
/// and as many as do in the target, reads the runs of the source into a block that stays in the
/// first-level cache, and writes those of the target from there: every line is touched once, also
/// where the steps are powers of two and few lines stay cached. Where at least a packet of
/// neighbours in the target comes from as many runs of the source, they go through registers, to a
/// cache at once; if the runs of both share no loop, half a line of each is enough. To a cache,
/// pieces that are neighbours in both tensors rather go by tiles or by kernels for these.
template <class T> class ShortRuns {
  /// Loops that together go through consecutive elements.
  struct Run {
    int64_t length = 1;
    int64_t first = 0; ///< extent of the loop through neighbours
    uint64_t loops = 0;
    bool has(std::size_t loop) const { return (loops >> loop & 1) != 0; }
  };

public:
  /// The loops of a nest that make runs of each tensor.
  struct Found {
    Run inTarget, inSource;
    bool pastCaches;
  };

  /// Such loops, if that is what they are and at least so many steps are left. Loops that were
  /// fused are cut again if only that makes runs.
  /// \param pastCaches lines of the target are written as a whole rather than by registers
  static std::optional<Found> find(LoopNest &nest, int64_t leastSteps, bool pastCaches) noexcept {
    if (const auto found = findWhole(nest, leastSteps, pastCaches))
      return found;
    if (!longLoop(nest, &Loop::to) && !longLoop(nest, &Loop::from))
      return std::nullopt;
    LoopNest cut = nest;
    for (const auto step : {&Loop::to, &Loop::from})
      if (const auto loop = longLoop(cut, step))
        cutLoop(cut, *loop);
    const auto found = findWhole(cut, leastSteps, pastCaches);
    if (found)
      nest = cut;
    return found;
  }

  /// Takes these loops out of the nest.
  ShortRuns(LoopNest &nest, const Found &found) noexcept : readLength(found.inSource.length) {
    const Run &inTarget = found.inTarget, &inSource = found.inSource;
    fromRow[0] = toRun[0] = toRow[0] = toColumn[0] = 0;
    inBlock[0] = blockOfRun[0] = 0;
    int64_t runs = 1, stepsOfRow = 1;
    bool areRowsTogether = true;
    for (std::size_t d = 0; d < nest.loops().size(); ++d) { // by growing steps in the target
      const Loop &loop = nest.loops()[d];
      int64_t step = loop.from;
      if (inTarget.has(d) && !inSource.has(d)) {
        step = readLength * rows;
        extend(toRow, stepsOfRow, loop.extent, loop.to);
        extend(fromRow, rows, loop.extent, loop.from);
      }
      if (inTarget.has(d)) {
        areRowsTogether = areRowsTogether && !inSource.has(d);
        rowsTogether *= areRowsTogether ? loop.extent : 1;
        extend(inBlock, writeLength, loop.extent, step);
      } else if (inSource.has(d)) {
        extend(toRun, writes, loop.extent, loop.to);
        extend(blockOfRun, runs, loop.extent, step);
      }
    }
    addColumns(nest, inTarget, inSource, found.pastCaches);
    isByPackets = rowsTogether >= kPacket<T>;
    const Loop &first = nest.loops().front();
    together = first.to == 1 && first.from == 1 ? first.extent : 1;
    for (std::size_t d = nest.loops().size(); d-- > 0;)
      if (inTarget.has(d) || inSource.has(d))
        nest.take(d);
  }

  /// The elements that a call copies.
  int64_t elements() const { return rows * readLength; }

  /// Whether the lengths of runs are whole lines: aligned ones share none.
  bool areWholeLines() const {
    return readLength % kCacheLine<T> == 0 && writeLength % kCacheLine<T> == 0;
  }

  /// The source of the call to fetch for lies \p ahead elements further on.
  template <class Op>
  void copy(T *target, const T *source, int64_t ahead, LineWriter<T> &lines) const noexcept {
    if (isByPackets && !Op::isPastCaches)
      return transposeRuns<Op>(target, source, ahead);
    alignas(64) std::array<T, kMostElements + simd::kLanes<T>> block;
    if (Op::isPastCaches)
      fetchForWriting(target, lines);
    if (Op::isPastCaches && isByPackets) {
      transposeRuns<Overwrite>(block.data(), source, ahead);
      for (int64_t w = 0; w < writes; ++w) {
        T *const to = target + toRun[w];
        const T *const run = block.data() + w * writeLength;
        if (goesPastCaches(to, lines))
          writePastCaches(to, run, lines);
        else
          copyRow(to, run, writeLength);
      }
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      prefetchRow(source + fromRow[r] + ahead, readLength);
      copyRow(block.data() + r * readLength, source + fromRow[r], readLength);
    }
    for (int64_t w = 0; w < writes; ++w)
      write<Op>(target + toRun[w], block.data() + blockOfRun[w], lines);
  }

private:
  static constexpr int64_t kFewTogether = 3;
  static constexpr int64_t kMostElements = 4096, kMostRun = copies::kMostRun;
  static constexpr int64_t kWanted = copies::kRunBytes / sizeof(T); ///< elements of a run

  static std::optional<Found> findWhole(const LoopNest &nest, int64_t leastSteps,
                                        bool pastCaches) noexcept {
    constexpr int64_t kLine = kCacheLine<T>, kHalfLine = std::max<int64_t>(kPacket<T>, kLine / 2);
    if (pastCaches)
      return findRuns(nest, leastSteps, kLine, false, true);
    if (auto matrix = findRuns(nest, leastSteps, kLine, true))
      return matrix;
    if (hasPieces(nest)) // Rows of tiles.
      return std::nullopt;
    if (auto runs = findRuns(nest, leastSteps, kLine, false))
      return runs;
    return findRuns(nest, leastSteps, kHalfLine, true);
  }

  /// A loop of which so many steps make a run.
  struct PartOfLoop {
    std::size_t loop;
    int64_t steps;
  };

  /// The loop that would make a run too long, but without which it is shorter than a line, if an
  /// even part of it makes one.
  static std::optional<PartOfLoop> longLoop(const LoopNest &nest, int64_t Loop::*step) {
    const Run run = runOf(nest, step, kCacheLine<T>);
    const auto loops = nest.loops();
    const auto isNext = [&](const Loop &loop) { return loop.*step == run.length; };
    const auto found = std::find_if(loops.begin(), loops.end(), isNext);
    if (run.length == 1 || run.length >= kCacheLine<T> || found == loops.end())
      return std::nullopt;
    int64_t part = 1;
    for (int64_t more = 2; more * run.length <= kMostRun && part * run.length < kWanted; ++more)
      if (found->extent % more == 0)
        part = more;
    if (part * run.length < kCacheLine<T>)
      return std::nullopt;
    return PartOfLoop{static_cast<std::size_t>(found - loops.begin()), part};
  }

  static void cutLoop(LoopNest &nest, const PartOfLoop &part) {
    const Loop whole = nest.take(part.loop);
    nest.insert({part.steps, whole.to, whole.from});
    nest.insert({whole.extent / part.steps, part.steps * whole.to, part.steps * whole.from});
  }

  /// Whether several elements are neighbours in both tensors.
  static bool hasPieces(const LoopNest &nest) {
    if (nest.loops().empty())
      return false;
    const Loop &first = nest.loops().front();
    return first.to == 1 && first.from == 1 && first.extent >= kFewTogether;
  }

  /// \param least elements of a run
  static std::optional<Found> findRuns(const LoopNest &nest, int64_t leastSteps, int64_t least,
                                       bool asMatrix, bool pastCaches = false) {
    for (int64_t wanted = kWanted; wanted >= least; wanted /= 2) {
      const Run inTarget = runOf(nest, &Loop::to, wanted);
      const Run inSource = runOf(nest, &Loop::from, wanted);
      const int64_t shorter = std::min(inTarget.length, inSource.length);
      if (shorter < least ||
          std::min(inTarget.first, inSource.first) >= std::min<int64_t>(shorter, kCacheLine<T>))
        return std::nullopt;
      int64_t elements = inSource.length;
      for (std::size_t d = 0; d < nest.loops().size(); ++d)
        elements *= inTarget.has(d) && !inSource.has(d) ? nest.loops()[d].extent : 1;
      const bool isMatrix = (inTarget.loops & inSource.loops) == 0;
      const bool fits = asMatrix ? isMatrix : elements <= kMostElements;
      if (fits && leastSteps * elements <= nest.steps())
        return Found{inTarget, inSource, pastCaches};
    }
    return std::nullopt;
  }

  static Run runOf(const LoopNest &nest, int64_t Loop::*step, int64_t wanted) {
    Run run;
    for (std::size_t d = 0; d < nest.loops().size() && run.length < wanted;) {
      const Loop &loop = nest.loops()[d];
      const bool isNext = !run.has(d) && loop.*step == run.length;
      if (isNext && run.length * loop.extent > kMostRun)
        return run;
      if (isNext) {
        run.loops |= uint64_t{1} << d;
        run.first = run.length == 1 ? loop.extent : run.first;
        run.length *= loop.extent;
      }
      d = isNext ? 0 : d + 1;
    }
    return run;
  }

  /// Multiples of a step, beside those of the loops before.
  template <class Offsets>
  static void extend(Offsets &offsets, int64_t &count, int64_t extent, int64_t step) {
    for (int64_t i = count; i < count * extent; ++i)
      offsets[i] = offsets[i - count] + static_cast<typename Offsets::value_type>(step);
    count *= extent;
  }

  /// Where the elements of a row of the source go: in the target, or one run of it behind the other
  /// in a block.
  void addColumns(const LoopNest &nest, const Run &inTarget, const Run &inSource, bool pastCaches) {
    std::array<int64_t, LoopNest::kMaxLoops> to;
    int64_t run = writeLength;
    for (std::size_t d = 0; d < nest.loops().size(); ++d) {
      const Loop &loop = nest.loops()[d];
      const bool isOfRun = pastCaches && inSource.has(d) && !inTarget.has(d);
      to[d] = isOfRun ? run : loop.to;
      run *= isOfRun ? loop.extent : 1;
    }
    for (int64_t columns = 1; columns < readLength;) {
      std::size_t d = 0;
      while (!inSource.has(d) || nest.loops()[d].from != columns)
        ++d;
      extend(toColumn, columns, nest.loops()[d].extent, to[d]);
    }
  }

  /// Transposes by packets. Those at the ends overlap the ones before, or are copied element by
  /// element if none may be written twice.
  template <class Op> void transposeRuns(T *target, const T *source, int64_t ahead) const noexcept {
    constexpr int64_t kSize = kPacket<T>;
    const auto inPackets = [](int64_t count) {
      return Op::isIdempotent ? count : count / kSize * kSize;
    };
    const int64_t endRow = inPackets(rowsTogether), endColumn = inPackets(readLength);
    for (int64_t firstRow = 0; firstRow < rows; firstRow += rowsTogether) {
      for (int64_t r = 0; r < endRow; r += kSize) {
        const int64_t row = firstRow + std::min(r, rowsTogether - kSize);
        forEachSquareOfRows<T>(
            endColumn,
            [&](int64_t i) { prefetchRow(source + fromRow[row + i] + ahead, readLength); },
            [&](int64_t column) { transposeSquare<Op>(target, source, row, column); });
      }
      for (int64_t row = firstRow; row < firstRow + rowsTogether; ++row)
        for (int64_t c = row < firstRow + endRow ? endColumn : 0; c < readLength; ++c) {
          T &t = target[toColumn[c] + toRow[row]];
          t = Op::combine(t, simd::byItself(source[fromRow[row] + c]));
        }
    }
  }

  template <class Op>
  [[gnu::always_inline]] void transposeSquare(T *target, const T *source, int64_t row,
                                              int64_t column) const noexcept {
    constexpr int64_t kSize = kPacket<T>;
    Packet<T> packets[kSize];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kSize; ++i)
      packets[i] = simd::loadAs<Packet<T>>(source + fromRow[row + i] + column);
    transposeRegisters<T>(packets);
    T *const begin = target + toRow[row];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kSize; ++i) {
      T *const to = begin + toColumn[column + i];
      simd::store(to, Op::combine(simd::loadAs<Packet<T>>(to), packets[i]));
    }
  }

  /// Fetches what must be read of the target before it is written: the lines at the ends of runs,
  /// of which those that follow each other are written together, or short ones.
  void fetchForWriting(const T *target, const LineWriter<T> &lines) const noexcept {
    for (int64_t w = 0; w < writes; ++w) {
      const T *const to = target + toRun[w];
      if (!goesPastCaches(to, lines)) {
        fetchToWrite(to, writeLength);
        continue;
      }
      if (w == 0 || toRun[w] != toRun[w - 1] + writeLength)
        fetchEnd(to);
      if (w + 1 == writes || toRun[w + 1] != toRun[w] + writeLength)
        fetchEnd(to + writeLength);
    }
  }

  /// Whether a run is whole lines, or so long that it is worth collecting it elsewhere before.
  bool goesPastCaches(const T *target, const LineWriter<T> &lines) const {
    constexpr int64_t kLongWrite = 4 * kCacheLine<T>;
    return einsumc::areWholeLines(target, writeLength) || writeLength >= kLongWrite ||
           lines.isWorthCollecting;
  }

  /// \pre it goes there
  void writePastCaches(T *target, const T *run, LineWriter<T> &lines) const noexcept {
    if (einsumc::areWholeLines(target, writeLength))
      storeLines(target, run, writeLength);
    else
      lines.write(target, run, writeLength);
  }

  template <class Op> void write(T *target, const T *from, LineWriter<T> &lines) const noexcept {
    // Where they are to be, if they may: a copy of what was just written in pieces waits for it.
    if (Op::isIdempotent && !(Op::isPastCaches && goesPastCaches(target, lines)))
      return collect(target, from, writeLength);
    alignas(64) std::array<T, kMostRun + simd::kLanes<T>> run;
    collect(run.data(), from, static_cast<int64_t>(run.size()));
    if (Op::isPastCaches)
      return writePastCaches(target, run.data(), lines);
    for (int64_t i = 0; i < writeLength; ++i)
      target[i] = Op::combine(target[i], run[i]);
  }

  /// Gets a run of the target from the block, to where there is room for so many elements.
  void collect(T *run, const T *from, int64_t room) const noexcept {
    constexpr int kQuarter = 16;
    const int64_t bytes = together * static_cast<int64_t>(sizeof(T));
    if (together < kFewTogether)
      for (int64_t i = 0; i < writeLength; ++i)
        run[i] = simd::byItself(from[inBlock[i]]);
    else if (bytes <= kQuarter)
      collectPieces<kQuarter>(run, from, room);
    else if (bytes <= kPacketBytes)
      collectPieces<kPacketBytes>(run, from, room);
    else
      collectPieces<simd::kVectorBytes>(run, from, room);
  }

  /// Copies neighbours in both by whole vectors: what these have beyond is overwritten by the next
  /// ones.
  template <int Bytes> void collectPieces(T *run, const T *from, int64_t room) const noexcept {
    constexpr int64_t kSize = Bytes / sizeof(T);
    for (int64_t i = 0; i < writeLength; i += together)
      for (int64_t e = 0; e < together; e += kSize) {
        T *const to = run + i + e;
        const T *const piece = from + inBlock[i] + e;
        if (i + e + kSize <= room)
          std::memcpy(to, piece, Bytes);
        else
          std::copy_n(piece, std::min(kSize, together - e), to);
      }
  }

  bool isByPackets; ///< by transposeRuns
  int64_t readLength;
  int64_t together; ///< neighbours in both
  int64_t rows = 1, writes = 1, writeLength = 1;
  int64_t rowsTogether = 1; ///< neighbours in the target, from rows that follow each other
  std::array<int64_t, kMostRun> fromRow;         ///< of each run in the source: where it begins
  std::array<int64_t, kMostRun> toRun;           ///< of each run in the target
  std::array<int64_t, kMostRun> toRow, toColumn; ///< by packets, of the source's rows and elements
  std::array<int32_t, kMostRun> blockOfRun, inBlock; ///< where it begins in the block, and goes on
};

} // namespace einsumc

#endif // EINSUMC_RUNTIME_SHORTRUNS_H
