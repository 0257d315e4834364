//===- StridedCopyTest.cpp - copies against their definition ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "GuardedElements.h"
#include "StridedLoops.h"

#include "einsumc/StridedCopy.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace einsumc {
namespace {

template <class T> class StridedCopyTest : public StridedLoopsTest<T> {
protected:
  /// \param past elements of the target's first cache line before it
  template <class Copy>
  void expectCopy(const std::vector<CopyLoop> &loops, Copy copy, std::size_t past = 0) {
    const std::vector<T> source = this->randomSource(loops);
    std::vector<T> target(sizeOf(loops, &CopyLoop::to) + 3 * kLine, T(kUntouched));
    const std::size_t begin = distanceToLine(target.data()) + past;
    std::vector<T> expected = target;
    forEach(loops, [&](std::size_t to, std::size_t from) { expected[begin + to] = source[from]; });
    copy(target.data() + begin, GuardedElements<T>(source).data(),
         std::span<const CopyLoop>(loops));
    EXPECT_EQ(expected, target) << print(loops) << "behind " << past;
  }

  void expectAdd(const std::vector<CopyLoop> &loops) {
    const std::vector<T> source = this->randomSource(loops);
    std::vector<T> target(sizeOf(loops, &CopyLoop::to));
    std::iota(target.begin(), target.end(), T(1));
    std::vector<T> expected = target;
    forEach(loops, [&](std::size_t to, std::size_t from) { expected[to] += source[from]; });
    addStrided<T>(target.data(), GuardedElements<T>(source).data(), loops);
    EXPECT_EQ(expected, target) << print(loops);
  }

  static constexpr std::size_t kLine = 64 / sizeof(T);
  static std::size_t distanceToLine(const T *data) {
    return (kLine - reinterpret_cast<std::uintptr_t>(data) / sizeof(T) % kLine) % kLine;
  }
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

} // namespace
} // namespace einsumc
