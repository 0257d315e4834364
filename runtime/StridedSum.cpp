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
#include "SimdVector.h"

#include <omp.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace einsumc {

namespace {

constexpr int64_t kSerialBytes = 32 * 1024;

/// The widths of rows of sums that are computed together: one, a few in registers, or as many as
/// stay in the first-level cache.
constexpr int kFew = 16;
constexpr int kMany = 1024;
/// Rows of fewer sums take longer than to compute them with what follows and to copy them.
constexpr int64_t kShortRow = 64;

/// So many terms of each sum are added without pairing.
template <int Width> constexpr int64_t kTermsUnpaired = Width == 1 ? 4096 : 64;

int64_t stepsOf(std::span<const Loop> loops) {
  int64_t result = 1;
  for (const Loop &loop : loops)
    result *= loop.extent;
  return result;
}

/// Calls body(source offset, extent, step) for the rows of the innermost loop of the summed loops,
/// the outermost of which has \p extent steps.
template <class Body> void forEachRow(std::span<const Loop> summed, int64_t extent, Body &&body) {
  if (summed.size() == 1) {
    body(int64_t{0}, extent, summed[0].from);
    return;
  }
  const auto middle = summed.subspan(1, summed.size() - 2);
  for (int64_t i = 0; i < extent; ++i)
    forEachStep(middle, [&](int64_t, int64_t from) {
      body(i * summed.back().from + from, summed[0].extent, summed[0].from);
    });
}

/// The sum of consecutive elements, in as many lanes as the latency of an addition needs.
template <class T> T sumConsecutive(const T *source, int64_t extent) {
  constexpr int kAtOnce = 4;
  constexpr int64_t kBlock = kAtOnce * simd::kLanes<T>;
  simd::Vector<T> sums[kAtOnce] = {};
  int64_t i = 0;
  for (; i + kBlock <= extent; i += kBlock)
    for (int v = 0; v < kAtOnce; ++v)
      sums[v] += simd::load(source + i + v * simd::kLanes<T>);
  T sum = simd::sumLanes<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < extent; ++i)
    sum += source[i];
  return sum;
}

template <class T>
void sumOne(T *out, const T *source, std::span<const Loop> summed, int64_t extent) {
  T sum = 0;
  forEachRow(summed, extent, [&](int64_t offset, int64_t steps, int64_t step) {
    const T *const row = source + offset;
    T part = 0;
    if (step == 1)
      part = sumConsecutive(row, steps);
    else
#pragma omp simd reduction(+ : part)
      for (int64_t i = 0; i < steps; ++i)
        part += row[i * step];
    sum += part;
  });
  *out = sum;
}

/// \p Width sums in registers: with so few, a loop over them would be all overhead.
template <class T, int Width>
void sumFew(T *out, const T *source, std::span<const Loop> summed, int64_t extent) {
  T sums[Width] = {};
  forEachRow(summed, extent, [&](int64_t offset, int64_t steps, int64_t step) {
    const T *row = source + offset;
    for (int64_t i = 0; i < steps; ++i, row += step)
#pragma GCC unroll 16
      for (int x = 0; x < Width; ++x)
        sums[x] += row[x];
  });
  std::copy_n(sums, Width, out);
}

template <class T>
void sumMany(T *__restrict out, int64_t width, const T *source, std::span<const Loop> summed,
             int64_t extent) {
  std::fill_n(out, width, T(0));
  forEachRow(summed, extent, [&](int64_t offset, int64_t steps, int64_t step) {
    const T *row = source + offset;
    int64_t i = 0;
    for (; i + 4 <= steps; i += 4, row += 4 * step)
      for (int64_t x = 0; x < width; ++x)
        out[x] += (row[x] + row[step + x]) + (row[2 * step + x] + row[3 * step + x]);
    for (; i < steps; ++i, row += step)
      for (int64_t x = 0; x < width; ++x)
        out[x] += row[x];
  });
}

