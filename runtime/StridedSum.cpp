//===- StridedSum.cpp - sums of strided views -------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// Long sums are summed pairwise (Higham, Accuracy and Stability of Numerical Algorithms, 4.2):
// halves of the summed loops are summed apart, down to blocks of some dozen additions a lane.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/StridedCopy.h"

#include "CopyLoops.h"
#include "SumKernels.h"

#include <omp.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace einsumc {

namespace {

constexpr int64_t kSerialBytes = 32 * 1024;

int64_t stepsOf(std::span<const Loop> loops) {
  int64_t result = 1;
  for (const Loop &loop : loops)
    result *= loop.extent;
  return result;
}

/// By growing steps in the source, of equals in the target.
void sortBySource(std::span<Loop> loops) {
  std::sort(loops.begin(), loops.end(), [](const Loop &a, const Loop &b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
}

/// Sums that are computed together in a compact block, as they lie in the source.
template <class T> class SumBlock {
public:
  /// Elements that stay in the first-level cache.
  static constexpr int64_t kMost = (32 << 10) / sizeof(T);
  /// Sums are computed in room for so many: some behind them may be overwritten.
  static constexpr int64_t kRoom = kMost + simd::kLanes<T>;

  /// \param loops those of the kept elements, with their places in the block, and of the terms; in
  /// the order of the source
  explicit SumBlock(std::span<const Loop> loops) {
    for (const Loop &loop : loops) {
      (loop.to == 0 ? terms : elements) *= loop.extent;
      Loop *const last = count > 0 ? &items[count - 1] : nullptr;
      if (last && loop.to == last->to * last->extent && loop.from == last->from * last->extent)
        last->extent *= loop.extent;
      else if (loop.extent != 1)
        items[count++] = loop;
    }
  }

  /// out = the sums, compact.
  void sum(T *out, const T *source) const {
    if (terms > sums::kUnpaired * apart())
      return items[count - 1].to == 0 ? sumHalves(out, source) : sumOneByOne(out, source);
    std::fill_n(out, elements, T(0));
    add(out, source);
  }

private:
  /// Rows are so long that it does not matter where the next is.
  static constexpr int64_t kLongRow = 4096 / sizeof(T);

  bool isAlongTerms() const { return count > 0 && items[0].to == 0; }

  /// The loop of the other kind that kernels go along beside the innermost one; count: none.
  std::size_t partner() const {
    const bool isNearOnly = isAlongTerms() || (count > 0 && items[0].extent < kLongRow);
    for (std::size_t d = 1; d < (isNearOnly ? std::min<std::size_t>(count, 2) : count); ++d)
      if ((items[d].to == 0) != isAlongTerms())
        return d;
    return count;
  }

  /// The parts of the same sum that kernels add up apart.
  int64_t apart() const {
    if (isAlongTerms())
      return std::min<int64_t>(items[0].extent,
                               items[0].from == 1 ? sums::kUnpaired : sums::kFarParts);
    const std::size_t other = partner();
    if (other == count || items[0].from != 1)
      return 1;
    return items[0].extent <= sums::kShortRow<T> ? std::min(items[other].extent, sums::kUnpaired)
                                                 : sums::kRowsAtOnce;
  }

  std::span<const Loop> all() const { return {items.data(), count}; }

  /// Goes through the outermost loop, so that the source is read as it lies: halves would be apart.
  void sumOneByOne(T *out, const T *source) const {
    const Loop &loop = items[count - 1];
    const SumBlock one = withExtent(count - 1, 1);
    for (int64_t i = 0; i < loop.extent; ++i)
      one.sum(out + i * loop.to, source + i * loop.from);
  }

  /// Halves the outermost loop. \pre it is one of terms
  void sumHalves(T *out, const T *source) const {
    const std::size_t outermost = count - 1;
    const Loop &loop = items[outermost];
    const int64_t half = loop.extent / 2;
    T rest[kRoom];
    withExtent(outermost, half).sum(out, source);
    withExtent(outermost, loop.extent - half).sum(rest, source + half * loop.from);
    for (int64_t i = 0; i < elements; ++i)
      out[i] += rest[i];
  }

  SumBlock withExtent(std::size_t position, int64_t extent) const {
    std::array<Loop, LoopNest::kMaxLoops> changed;
    std::copy(all().begin(), all().end(), changed.begin());
    changed[position].extent = extent;
    return SumBlock(std::span<const Loop>(changed).first(count));
  }

  /// Adds by kernels for a loop of sums, one of terms and one around these.
  void add(T *out, const T *source) const {
    constexpr Loop kNone = {1, 0, 0};
    const std::size_t other = partner();
    const Loop first = count > 0 ? items[0] : kNone, second = other < count ? items[other] : kNone;
    const Loop &sums = isAlongTerms() ? second : first, &terms = isAlongTerms() ? first : second;
    std::array<Loop, LoopNest::kMaxLoops> outer;
    std::size_t outerCount = 0;
    for (std::size_t d = 1; d < count; ++d)
      if (d != other)
        outer[outerCount++] = items[d];
    if (outerCount == 0)
      outer[outerCount++] = kNone;
    const bool areRows = !isAlongTerms() && sums.from == 1;
    // Each row of sums is added to once, and the next one follows it.
    const bool areNew = outerCount == 1 && (outer[0].extent == 1 || outer[0].to == sums.extent);
    forEachStep(std::span<const Loop>(outer).subspan(1, outerCount - 1),
                [&](int64_t to, int64_t from) {
                  if (areRows)
                    sums::addRows<T>(out + to, source + from, sums, terms, outer[0], areNew);
                  else
                    sums::addTerms<T>(out + to, source + from, sums, terms, outer[0]);
                });
  }

  std::array<Loop, LoopNest::kMaxLoops> items;
  std::size_t count = 0;
  int64_t elements = 1, terms = 1;
};

/// Cuts the kept elements into blocks: neighbours in the source, so that it is read from end to
/// end, and enough of those in the target for whole cache lines of it.
template <class T> class SumBlocks {
public:
  /// \param kept not of extent 0
  SumBlocks(std::span<const Loop> kept, std::span<const Loop> summed)
      : count(kept.size() + summed.size()) {
    std::copy(summed.begin(), summed.end(), std::copy(kept.begin(), kept.end(), loops.begin()));
    sortBySource(std::span<Loop>(loops).first(count));
    for (std::size_t d = 0; d < count; ++d)
      counts[d] = isKept(d) ? 1 : loops[d].extent;
    if (stepsOf(summed) <= kMostScattered && !kept.empty())
      grow(fastestInTarget(), kLine);
    for (std::size_t d = 0; d < count; ++d)
      if (isKept(d) && loops[d].from <= kFar)
        grow(d, loops[d].extent);
  }

  /// On the calling thread.
  void sum(T *target, const T *source) const {
    forEachBlock(std::span<const Loop>(loops).first(count), counts,
                 [&](std::span<const int64_t> at) { sumBlock(target, source, at); });
  }

private:
  /// Sums of more terms are so few that it does not matter where they lie.
  static constexpr int64_t kMostScattered = 64;
  static constexpr int64_t kLine = 64 / sizeof(T);
  /// What lies farther apart is read in long pieces anyway.
  static constexpr int64_t kFar = (64 << 10) / sizeof(T);

  bool isKept(std::size_t d) const { return loops[d].to != 0; }

  /// \pre there is a kept loop
  std::size_t fastestInTarget() const {
    std::size_t fastest = count;
    for (std::size_t d = 0; d < count; ++d)
      if (isKept(d) && (fastest == count || loops[d].to < loops[fastest].to))
        fastest = d;
    return fastest;
  }

  /// Takes up to so many indices of a kept loop.
  void grow(std::size_t d, int64_t wanted) {
    const int64_t others = elements / counts[d];
    counts[d] = std::clamp(SumBlock<T>::kMost / others, counts[d],
                           std::max(counts[d], std::min(wanted, loops[d].extent)));
    elements = others * counts[d];
  }

  void sumBlock(T *target, const T *source, std::span<const int64_t> at) const {
    std::array<Loop, LoopNest::kMaxLoops> block;
    std::array<CopyLoop, LoopNest::kMaxLoops> back;
    int64_t compact = 1;
    std::size_t kept = 0;
    for (std::size_t d = 0; d < count; ++d) {
      const int64_t extent = std::min(counts[d], loops[d].extent - at[d]);
      block[d] = {extent, isKept(d) ? compact : 0, loops[d].from};
      if (!isKept(d))
        continue;
      back[kept++] = {extent, loops[d].to, compact};
      compact *= extent;
      target += at[d] * loops[d].to;
      source += at[d] * loops[d].from;
    }
    T sums[SumBlock<T>::kRoom];
    SumBlock<T>(std::span<const Loop>(block).first(count)).sum(sums, source);
    copyStrided<T>(target, sums, std::span<const CopyLoop>(back).first(kept));
  }

  std::array<Loop, LoopNest::kMaxLoops> loops;     ///< in the order of the source
  std::array<int64_t, LoopNest::kMaxLoops> counts; ///< indices in a block: of terms, all
  std::size_t count;
  int64_t elements = 1; ///< of a block
};

/// Every thread sums a part of the kept elements.
template <class T> void sumByTarget(T *target, const T *source, const LoopNest &nest, int parts) {
#pragma omp parallel for schedule(static) num_threads(parts)
  for (int part = 0; part < parts; ++part) {
    std::array<Loop, LoopNest::kMaxLoops> mine;
    std::copy(nest.kept().begin(), nest.kept().end(), mine.begin());
    const auto kept = std::span<Loop>(mine).first(nest.kept().size());
    sortBySource(kept); // What is slow there is rather cut.
    const CopyOffset begin = cutLoops(kept, parts, part);
    if (stepsOf(kept) > 0)
      SumBlocks<T>(kept, nest.summed()).sum(target + begin.to, source + begin.from);
  }
}

/// Every thread sums a part of the terms of all kept elements; the parts are added up in order.
template <class T> void sumByTerms(T *target, const T *source, const LoopNest &nest, int parts) {
  // The kept loops, as they walk a compact buffer of partial sums.
  std::array<Loop, LoopNest::kMaxLoops> compact;
  std::vector<CopyLoop> back(nest.kept().size());
  int64_t elements = 1;
  for (std::size_t d = 0; d < back.size(); ++d) {
    const Loop &loop = nest.kept()[d];
    compact[d] = {loop.extent, elements, loop.from};
    back[d] = {loop.extent, loop.to, elements};
    elements *= loop.extent;
  }
  const auto kept = std::span<const Loop>(compact).first(back.size());
  std::vector<T> partial(static_cast<std::size_t>(elements * parts));
#pragma omp parallel for schedule(static) num_threads(parts)
  for (int part = 0; part < parts; ++part) {
    std::array<Loop, LoopNest::kMaxLoops> mine;
    std::copy(nest.summed().begin(), nest.summed().end(), mine.begin());
    const auto summed = std::span<Loop>(mine).first(nest.summed().size());
    const CopyOffset begin = cutLoops(summed, parts, part);
    if (stepsOf(summed) > 0)
      SumBlocks<T>(kept, summed).sum(partial.data() + elements * part, source + begin.from);
  }
  copyStrided<T>(target, partial.data(), back);
  for (int part = 1; part < parts; ++part)
    addStrided<T>(target, partial.data() + elements * part, back);
}

/// No terms: zeros for every kept element.
template <class T> void clear(T *target, std::span<const CopyLoop> loops) {
  std::vector<CopyLoop> kept;
  for (const CopyLoop &loop : loops)
    if (loop.to != 0)
      kept.push_back({loop.extent, loop.to, 0});
  const T zero = 0;
  copyParallel<T>(target, &zero, kept);
}

} // namespace

template <class T> void sumParallel(T *target, const T *source, std::span<const CopyLoop> loops) {
  const LoopNest nest(loops);
  if (nest.empty())
    return clear(target, loops);
  if (nest.summed().empty())
    return copyParallel(target, source, loops);
  const int parts = omp_get_max_threads();
  if (parts == 1 || nest.steps() * static_cast<int64_t>(sizeof(T)) < kSerialBytes)
    return SumBlocks<T>(nest.kept(), nest.summed()).sum(target, source);
  // Partial sums cost writing and reading them again, beside reading the source once.
  const double byTarget = costOfCutting(nest.kept(), parts);
  const double byTerms =
      costOfCutting(nest.summed(), parts) +
      3.0 * parts * static_cast<double>(stepsOf(nest.kept())) / static_cast<double>(nest.steps());
  if (byTarget <= byTerms)
    sumByTarget(target, source, nest, parts);
  else
    sumByTerms(target, source, nest, parts);
}

template void sumParallel(float *, const float *, std::span<const CopyLoop>);
template void sumParallel(double *, const double *, std::span<const CopyLoop>);

} // namespace einsumc
