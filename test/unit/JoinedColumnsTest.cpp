//===- JoinedColumnsTest.cpp - products whose columns follow each other in C ------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/JoinedColumns.h"

#include "GuardedElements.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace {

using namespace einsumc;

struct Extents {
  int64_t rows, columns, m, n, k;
};

template <class T> bool mayJoin(int64_t rows) {
  return tiles::mayJoinColumns(rows, simd::kLanes<T>, sizeof(T));
}

template <class T> T elementA(int64_t row, int64_t m, int64_t k) {
  return static_cast<T>((row * 3 + m * 5 + k * 7) % 11 - 5);
}
template <class T> T elementB(int64_t k, int64_t column, int64_t n) {
  return static_cast<T>((k * 2 + column * 9 + n * 4) % 13 - 6);
}

/// Computes a product between elements of C that must not be written, and checks it if it was
/// computed. A and B end at pages that nobody may read, or begin behind them.
template <class T> bool compute(const Extents &extents, Guard guard) {
  const auto &[rows, columns, m, n, k] = extents;
  constexpr T kUntouched = 12345;
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t aK = rows * m, bN = k + 1;
  std::vector<T> a(static_cast<std::size_t>(aK * k));
  std::vector<T> b(static_cast<std::size_t>(bN * (columns * n - 1) + k), kUntouched);
  for (int64_t i = 0; i < k; ++i)
    for (int64_t run = 0; run < m; ++run)
      for (int64_t row = 0; row < rows; ++row)
        a[static_cast<std::size_t>(i * aK + run * rows + row)] = elementA<T>(row, run, i);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t i = 0; i < k; ++i)
        b[static_cast<std::size_t>((j * columns + column) * bN + i)] = elementB<T>(i, column, j);

  // Runs of C in the order of n, then m, each with a line behind it.
  const int64_t run = rows * columns, step = run + kLine;
  const auto elements = static_cast<std::size_t>(m * n * step + 2 * kLine);
  std::vector<T> memory(elements, kUntouched);
  const auto past = static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
  const int64_t first = (64 - past) / static_cast<int64_t>(sizeof(T));
  std::vector<int64_t> toN;
  for (int64_t j = 0; j < n; ++j)
    toN.push_back(j * step);

  const GuardedElements<T> guardedA(a, guard), guardedB(b, guard);
  JoinedColumns<T> work;
  work.rows = rows;
  work.columns = columns;
  work.k = k;
  work.a = guardedA.data();
  work.aK = aK;
  work.b = guardedB.data();
  work.bN = bN;
  work.c = memory.data() + first;
  for (int64_t i = 0; i < m; ++i)
    work.m[work.mCount++] = i * n * step;
  work.n = toN;
  if (!multiplyJoinedColumns(work))
    return false;
  simd::endStoresPastCaches();

  std::vector<T> expected(elements, kUntouched);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t column = 0; column < columns; ++column)
        for (int64_t row = 0; row < rows; ++row) {
          T sum = 0;
          for (int64_t l = 0; l < k; ++l)
            sum += elementA<T>(row, i, l) * elementB<T>(l, column, j);
          const int64_t at = first + (i * n + j) * step + column * rows + row;
          expected[static_cast<std::size_t>(at)] = sum;
        }
  EXPECT_EQ(memory, expected);
  return true;
}

template <class T> class JoinedColumnsTest : public testing::Test {
protected:
  void SetUp() override {
    if (!mayJoin<T>(simd::kLanes<T> + 1))
      GTEST_SKIP() << "too few registers";
  }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(JoinedColumnsTest, Types);

TYPED_TEST(JoinedColumnsTest, AnyRowsAndColumns) {
  constexpr int64_t kLanes = simd::kLanes<TypeParam>;
  for (int64_t rows = kLanes + 1; rows < 2 * kLanes + 4; ++rows)
    for (int64_t columns = 1; columns <= 3 * kLanes; ++columns) {
      const bool isWhole = rows * columns % kLanes == 0;
      for (const Guard guard : {Guard::Before, Guard::Behind})
        ASSERT_EQ(compute<TypeParam>({rows, columns, 3, 5, 7}, guard), isWhole)
            << rows << ' ' << columns;
    }
}

TYPED_TEST(JoinedColumnsTest, BlocksOfAnySize) {
  constexpr int64_t kLanes = simd::kLanes<TypeParam>, kColumns = 4;
  for (int64_t m = 3; m <= 5; ++m)
    for (int64_t n = 3; n <= 20; ++n)
      for (const int64_t k : {1, 2, 32})
        ASSERT_TRUE(compute<TypeParam>({kLanes + kLanes / 4, kColumns, m, n, k}, Guard::Before))
            << m << ' ' << n << ' ' << k;
}

/// Where vectors would be put together too often, or A would not stay in the nearest cache.
TYPED_TEST(JoinedColumnsTest, NotWithFewUsesOrLongSums) {
  constexpr int64_t kLanes = simd::kLanes<TypeParam>;
  EXPECT_FALSE(compute<TypeParam>({kLanes + kLanes / 2, 4, 2, 5, 7}, Guard::Behind));
  EXPECT_FALSE(compute<TypeParam>({kLanes + kLanes / 2, 4, 3, 2, 7}, Guard::Behind));
  EXPECT_TRUE(compute<TypeParam>({kLanes + kLanes / 2, 4, 3, 5, 64}, Guard::Behind));
  EXPECT_FALSE(compute<TypeParam>({kLanes + kLanes / 2, 4, 3, 5, 65}, Guard::Behind));
}

TYPED_TEST(JoinedColumnsTest, NotWithWholeVectorsOrShortRows) {
  constexpr int64_t kLanes = simd::kLanes<TypeParam>;
  EXPECT_FALSE(mayJoin<TypeParam>(2 * kLanes));
  EXPECT_FALSE(mayJoin<TypeParam>(kLanes - 1));
  EXPECT_TRUE(mayJoin<TypeParam>(2 * kLanes + 1));
}

} // namespace
