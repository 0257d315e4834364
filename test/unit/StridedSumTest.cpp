//===- StridedSumTest.cpp - sums over dims against their definition ---------------------------===//
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
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace einsumc {
namespace {

template <class T> class StridedSumTest : public StridedLoopsTest<T> {
protected:
  void expectSum(const std::vector<CopyLoop> &loops) {
    const std::vector<T> source = this->randomSource(loops);
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
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(StridedSumTest, Types);

TYPED_TEST(StridedSumTest, SumsAnyLoops) {
  for (const int threads : {1, 2, 3, 5, 8}) {
    omp_set_num_threads(threads);
    for (int i = 0; i < 200 && !this->HasFailure(); ++i) {
      const int64_t most = this->random() % 8 == 0 ? 100000 : 3000;
      this->expectSum(withSums(randomLoops(most, this->random), this->random));
    }
  }
}

TYPED_TEST(StridedSumTest, SumsOfEveryKind) {
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
TYPED_TEST(StridedSumTest, SumsOfNarrowRows) {
  for (int64_t width = 1; width <= 18; ++width)
    for (const int64_t terms : {1, 2, 3, 5, 15, 16, 17, 70, 150})
      for (const int64_t gap : {0, 2}) {
        const int64_t matrix = width * terms + gap;
        this->expectSum({{width, 1, 1}, {terms, 0, width}, {41, width, matrix}});
        this->expectSum({{width, 41, 1}, {terms, 0, width}, {41, 1, matrix}});
        this->expectSum({{width, 1, 1}, {terms, 0, width}, {4, 0, matrix}, {9, width, 4 * matrix}});
      }
}

TYPED_TEST(StridedSumTest, SumsOfNothingAreZero) {
  std::vector<TypeParam> target(12, TypeParam(7));
  sumParallel<TypeParam>(target.data(), nullptr, {{3, 4, 1}, {0, 0, 1}, {3, 1, 1}});
  EXPECT_EQ(target, (std::vector<TypeParam>{0, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0, 7}));
  sumParallel<TypeParam>(target.data(), nullptr, {{0, 1, 1}, {5, 0, 1}});
  EXPECT_EQ(target[3], TypeParam(7));
}

TYPED_TEST(StridedSumTest, LongSumsKeepTheirAccuracy) {
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

TYPED_TEST(StridedSumTest, SumsAreTheSameEveryTime) {
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