/// The kernel for a number of sums of consecutive elements. \pre 1 <= width <= kFew
template <class T> auto fewSums(int64_t width) {
  return [&]<int... X>(std::integer_sequence<int, X...>) {
    using Kernel = void (*)(T *, const T *, std::span<const Loop>, int64_t);
    static constexpr Kernel kTable[] = {sumFew<T, X + 1>...};
    return kTable[width - 1];
  }(std::make_integer_sequence<int, kFew>());
}

/// out[x] = the sum of source[x] over the summed loops, for x < width <= Width; \p extent replaces
/// that of the outermost loop. \pre no extent is 0
template <int Width, class T>
void sumPairwise(T *out, int64_t width, const T *source, std::span<const Loop> summed,
                 int64_t extent) {
  if (extent == 1 && summed.size() > 1) {
    summed = summed.first(summed.size() - 1);
    extent = summed.back().extent;
  }
  const int64_t terms = extent * stepsOf(summed.first(summed.size() - 1));
  if (terms > kTermsUnpaired<Width> && extent > 1) {
    const int64_t half = extent / 2;
    T rest[Width];
    sumPairwise<Width>(out, width, source, summed, half);
    sumPairwise<Width>(rest, width, source + half * summed.back().from, summed, extent - half);
    for (int64_t x = 0; x < width; ++x)
      out[x] += rest[x];
  } else if constexpr (Width == 1) {
    sumOne(out, source, summed, extent);
  } else if constexpr (Width == kFew) {
    fewSums<T>(width)(out, source, summed, extent);
  } else {
    sumMany(out, width, source, summed, extent);
  }
}

template <int Width, class T>
void sumPairwise(T *out, int64_t width, const T *source, std::span<const Loop> summed) {
  sumPairwise<Width>(out, width, source, summed, summed.back().extent);
}

/// Sums of rows of consecutive elements, one row of sums per step of \p kept.
template <class T>
void sumRows(T *target, const T *source, const Loop &row, std::span<const Loop> kept,
             std::span<const Loop> summed) {
  forEachStep(kept, [&](int64_t to, int64_t from) {
    for (int64_t x = 0; x < row.extent; x += kMany) {
      const int64_t width = std::min<int64_t>(kMany, row.extent - x);
      T sums[kMany];
      if (width <= kFew)
        sumPairwise<kFew>(sums, width, source + from + x, summed);
      else
        sumPairwise<kMany>(sums, width, source + from + x, summed);
      for (int64_t i = 0; i < width; ++i)
        target[to + (x + i) * row.to] = sums[i];
    }
  });
}

/// Short loops of kept elements that together are neighbours in the source, though not in the
/// target: their sums are computed next to each other, then copied.
template <class T> class SourceRun {
public:
  /// Shorter runs are not worth a copy, longer ones leave the first-level cache.
  static constexpr int64_t kLeast = 256, kMost = 4096;

  /// \param kept not empty
  explicit SourceRun(std::span<const Loop> kept) {
    std::copy(kept.begin(), kept.end(), loops.begin());
    const auto all = std::span<Loop>(loops).first(kept.size());
    std::sort(all.begin(), all.end(), [](const Loop &a, const Loop &b) { return a.from < b.from; });
    while (inRun < all.size() && all[inRun].from == length && length * all[inRun].extent <= kMost)
      length *= all[inRun++].extent;
    outer = all.subspan(inRun);
    // A loop that would make the run too long has some of its steps at a time in it.
    if (!outer.empty() && outer.front().from == length && 2 * length <= kMost) {
      cut = outer.front();
      outer = outer.subspan(1);
    }
  }
  SourceRun(const SourceRun &) = delete;
  SourceRun &operator=(const SourceRun &) = delete;

  int64_t elements() const { return length * std::min(cut.extent, kMost / length); }

  void sum(T *target, const T *source, std::span<const Loop> summed) const {
    const int64_t piece = kMost / length;
    for (int64_t at = 0; at < cut.extent; at += piece)
      forEachStep(outer, [&](int64_t to, int64_t from) {
        sumPiece(target + to + at * cut.to, source + from + at * cut.from,
                 std::min(piece, cut.extent - at), summed);
      });
  }

private:
  void sumPiece(T *target, const T *source, int64_t steps, std::span<const Loop> summed) const {
    T sums[kMost];
    const int64_t width = length * steps;
    for (int64_t x = 0; x < width; x += kMany)
      sumPairwise<kMany>(sums + x, std::min<int64_t>(kMany, width - x), source + x, summed);
    std::array<CopyLoop, LoopNest::kMaxLoops> back;
    int64_t compact = 1;
    for (std::size_t d = 0; d < inRun; ++d) {
      back[d] = {loops[d].extent, loops[d].to, compact};
      compact *= loops[d].extent;
    }
    back[inRun] = {steps, cut.to, compact};
    copyStrided<T>(target, sums, std::span<const CopyLoop>(back.data(), inRun + 1));
  }

  std::array<Loop, LoopNest::kMaxLoops> loops;
  std::span<const Loop> outer;
  std::size_t inRun = 0;
  int64_t length = 1;
  Loop cut = {1, 0, 0};
};

