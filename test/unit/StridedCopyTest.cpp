//===- StridedCopyTest.cpp - copies and sums against their definition -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "GuardedElements.h"

#include "einsumc/StridedCopy.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <vector>

namespace einsumc {
namespace {

constexpr double kUntouched = 12345;

std::string print(const std::vector<CopyLoop> &loops) {
  std::ostringstream out;
  for (const CopyLoop &loop : loops)
    out << "{" << loop.extent << ", " << loop.to << ", " << loop.from << "} ";
  return out.str();
}

/// Calls body(to, from) for every step, in the order the loops are given.
template <class Body>
void forEach(const std::vector<CopyLoop> &loops, Body body, std::size_t depth = 0, int64_t to = 0,
             int64_t from = 0) {
  if (depth == loops.size())
    return body(static_cast<std::size_t>(to), static_cast<std::size_t>(from));
  for (int64_t i = 0; i < loops[depth].extent; ++i)
    forEach(loops, body, depth + 1, to + i * loops[depth].to, from + i * loops[depth].from);
}

/// One past the last element reached.
std::size_t sizeOf(const std::vector<CopyLoop> &loops, int64_t CopyLoop::*step) {
  int64_t last = 0;
  for (const CopyLoop &loop : loops)
    last += std::max<int64_t>(loop.extent - 1, 0) * (loop.*step);
  return static_cast<std::size_t>(last + 1);
}

/// Strides of dims stored in a random order, \p padding() elements behind each.
template <class Padding>
std::vector<int64_t> stridesWith(const std::vector<int64_t> &extents, int64_t first,
                                 std::mt19937 &random, Padding padding) {
  std::vector<std::size_t> order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<int64_t> strides(extents.size());
  int64_t stride = first;
  for (const std::size_t dim : order) {
    strides[dim] = stride;
    stride = stride * extents[dim] + padding();
  }
  return strides;
}

/// The same with some rows padded.
std::vector<int64_t> randomStrides(const std::vector<int64_t> &extents, std::mt19937 &random) {
  return stridesWith(extents, random() % 6 == 0 ? 2 : 1, random,
                     [&] { return random() % 4 == 0 ? static_cast<int64_t>(random() % 3) : 0; });
}

std::vector<int64_t> denseStrides(const std::vector<int64_t> &extents, std::mt19937 &random) {
  return stridesWith(extents, 1, random, [] { return int64_t{0}; });
}

/// Up to six loops of at most \p most steps together; some walk a diagonal of the source.
std::vector<CopyLoop> randomLoops(int64_t most, std::mt19937 &random) {
  std::vector<int64_t> extents;
  int64_t steps = 1;
  for (std::size_t dim = random() % 7; dim > 0 && steps < most; --dim) {
    const int64_t widest = random() % 3 == 0 ? 200 : random() % 2 ? 40 : 5;
    extents.push_back(1 + static_cast<int64_t>(random()) % std::min(widest, most / steps));
    steps *= extents.back();
  }
  std::vector<int64_t> sourceExtents = extents;
  const bool hasDiagonal = !extents.empty() && random() % 4 == 0;
  if (hasDiagonal)
    sourceExtents.push_back(extents.front());
  const std::vector<int64_t> to = randomStrides(extents, random);
  std::vector<int64_t> from = randomStrides(sourceExtents, random);
  if (hasDiagonal)
    from.front() += from.back();
  std::vector<CopyLoop> loops;
  for (std::size_t d = 0; d < extents.size(); ++d)
    loops.push_back({extents[d], to[d], from[d]});
  return loops;
}

/// Loops of short extents, about \p most steps together, through dense tensors or such with gaps.
std::vector<CopyLoop> shortLoops(int64_t most, std::mt19937 &random) {
  std::vector<int64_t> extents;
  const int64_t widest = 2 + static_cast<int64_t>(random() % 8);
  for (int64_t steps = 1; steps * widest <= most; steps *= extents.back())
    extents.push_back(2 + static_cast<int64_t>(random()) % (widest - 1));
  const bool isDense = random() % 4 != 0;
  const auto to = isDense ? denseStrides(extents, random) : randomStrides(extents, random);
  const auto from = isDense ? denseStrides(extents, random) : randomStrides(extents, random);
  std::vector<CopyLoop> loops;
  for (std::size_t d = 0; d < extents.size(); ++d)
    loops.push_back({extents[d], to[d], from[d]});
  return loops;
}

/// About \p most steps through a part of a tensor, as blocks of operands are packed.
std::vector<CopyLoop> partOfTensor(int64_t most, std::mt19937 &random) {
  std::vector<int64_t> extents, parts;
  const int64_t widest = 2 + static_cast<int64_t>(random() % 40);
  for (int64_t steps = 1; steps * widest <= most; steps *= parts.back()) {
    extents.push_back(2 + static_cast<int64_t>(random()) % (widest - 1));
    const auto some = 1 + static_cast<int64_t>(random()) % extents.back();
    parts.push_back(random() % 2 ? extents.back() : some);
    if (extents.size() == 12)
      break;
  }
  const auto to = random() % 4 ? denseStrides(parts, random) : randomStrides(parts, random);
  const auto from = denseStrides(extents, random);
  std::vector<CopyLoop> loops;
  for (std::size_t d = 0; d < parts.size(); ++d)
    loops.push_back({parts[d], to[d], from[d]});
  return loops;
}

/// Turns a random part of the loops into summed ones.
std::vector<CopyLoop> withSums(std::vector<CopyLoop> loops, std::mt19937 &random) {
  for (CopyLoop &loop : loops)
    if (random() % 2)
      loop.to = 0;
  return loops;
}

template <class T> class StridedCopyTest : public testing::Test {
protected:
  void TearDown() override { omp_set_num_threads(threads); }

  /// Integers so small that every sum is exact in every order.
  std::vector<T> randomSource(const std::vector<CopyLoop> &loops) {
    std::vector<T> result(sizeOf(loops, &CopyLoop::from));
    std::generate(result.begin(), result.end(),
                  [&] { return static_cast<T>(static_cast<int>(random() % 9) - 4); });
    return result;
  }

  /// \param past elements of the target's first cache line before it
  template <class Copy>
  void expectCopy(const std::vector<CopyLoop> &loops, Copy copy, std::size_t past = 0) {
    const std::vector<T> source = randomSource(loops);
    std::vector<T> target(sizeOf(loops, &CopyLoop::to) + 3 * kLine, T(kUntouched));
    const std::size_t begin = distanceToLine(target.data()) + past;
    std::vector<T> expected = target;
    forEach(loops, [&](std::size_t to, std::size_t from) { expected[begin + to] = source[from]; });
    copy(target.data() + begin, GuardedElements<T>(source).data(),
         std::span<const CopyLoop>(loops));
    EXPECT_EQ(expected, target) << print(loops) << "behind " << past;
  }

  void expectAdd(const std::vector<CopyLoop> &loops) {
    const std::vector<T> source = randomSource(loops);
    std::vector<T> target(sizeOf(loops, &CopyLoop::to));
    std::iota(target.begin(), target.end(), T(1));
    std::vector<T> expected = target;
    forEach(loops, [&](std::size_t to, std::size_t from) { expected[to] += source[from]; });
    addStrided<T>(target.data(), GuardedElements<T>(source).data(), loops);
    EXPECT_EQ(expected, target) << print(loops);
  }

  void expectSum(const std::vector<CopyLoop> &loops) {
    const std::vector<T> source = randomSource(loops);
    std::vector<T> target(sizeOf(loops, &CopyLoop::to), T(kUntouched));
    std::vector<T> expected = target;
    std::vector<CopyLoop> kept = loops;
    std::erase_if(kept, [](const CopyLoop &loop) { return loop.to == 0; });
    forEach(kept, [&](std::size_t to, std::size_t) {
      target[to] = std::numeric_limits<T>::quiet_NaN();
      expected[to] = 0;
    });
    forEach(loops, [&](std::size_t to, std::size_t from) { expected[to] += source[from]; });
    sumParallel<T>(target.data(), GuardedElements<T>(source).data(), loops);
    EXPECT_EQ(expected, target) << print(loops) << omp_get_max_threads() << " threads";
  }

  static constexpr std::size_t kLine = 64 / sizeof(T);
  static std::size_t distanceToLine(const T *data) {
    return (kLine - reinterpret_cast<std::uintptr_t>(data) / sizeof(T) % kLine) % kLine;
  }

  std::mt19937 random{20240607};
  const int threads = omp_get_max_threads();
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(StridedCopyTest, Types);

template <class T>
constexpr auto serialCopy = [](T *target, const T *source, std::span<const CopyLoop> loops) {
  copyStrided(target, source, loops);
};
template <class T>
constexpr auto parallelCopy = [](T *target, const T *source, std::span<const CopyLoop> loops) {
  copyParallel(target, source, loops);
};

template <class T>
constexpr auto pastCaches = [](T *target, const T *source, std::span<const CopyLoop> loops) {
  copyPastCaches(target, source, loops);
};

template <class T>
constexpr auto fromMemory = [](T *target, const T *source, std::span<const CopyLoop> loops) {
  copyFromMemory(target, source, loops);
};

TYPED_TEST(StridedCopyTest, CopiesAnyLoops) {
  for (int i = 0; i < 3000 && !this->HasFailure(); ++i) {
    this->expectCopy(randomLoops(3000, this->random), serialCopy<TypeParam>);
    this->expectCopy(randomLoops(3000, this->random), fromMemory<TypeParam>);
    this->expectCopy(randomLoops(3000, this->random), pastCaches<TypeParam>,
                     this->random() % this->kLine);
  }
}

/// Neighbouring rows past the caches that come from different places, alone, in runs of several
/// and in runs with gaps between.
TYPED_TEST(StridedCopyTest, RowsThatShareLines) {
  for (int64_t length = 1; length <= 150 && !this->HasFailure(); length += length < 40 ? 1 : 13)
    for (const int64_t rows : {1, 2, 7, 31})
      for (const int64_t gap : {0, 1, 16}) {
        const int64_t run = length * rows + gap;
        this->expectCopy({{length, 1, 1}, {rows, length, 6 * length}, {6, run, length}},
                         pastCaches<TypeParam>, this->random() % this->kLine);
        this->expectCopy({{length, 1, 6 * rows}, {rows, length, 1}, {6, run, rows}},
                         pastCaches<TypeParam>, this->random() % this->kLine);
      }
}

/// Runs of pieces that are neighbours in both tensors, which are joined in other runs of the
/// source, with elements behind that nobody may touch.
TYPED_TEST(StridedCopyTest, ShortRunsOfPieces) {
  for (const int64_t piece : {1, 2, 3, 4, 5, 7, 8, 9, 15, 17})
    for (const int64_t inTarget : {5, 7, 16})
      for (const int64_t inSource : {5, 11})
        for (const int64_t gap : {0, 1, 3, 16}) {
          const int64_t run = piece * inTarget, runs = (run + gap) * inSource;
          const std::vector<CopyLoop> loops = {{piece, 1, 1},
                                               {inTarget, piece, piece * inSource},
                                               {inSource, run + gap, piece},
                                               {9, runs, run * inSource + 5}};
          this->expectCopy(loops, pastCaches<TypeParam>, this->random() % this->kLine);
          this->expectCopy(loops, serialCopy<TypeParam>);
          this->expectAdd(loops);
        }
}

/// Runs in which a loop would be too long that two dims share, of which parts make runs.
TYPED_TEST(StridedCopyTest, RunsOfPartsOfLoops) {
  for (const int64_t piece : {2, 3, 5, 7})
    for (const int64_t fused : {55, 97, 128, 150, 1000})
      for (const int64_t gap : {0, 2}) {
        const std::vector<CopyLoop> loops = {
            {piece, 1, 1}, {15, piece, piece * fused + 1}, {fused, 15 * piece + gap, piece}};
        std::vector<CopyLoop> back = loops;
        for (CopyLoop &loop : back)
          std::swap(loop.to, loop.from);
        for (const auto &all : {loops, back}) {
          this->expectCopy(all, pastCaches<TypeParam>, this->random() % this->kLine);
          this->expectCopy(all, serialCopy<TypeParam>);
          this->expectAdd(all);
        }
      }
}

/// Batches of matrices, and of three dims that change places, that follow each other in both
/// tensors, in one of them or in none.
TYPED_TEST(StridedCopyTest, BatchesOfPermutedRuns) {
  for (const int64_t rows : {2, 3, 5, 8, 13, 31})
    for (const int64_t columns : {2, 3, 7, 9, 33})
      for (const int64_t few : {5, 8, 19})
        for (const int64_t inTarget : {0, 1})
          for (const int64_t inSource : {0, 3}) {
            const int64_t run = rows * columns, batch = few * (1 + 200 / run);
            const std::vector<CopyLoop> matrices = {
                {rows, 1, columns},
                {columns, rows, 1},
                {batch, run + inTarget, run + inSource},
                {6, batch * (run + inTarget), batch * (run + inSource) + 1}};
            const std::vector<CopyLoop> three = {
                {rows, 1, 3 * columns},
                {3, rows, columns},
                {columns, 3 * rows, 1},
                {6, batch * (3 * run + inTarget), 3 * run + inSource},
                {batch, 3 * run + inTarget, 6 * (3 * run + inSource)}};
            for (const auto &loops : {matrices, three}) {
              this->expectCopy(loops, serialCopy<TypeParam>);
              this->expectCopy(loops, pastCaches<TypeParam>, this->random() % this->kLine);
              this->expectCopy(loops, parallelCopy<TypeParam>);
              this->expectAdd(loops);
            }
          }
}

/// Short batches that follow each other, alone or with a longer one elsewhere; of short runs too
/// few for whole rows of several, or for any.
TYPED_TEST(StridedCopyTest, ShortBatchesOfPermutedRuns) {
  for (const int64_t rows : {2, 3, 4, 7})
    for (const int64_t columns : {2, 3, 5})
      for (const int64_t near : {2, 5, 7, 8, 9, 13, 24, 60})
        for (const int64_t far : {3, 29}) {
          const int64_t run = rows * columns, block = near * run;
          const std::vector<CopyLoop> loops = {{rows, 1, columns},
                                               {columns, rows, 1},
                                               {near, run, run},
                                               {far, block, 6 * block},
                                               {6, far * block, block}};
          this->expectCopy(loops, serialCopy<TypeParam>);
          this->expectCopy(loops, pastCaches<TypeParam>, this->random() % this->kLine);
          omp_set_num_threads(1 + static_cast<int>(this->random() % 5));
          this->expectCopy(loops, parallelCopy<TypeParam>);
          this->expectAdd(loops);
        }
  // Five threads have fewer runs that follow each other than make rows of a packet.
  omp_set_num_threads(5);
  this->expectCopy({{2, 1, 2}, {2, 2, 1}, {75, 4, 4}, {31, 300, 301}}, parallelCopy<TypeParam>);
}

TYPED_TEST(StridedCopyTest, TransposesOfEverySize) {
  for (int64_t rows = 1; rows <= 40; ++rows)
    for (int64_t columns = 1; columns <= 40; ++columns) {
      this->expectCopy({{rows, columns, 1}, {columns, 1, rows + 3}}, serialCopy<TypeParam>);
      this->expectAdd({{rows, columns + 1, 1}, {columns, 1, rows}});
    }
  this->expectCopy({{300, 517, 1}, {517, 1, 300}}, serialCopy<TypeParam>);
  this->expectAdd({{300, 517, 1}, {517, 1, 300}});
}

/// Into rows that begin at cache lines, at vectors and in between, and go on in the next or do not.
TYPED_TEST(StridedCopyTest, TransposesPastCaches) {
  for (const int64_t columns : {8, 9, 15, 16, 31, 64, 255, 1024, 1029, 2051})
    for (int64_t rows = 8; rows <= 40 && !this->HasFailure(); rows += rows < 34 ? 1 : 2)
      for (const int64_t gap : {0, 1, 8})
        this->expectCopy({{rows, columns + gap, 1}, {columns, 1, rows + 3}}, pastCaches<TypeParam>,
                         this->random() % 3 == 0 ? 0 : this->random() % this->kLine);
  this->expectCopy({{37, 90, 1}, {90, 1, 370}, {10, 3330, 37}}, pastCaches<TypeParam>, 1);
}

/// Of a few rows or columns, into rows that follow each other or do not, and between what nobody
/// may touch.
TYPED_TEST(StridedCopyTest, NarrowTransposes) {
  for (const int64_t few : {2, 3, 4, 5, 6, 7, 8})
    for (const int64_t many : {4, 7, 8, 9, 15, 16, 17, 127, 128, 131, 300})
      for (const int64_t inTarget : {0, 1, 9})
        for (const int64_t inSource : {0, 1, 9}) {
          const std::vector<CopyLoop> rows = {{few, 1, many + inSource}, {many, few + inTarget, 1}};
          const std::vector<CopyLoop> columns = {{few, many + inTarget, 1},
                                                 {many, 1, few + inSource}};
          for (const auto &loops : {rows, columns}) {
            this->expectCopy(loops, serialCopy<TypeParam>);
            this->expectCopy(loops, pastCaches<TypeParam>, this->random() % this->kLine);
            this->expectAdd(loops);
          }
        }
}

/// Of rows or columns that are the same one again and again, also along the others.
TYPED_TEST(StridedCopyTest, NarrowRepeats) {
  for (const int64_t few : {2, 3, 5, 7, 8, 9})
    for (const int64_t many : {8, 63, 64, 65, 300})
      for (const int64_t gap : {0, 3}) {
        const int64_t matrix = (few + gap) * many;
        for (const auto &loops :
             {std::vector<CopyLoop>{{few, 1, 0}, {many, few + gap, 1}, {4, matrix, 0}},
              std::vector<CopyLoop>{{few, many + gap, 1}, {many, 1, 0}, {4, matrix * 2, few}},
              std::vector<CopyLoop>{{few, 1, 0}, {many, few + gap, 0}, {4, matrix, 1}}}) {
          this->expectCopy(loops, serialCopy<TypeParam>);
          this->expectCopy(loops, pastCaches<TypeParam>, this->random() % this->kLine);
          this->expectAdd(loops);
        }
      }
}

/// Of rows that lie far apart or follow each other, whose steps do so or go elsewhere.
TYPED_TEST(StridedCopyTest, TransposesFromMemory) {
  for (const int64_t columns : {8, 13, 33, 64, 65, 130})
    for (const int64_t rows : {8, 21, 65})
      for (const int64_t gap : {0, 7, 5000}) {
        const int64_t row = columns + gap, matrix = rows * row;
        for (const bool goesOn : {true, false})
          this->expectCopy({{rows, 1, row},
                            {columns, rows + 5, 1},
                            {3, (rows + 5) * columns, goesOn ? matrix : 2 * matrix},
                            {2, 3 * (rows + 5) * columns, goesOn ? 3 * matrix : matrix}},
                           fromMemory<TypeParam>);
      }
}

/// Of rows so far apart that they compete for the same places of a cache.
TYPED_TEST(StridedCopyTest, TransposesOfCompetingRows) {
  constexpr auto kWay = static_cast<int64_t>(4096 / sizeof(TypeParam));
  for (const int64_t rows : {4, 5, 8, 9, 13, 17, 31, 45, 65})
    for (const int64_t columns : {2, 4, 5, 7, 9, 18}) {
      this->expectCopy({{rows, 1, kWay}, {columns, rows + 1, 1}}, serialCopy<TypeParam>);
      this->expectAdd({{rows, 1, kWay}, {columns, rows + 1, 1}});
    }
}

TYPED_TEST(StridedCopyTest, TransposesBeyondTheCaches) {
  this->expectCopy({{1504, 1600, 1}, {1600, 1, 1504}}, serialCopy<TypeParam>);
  this->expectCopy({{1504, 1600, 1}, {1600, 1, 1504}}, parallelCopy<TypeParam>);
  this->expectCopy({{1501, 1603, 1}, {1603, 1, 1501}}, parallelCopy<TypeParam>);
}

TYPED_TEST(StridedCopyTest, CopiesOneElementWithoutLoops) {
  this->expectCopy({}, serialCopy<TypeParam>);
  this->expectCopy({{1, 0, 0}}, serialCopy<TypeParam>);
}

TYPED_TEST(StridedCopyTest, AnExtentOfZeroCopiesNothing) {
  TypeParam target = 7;
  copyStrided<TypeParam>(&target, nullptr, {{3, 1, 1}, {0, 1, 1}});
  addStrided<TypeParam>(&target, nullptr, {{0, 1, 1}});
  copyParallel<TypeParam>(&target, nullptr, {{0, 1, 1}});
  EXPECT_EQ(target, TypeParam(7));
}

TYPED_TEST(StridedCopyTest, ManyLoopsOfExtentOne) {
  std::vector<CopyLoop> loops(100, {1, 3, 4});
  loops.push_back({5, 1, 2});
  this->expectCopy(loops, serialCopy<TypeParam>);
}

TYPED_TEST(StridedCopyTest, ManyShortLoops) {
  for (int i = 0; i < 300 && !this->HasFailure(); ++i) {
    const std::vector<CopyLoop> loops = shortLoops(1 << 14, this->random);
    this->expectCopy(loops, serialCopy<TypeParam>);
    this->expectAdd(loops);
    this->expectAdd(withSums(loops, this->random));
    omp_set_num_threads(1 + i % 5);
    this->expectCopy(loops, parallelCopy<TypeParam>);
  }
}

TYPED_TEST(StridedCopyTest, PartsOfTensors) {
  for (int i = 0; i < 150 && !this->HasFailure(); ++i) {
    const std::vector<CopyLoop> loops = partOfTensor(1 << 17, this->random);
    if (sizeOf(loops, &CopyLoop::from) > 1 << 22)
      continue;
    this->expectCopy(loops, serialCopy<TypeParam>);
    this->expectAdd(loops);
    this->expectAdd(withSums(loops, this->random));
  }
  // Steps that overlap in the source: what is left of a tile has shorter runs of more loops.
  this->expectCopy({{43, 428, 14}, {4, 1, 263}, {107, 4, 221}}, serialCopy<TypeParam>);
  this->expectCopy({{30, 1, 0}, {7, 30, 1}, {40, 210, 9}}, serialCopy<TypeParam>);
}

/// Several dims that follow each other in the target, and several others that do in the source.
TYPED_TEST(StridedCopyTest, RowsAndColumnsOfSeveralLoops) {
  for (const int64_t rows : {3, 5, 7, 13})
    for (const int64_t moreRows : {6, 9, 11})
      for (const int64_t columns : {4, 9, 15})
        for (const int64_t moreColumns : {5, 8}) {
          const int64_t column = rows * moreRows + 2, row = columns * moreColumns;
          const std::vector<CopyLoop> loops = {{rows, 1, 40 * row},
                                               {moreRows, rows, row},
                                               {columns, 5 * column, 1},
                                               {moreColumns, 80 * column, columns},
                                               {5, column, 1000 * row}};
          this->expectCopy(loops, serialCopy<TypeParam>);
          this->expectAdd(loops);
        }
}

/// Such matrices of fewer rows or columns than a cache line has elements, but no fewer than a
/// packet, and of one fewer.
TYPED_TEST(StridedCopyTest, RowsAndColumnsShorterThanLines) {
  for (const auto &[columns, moreColumns] :
       {std::pair{2, 2}, {3, 2}, {2, 4}, {3, 3}, {3, 5}, {2, 7}})
    for (const int64_t rows : {3, 4, 5, 7, 8, 9, 15, 21, 33}) {
      const int64_t row = columns * moreColumns + 3;
      const std::vector<CopyLoop> loops = {{rows, 1, row},
                                           {columns, rows, 1},
                                           {moreColumns, 1000 * rows, columns},
                                           {11, 10 * rows, 100 * row}};
      this->expectCopy(loops, serialCopy<TypeParam>);
      this->expectCopy(loops, fromMemory<TypeParam>);
      this->expectAdd(loops);
    }
}

/// Short pieces that are neighbours in both.
TYPED_TEST(StridedCopyTest, PiecesOfShortRows) {
  for (const int64_t piece : {2, 3, 7, 11, 15, 16})
    for (const int64_t rows : {5, 9, 15, 16}) {
      const std::vector<CopyLoop> loops = {{piece, 1, 1},
                                           {rows, piece, 12 * piece},
                                           {12, rows * piece, piece},
                                           {7, 13 * rows * piece, 12 * rows * piece + 1}};
      this->expectCopy(loops, serialCopy<TypeParam>);
      this->expectCopy(loops, pastCaches<TypeParam>);
      this->expectAdd(loops);
    }
}

/// Of which none lie behind the last one in the source, or less than a piece.
TYPED_TEST(StridedCopyTest, RepeatedPieces) {
  for (const int64_t piece : {2, 3, 5, 9, 13}) {
    const int64_t row = 5 * piece + 1;
    for (const int64_t apart : {int64_t{0}, piece - 1, 2 * piece}) {
      const std::vector<CopyLoop> loops = {
          {piece, 1, 1}, {5, piece, apart}, {4, row, 0}, {40, 4 * row, piece}};
      this->expectCopy(loops, serialCopy<TypeParam>);
      this->expectCopy(loops, fromMemory<TypeParam>);
      this->expectAdd(loops);
    }
  }
}

/// In so many short loops that no list has all of them, some of which stay on one element of the
/// target, and by tiles.
TYPED_TEST(StridedCopyTest, PiecesInShortLoops) {
  for (const int64_t piece : {2, 3, 5, 9, 13})
    for (const int64_t short1 : {3, 7, 15})
      for (const int64_t gap : {0, 3}) {
        const int64_t row = piece + gap, rows = short1 * piece, block = 4 * (rows + gap);
        const std::vector<CopyLoop> loops = {{piece, 1, 1},
                                             {short1, piece, 5 * 4 * 7 * row},
                                             {4, rows + gap, row},
                                             {5, block, 4 * row},
                                             {7, 5 * block, 5 * 4 * row},
                                             {3, 7 * 5 * block, short1 * 5 * 4 * 7 * row + 1}};
        this->expectCopy(loops, serialCopy<TypeParam>);
        this->expectCopy(loops, fromMemory<TypeParam>);
        this->expectAdd(loops);
        std::vector<CopyLoop> sums = loops;
        sums[2].to = 0;
        this->expectAdd(sums);
      }
}

TYPED_TEST(StridedCopyTest, ShortLoopsBeyondTheCaches) {
  std::vector<CopyLoop> reversed;
  for (int bit = 0; bit < 22; ++bit)
    reversed.push_back({2, int64_t{1} << bit, int64_t{1} << (21 - bit)});
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    this->expectCopy(reversed, parallelCopy<TypeParam>);
    this->expectCopy(shortLoops(1 << 22, this->random), parallelCopy<TypeParam>);
  }
}

/// Runs of several loops, none of them long, that only blocks of all of them go through.
TYPED_TEST(StridedCopyTest, BlocksOfRunsBeyondTheCaches) {
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    this->expectCopy(
        {{17, 39, 1}, {3, 16575, 17}, {25, 663, 51}, {43, 49725, 1275}, {39, 1, 54825}},
        parallelCopy<TypeParam>);
    // Runs of parts of lines.
    this->expectCopy({{5, 1, 1001385},
                      {7, 5, 187},
                      {3, 35, 333795},
                      {17, 105, 1309},
                      {11, 1785, 17},
                      {15, 19635, 22253},
                      {17, 294525, 1}},
                     parallelCopy<TypeParam>);
    this->expectCopy({{5, 1, 1}, {57, 37335, 5}, {57, 5, 285}, {131, 285, 16245}},
                     parallelCopy<TypeParam>);
    this->expectCopy({{5, 1, 1}, {57, 37336, 5}, {57, 5, 288}, {131, 285, 16420}},
                     parallelCopy<TypeParam>);
  }
}

TYPED_TEST(StridedCopyTest, BroadcastsASource) {
  this->expectCopy({{30, 40, 0}, {40, 1, 1}}, serialCopy<TypeParam>);
  this->expectCopy({{30, 1, 0}, {40, 30, 1}}, serialCopy<TypeParam>);
  for (const int64_t piece : {3, 5, 6, 7})
    this->expectCopy({{piece, 1, 1}, {9, piece, 0}}, serialCopy<TypeParam>);
}

TYPED_TEST(StridedCopyTest, AddsAnyLoops) {
  for (int i = 0; i < 3000 && !this->HasFailure(); ++i)
    this->expectAdd(randomLoops(3000, this->random));
}

TYPED_TEST(StridedCopyTest, AddsSumsOfAnyLoops) {
  for (int i = 0; i < 2000 && !this->HasFailure(); ++i)
    this->expectAdd(withSums(randomLoops(3000, this->random), this->random));
}

TYPED_TEST(StridedCopyTest, CopiesInParallel) {
  for (const int threads : {1, 2, 3, 5, 8}) {
    omp_set_num_threads(threads);
    for (int i = 0; i < 30 && !this->HasFailure(); ++i)
      this->expectCopy(randomLoops(100000, this->random), parallelCopy<TypeParam>);
    this->expectCopy({{3, 1, 10000}, {10000, 3, 1}}, parallelCopy<TypeParam>);
    this->expectCopy({{2, 20000, 1}, {3, 1, 2}, {5000, 3, 6}}, parallelCopy<TypeParam>);
    this->expectCopy({{30011, 1, 1}}, parallelCopy<TypeParam>);
  }
}

TYPED_TEST(StridedCopyTest, SumsAnyLoops) {
  for (const int threads : {1, 2, 3, 5, 8}) {
    omp_set_num_threads(threads);
    for (int i = 0; i < 200 && !this->HasFailure(); ++i) {
      const int64_t most = this->random() % 8 == 0 ? 100000 : 3000;
      this->expectSum(withSums(randomLoops(most, this->random), this->random));
    }
  }
}

TYPED_TEST(StridedCopyTest, SumsOfEveryKind) {
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    this->expectSum({{100003, 0, 1}});                                          // to a scalar
    this->expectSum({{100003, 0, 3}});                                          // with a step
    this->expectSum({{300, 1, 307}, {307, 0, 1}});                              // of rows
    this->expectSum({{30, 1, 9001}, {9001, 0, 1}});                             // of long ones
    this->expectSum({{3, 20, 63021}, {20, 1, 3001}, {7, 0, 450}, {450, 0, 1}}); // in parts
    this->expectSum({{300, 0, 307}, {307, 1, 1}});                              // of columns
    this->expectSum({{3000, 0, 17}, {17, 1, 1}});                               // of narrow columns
    this->expectSum({{3000, 1, 5}, {5, 0, 1}});                                 // of short rows
    this->expectSum({{1500, 1, 1}, {3, 1501, 1502}, {7, 0, 4600}}); // of long ones far apart
    this->expectSum({{3, 1, 0}, {4, 3, 0}, {70, 0, 1}});            // repeated
    this->expectSum({{30, 0, 2500}, {50, 2, 50}, {50, 0, 1}});      // of inner and outer dims
    this->expectSum({{2500, 2, 1}, {30, 0, 2500}});                 // into a target with gaps
    this->expectSum({{200, 1, 201}, {60, 0, 200 * 200}});           // of diagonals
    this->expectSum({{200, 300, 1}, {300, 1, 200}});                // of nothing: a transpose
    // Short loops that are neighbours in the source alone, the last of them longer than a run, and
    // with a loop in between that is not.
    this->expectSum({{3, 700, 1}, {5, 140, 3}, {7, 20, 15}, {20, 1, 105}, {6, 0, 2100}});
    this->expectSum({{5, 1500, 1}, {1500, 1, 5}, {7, 0, 7500}});
    this->expectSum({{9, 600, 1}, {4, 0, 9}, {40, 15, 36}, {15, 1, 1440}});
  }
}

