//===- WholeLinesTest.cpp - products that leave the registers by whole lines of C -------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/WholeLines.h"

#include "GuardedElements.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <vector>

namespace {

using namespace einsumc;

/// Columns of `together` at a time that follow each other in C, with a gap behind; and runs of rows
/// far behind all of these, \p first elements behind the begin of a line.
struct Case {
  int64_t rows, columns, together, gap, k;
  int64_t runs = 1, first = 0;

  friend std::ostream &operator<<(std::ostream &out, const Case &c) {
    return out << "rows " << c.rows << ", columns " << c.columns << ", together " << c.together
               << ", gap " << c.gap << ", k " << c.k << ", runs " << c.runs << ", first "
               << c.first;
  }
};

template <class T> T elementA(int64_t row, int64_t k) {
  return static_cast<T>((row * 3 + k * 7) % 11 - 5);
}
template <class T> T elementB(int64_t k, int64_t column) {
  return static_cast<T>((k * 2 + column * 9) % 13 - 6);
}

/// Computes a product between elements of C that must not be written. A and B end at pages that
/// nobody may read, or begin behind them.
template <class T> void check(const Case &c, Guard guard) {
  constexpr T kUntouched = 12345;
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t aK = c.rows * c.runs, bN = c.k + 1;
  std::vector<T> a(static_cast<std::size_t>(aK * c.k));
  std::vector<T> b(static_cast<std::size_t>(bN * (c.columns - 1) + c.k), kUntouched);
  for (int64_t k = 0; k < c.k; ++k)
    for (int64_t row = 0; row < aK; ++row)
      a[static_cast<std::size_t>(k * aK + row)] = elementA<T>(row, k);
  for (int64_t j = 0; j < c.columns; ++j)
    for (int64_t k = 0; k < c.k; ++k)
      b[static_cast<std::size_t>(j * bN + k)] = elementB<T>(k, j);

  const int64_t parts = (c.columns + c.together - 1) / c.together;
  const int64_t apart = parts * (c.rows * c.together + c.gap) + 3; // Between runs.
  std::vector<int64_t> begins;
  for (int64_t j = 0; j < c.columns; ++j)
    begins.push_back(j * c.rows + j / c.together * c.gap);
  std::vector<RowsInLines> runs;
  for (int64_t run = 0; run < c.runs; ++run)
    runs.push_back({run * c.rows, run * apart});
  const auto elements = static_cast<std::size_t>(c.runs * apart + 3 * kLine);
  std::vector<T> memory(elements, kUntouched);
  const auto past = static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
  const int64_t first = (64 - past) / static_cast<int64_t>(sizeof(T)) + c.first;

  const GuardedElements<T> guardedA(a, guard), guardedB(b, guard);
  ProductInLines<T> work;
  work.rows = c.rows;
  work.k = c.k;
  work.a = guardedA.data();
  work.aK = aK;
  work.b = guardedB.data();
  work.bN = bN;
  work.c = memory.data() + first;
  work.runs = runs;
  multiplyInLines(work, ColumnsInLines(begins, c.rows, simd::kLanes<T>, kColumnsInLines<T>));
  simd::endStoresPastCaches();

  std::vector<T> expected(elements, kUntouched);
  for (int64_t run = 0; run < c.runs; ++run)
    for (int64_t j = 0; j < c.columns; ++j)
      for (int64_t row = 0; row < c.rows; ++row) {
        T sum = 0;
        for (int64_t k = 0; k < c.k; ++k)
          sum += elementA<T>(run * c.rows + row, k) * elementB<T>(k, j);
        const int64_t at = first + run * apart + begins[static_cast<std::size_t>(j)] + row;
        expected[static_cast<std::size_t>(at)] = sum;
      }
  ASSERT_EQ(memory, expected) << c;
}

template <class T> void checkBoth(const Case &c) {
  for (const Guard guard : {Guard::Before, Guard::Behind})
    check<T>(c, guard);
}

template <class T> class WholeLinesTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(WholeLinesTest, Types);

TYPED_TEST(WholeLinesTest, RowsOfAnyLength) {
  constexpr int64_t kLanes = simd::kLanes<TypeParam>;
  for (int64_t rows = kLanes; rows <= 8 * kLanes + 1; ++rows)
    for (const int64_t first : {int64_t{0}, int64_t{1}, kLanes - 1})
      checkBoth<TypeParam>({rows, 3 * kLanes + 2, 3 * kLanes + 2, 0, 5, 1, first});
}

TYPED_TEST(WholeLinesTest, ColumnsOfAnyNumber) {
  constexpr int64_t kLanes = simd::kLanes<TypeParam>, kMany = kLanes * kColumnsInLines<TypeParam>;
  for (int64_t columns = 1; columns <= 2 * kMany + 3; columns += columns < 20 ? 1 : 7)
    for (const int64_t rows : {kLanes + 1, 3 * kLanes, 4 * kLanes + kLanes / 2})
      checkBoth<TypeParam>({rows, columns, columns, 0, 9});
}

TYPED_TEST(WholeLinesTest, GapsBetweenColumns) {
  constexpr int64_t kLanes = simd::kLanes<TypeParam>;
  for (int64_t together = 1; together <= 20; ++together)
    for (const int64_t gap : {int64_t{1}, kLanes, 3 * kLanes + 5})
      checkBoth<TypeParam>({3 * kLanes + 3, 90, together, gap, 4});
}

TYPED_TEST(WholeLinesTest, RunsThatBeginAnywhere) {
  constexpr int64_t kLanes = simd::kLanes<TypeParam>;
  for (int64_t runs = 2; runs <= 5; ++runs)
    for (int64_t first = 0; first < kLanes; ++first)
      checkBoth<TypeParam>({2 * kLanes + 7, 40, 20, 5, 6, runs, first});
}

TYPED_TEST(WholeLinesTest, SumsOfAnyLength) {
  constexpr int64_t kLanes = simd::kLanes<TypeParam>;
  for (const int64_t k : {1, 2, 3, 4, 7, 8, 9, 15, 17, 63, 128, 255, 256})
    checkBoth<TypeParam>({3 * kLanes + 3, 50, 50, 0, k});
  static_assert(tiles::kMostSumsInLines == 256);
}

} // namespace