/// Sums of so few terms that their number is a constant, one per step of \p inner.
template <class T, int Terms>
void sumShort(T *__restrict target, const T *__restrict source, const Loop &inner, int64_t step) {
  for (int64_t i = 0; i < inner.extent; ++i) {
    T sum = 0;
#pragma GCC unroll 16
    for (int k = 0; k < Terms; ++k)
      sum += source[i * inner.from + k * step];
    target[i * inner.to] = sum;
  }
}

/// The kernel for sums of few terms. \pre 1 <= terms <= kFew
template <class T> auto shortSums(int64_t terms) {
  return [&]<int... K>(std::integer_sequence<int, K...>) {
    using Kernel = void (*)(T *, const T *, const Loop &, int64_t);
    static constexpr Kernel kTable[] = {sumShort<T, K + 1>...};
    return kTable[terms - 1];
  }(std::make_integer_sequence<int, kFew>());
}

/// On the calling thread. \pre no extent is 0; there are summed loops
template <class T>
void sumSerial(T *target, const T *source, std::span<const Loop> kept,
               std::span<const Loop> summed) {
  if (kept.empty())
    return sumPairwise<1>(target, 1, source, summed);
  const SourceRun<T> run(kept);
  if (run.elements() >= SourceRun<T>::kLeast && kept[innermostInSource(kept)].extent < kShortRow)
    return run.sum(target, source, summed);
  // The loop of the rows goes to the front.
  std::array<Loop, LoopNest::kMaxLoops> ordered;
  std::copy(kept.begin(), kept.end(), ordered.begin());
  std::rotate(ordered.begin(), ordered.begin() + innermostInSource(kept),
              ordered.begin() + innermostInSource(kept) + 1);
  const Loop &row = ordered[0];
  const auto others = std::span<const Loop>(ordered).subspan(1, kept.size() - 1);
  if (summed.size() == 1 && summed[0].extent <= kFew && row.extent > 1) {
    const auto kernel = shortSums<T>(summed[0].extent);
    forEachStep(others, [&](int64_t to, int64_t from) {
      kernel(target + to, source + from, row, summed[0].from);
    });
  } else if (row.from == 1) {
    sumRows(target, source, row, others, summed);
  } else {
    forEachStep(kept, [&](int64_t to, int64_t from) {
      sumPairwise<1>(target + to, 1, source + from, summed);
    });
  }
}

/// Every thread sums a part of the kept elements.
template <class T> void sumByTarget(T *target, const T *source, const LoopNest &nest, int parts) {
#pragma omp parallel for schedule(static) num_threads(parts)
  for (int part = 0; part < parts; ++part) {
    std::array<Loop, LoopNest::kMaxLoops> mine;
    std::copy(nest.kept().begin(), nest.kept().end(), mine.begin());
    const auto kept = std::span<Loop>(mine).first(nest.kept().size());
    const CopyOffset begin = cutLoops(kept, parts, part);
    if (stepsOf(kept) > 0)
      sumSerial<T>(target + begin.to, source + begin.from, kept, nest.summed());
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
      sumSerial<T>(partial.data() + elements * part, source + begin.from, kept, summed);
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
    return sumSerial(target, source, nest.kept(), nest.summed());
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