/// Sums of rows up to a vector and a little more, of few and many terms, whose results follow each
/// other or do not; the last row ends next to a page that nobody may read.
TYPED_TEST(StridedCopyTest, SumsOfNarrowRows) {
  for (int64_t width = 1; width <= 18; ++width)
    for (const int64_t terms : {1, 2, 3, 5, 15, 16, 17, 70, 150})
      for (const int64_t gap : {0, 2}) {
        const int64_t matrix = width * terms + gap;
        this->expectSum({{width, 1, 1}, {terms, 0, width}, {41, width, matrix}});
        this->expectSum({{width, 41, 1}, {terms, 0, width}, {41, 1, matrix}});
        this->expectSum({{width, 1, 1}, {terms, 0, width}, {4, 0, matrix}, {9, width, 4 * matrix}});
      }
}

TYPED_TEST(StridedCopyTest, SumsOfNothingAreZero) {
  std::vector<TypeParam> target(12, TypeParam(7));
  sumParallel<TypeParam>(target.data(), nullptr, {{3, 4, 1}, {0, 0, 1}, {3, 1, 1}});
  EXPECT_EQ(target, (std::vector<TypeParam>{0, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0, 7}));
  sumParallel<TypeParam>(target.data(), nullptr, {{0, 1, 1}, {5, 0, 1}});
  EXPECT_EQ(target[3], TypeParam(7));
}

TYPED_TEST(StridedCopyTest, LongSumsKeepTheirAccuracy) {
  // Added up one after the other, 2^24 times 0.1 in float is off by percents.
  const int64_t terms = std::is_same_v<TypeParam, float> ? 1 << 24 : 1 << 22;
  const std::vector<TypeParam> source(static_cast<std::size_t>(terms), TypeParam(0.1));
  const double bound = 40 * std::numeric_limits<TypeParam>::epsilon();
  const std::vector<std::vector<CopyLoop>> cases = {{{terms, 0, 1}},
                                                    {{terms / 4, 0, 4}, {4, 0, 1}},
                                                    {{terms, 0, 0}, {4, 1, 1}},
                                                    {{terms, 0, 0}, {40, 1, 1}},
                                                    {{terms, 0, 0}, {400, 1, 1}},
                                                    {{terms / 400, 0, 400}, {400, 0, 1}, {3, 1, 0}},
                                                    {{terms / 37, 0, 37}, {37, 1, 1}}};
  for (const auto &loops : cases) {
    std::vector<TypeParam> target(400);
    int64_t terms = 1;
    for (const CopyLoop &loop : loops)
      terms *= loop.to == 0 ? loop.extent : 1;
    const auto exact = static_cast<double>(TypeParam(0.1)) * static_cast<double>(terms);
    sumParallel<TypeParam>(target.data(), source.data(), loops);
    EXPECT_NEAR(target[0] / exact, 1, bound) << print(loops);
  }
}

TYPED_TEST(StridedCopyTest, SumsAreTheSameEveryTime) {
  std::vector<TypeParam> source(1 << 20);
  std::uniform_real_distribution<TypeParam> uniform(-1, 1);
  std::generate(source.begin(), source.end(), [&] { return uniform(this->random); });
  omp_set_num_threads(4);
  TypeParam first = 0, again = 0;
  sumParallel<TypeParam>(&first, source.data(), {{1 << 20, 0, 1}});
  for (int i = 0; i < 20; ++i) {
    sumParallel<TypeParam>(&again, source.data(), {{1 << 20, 0, 1}});
    EXPECT_EQ(first, again);
  }
}

} // namespace
} // namespace einsumc
