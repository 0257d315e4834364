//===- FetchingKernelTest.cpp - products with an operand that comes from memory ---------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "GuardedElements.h"

#include "einsumc/FetchingKernel.h"

#include "einsumc/BlockTiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace einsumc;

/// How C is written.
struct Writing {
  bool throughScratch = false, pastCaches = false, accumulate = false;
  int64_t blocks = 1; ///< in a call, along each dim of m
};

/// C[m0,m1,m2,n0,n1] += sum over k0, k1 of A[m0,m1,m2,k0,k1] * B[k0,k1,n0,n1], block by block along
/// m, with dims stored in any order but that A is contiguous along m0.
template <class T> class FetchingProduct {
public:
  enum Index { M0, M1, M2, N0, N1, K0, K1, kIndices };
  using Sizes = std::array<int64_t, kIndices>;
  using Order = std::vector<int>;

  /// \param orderA, orderB, orderC the dims of each tensor from the fastest to the slowest
  /// \param gap elements after each row of a dim, which must be neither read nor written
  FetchingProduct(const Sizes &extents, std::array<int64_t, 3> counts, const Order &orderA,
                  const Order &orderB, const Order &orderC, int64_t gap = 0)
      : extents(extents), counts(counts) {
    for (std::size_t d = 0; d < counts.size(); ++d)
      this->counts[d] = std::min(counts[d], extents[d]);
    a.resize(place(orderA, gap, inA), kNever);
    b.resize(place(orderB, gap, inB), kNever);
    // The first element begins a cache line, so that some tiles are aligned.
    constexpr std::size_t kLine = 64;
    c.resize(place(orderC, gap, inC) + kLine / sizeof(T), kNever);
    firstOfC = kLine / sizeof(T) - reinterpret_cast<std::uintptr_t>(c.data()) % kLine / sizeof(T);
    forEach(extents, [&](const Sizes &at) {
      a[offset(at, inA)] = elementA(at);
      b[offset(at, inB)] = elementB(at);
    });
  }

  void runAndCheck(const Writing &writing) {
    const auto dim = [&](int index) {
      const auto d = static_cast<std::size_t>(index);
      return BlockDim{d < counts.size() ? counts[d] : extents[d], extents[d], inA[d], inB[d],
                      inC[d]};
    };
    const int64_t rows = counts[0] * counts[1] * counts[2], columns = extents[N0] * extents[N1];
    const int64_t k = extents[K0] * extents[K1];
    const FetchingFormat format{.scratchColumn = writing.throughScratch ? rows + 3 : 0,
                                .pastCaches = writing.pastCaches};
    // From the fastest in A to the slowest: the others of m in both orders.
    const bool isFirst = inA[M1] <= inA[M2];
    const FetchingKernel<T> kernel({dim(M0), dim(isFirst ? M1 : M2), dim(isFirst ? M2 : M1)},
                                   {dim(N0), dim(N1)}, {dim(K0), dim(K1)}, format);
    constexpr T kUnset = std::numeric_limits<T>::quiet_NaN();
    std::vector<T> packed(static_cast<std::size_t>(tiles::fetchingPanels(columns, k)), kUnset);
    kernel.packB(packed.data(), b.data());
    std::vector<T> scratch(static_cast<std::size_t>(format.scratchColumn * columns), kUnset);

    std::vector<T> expected = c;
    forEach(extents, [&](const Sizes &at) {
      T &sum = expected[firstOfC + offset(at, inC)];
      if (sum == kNever)
        sum = writing.accumulate ? 100 : 0;
      sum += elementA(at) * elementB(at);
    });
    if (writing.accumulate)
      forEach(extents, [&](const Sizes &at) { c[firstOfC + offset(at, inC)] = 100; });
    const std::vector<T> before = c;
    for (const Guard guard : {Guard::Before, Guard::Behind}) {
      c = before;
      const GuardedElements<T> guardedA(a, guard), guardedB(packed, guard);
      runParts(kernel, guardedA.data(), guardedB.data(), scratch.data(), writing, isFirst);
      ASSERT_EQ(c, expected);
    }
  }

private:
  void runParts(const FetchingKernel<T> &kernel, const T *guardedA, const T *packed, T *scratch,
                const Writing &writing, bool isFirst) {
    Sizes part = {};
    const auto step = [&](int d) { return counts[static_cast<std::size_t>(d)] * writing.blocks; };
    for (part[M2] = 0; part[M2] < extents[M2]; part[M2] += step(M2))
      for (part[M1] = 0; part[M1] < extents[M1]; part[M1] += step(M1))
        for (part[M0] = 0; part[M0] < extents[M0]; part[M0] += step(M0)) {
          const auto left = [&](int d) {
            return std::min(step(d), extents[static_cast<std::size_t>(d)] -
                                         part[static_cast<std::size_t>(d)]);
          };
          kernel(guardedA + offset(part, inA), packed, c.data() + firstOfC + offset(part, inC),
                 scratch, {left(M0), left(isFirst ? M1 : M2), left(isFirst ? M2 : M1)},
                 writing.accumulate);
        }
  }

  static constexpr T kNever = std::numeric_limits<T>::max();

  static T elementA(const Sizes &i) {
    return static_cast<T>((i[M0] * 3 + i[M1] * 5 + i[M2] * 2 + i[K0] * 7 + i[K1]) % 11 - 5);
  }
  static T elementB(const Sizes &i) {
    return static_cast<T>((i[K0] * 2 + i[K1] * 9 + i[N0] * 4 + i[N1] * 3) % 13 - 6);
  }
  static std::size_t offset(const Sizes &at, const Sizes &steps) {
    int64_t result = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      result += at[d] * steps[d];
    return static_cast<std::size_t>(result);
  }
  /// Sets the steps of a tensor's dims and returns the elements that it has room for.
  std::size_t place(const Order &order, int64_t gap, Sizes &steps) const {
    int64_t step = 1;
    for (const int index : order) {
      steps[static_cast<std::size_t>(index)] = step;
      step *= extents[static_cast<std::size_t>(index)] + gap;
    }
    return static_cast<std::size_t>(step);
  }
  template <class Body> static void forEach(const Sizes &ends, Body &&body) {
    Sizes at = {};
    for (std::size_t d = 0; d < at.size();) {
      body(at);
      for (d = 0; d < at.size(); at[d++] = 0)
        if (++at[d] < ends[d])
          break;
    }
  }

  Sizes extents;
  std::array<int64_t, 3> counts;
  Sizes inA = {}, inB = {}, inC = {};
  std::vector<T> a, b, c;
  std::size_t firstOfC = 0;
};

template <class T> class FetchingKernelTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FetchingKernelTest, Types);

constexpr int M0 = 0, M1 = 1, M2 = 2, N0 = 3, N1 = 4, K0 = 5, K1 = 6;

/// Every way to write C, where it is contiguous along m0 as A is.
template <class T> void runAllWritings(const auto &make) {
  for (const bool throughScratch : {false, true})
    for (const bool pastCaches : {false, true})
      for (const bool accumulate : {false, true})
        for (const int64_t blocks : {1, 2}) {
          SCOPED_TRACE(testing::Message()
                       << "through scratch " << throughScratch << ", past caches " << pastCaches
                       << ", accumulate " << accumulate << ", blocks " << blocks);
          FetchingProduct<T> product = make();
          product.runAndCheck({throughScratch, pastCaches, accumulate, blocks});
          if (testing::Test::HasFatalFailure())
            return;
        }
}

/// Rows shorter and longer than tiles, of whole vectors and with a rest.
TYPED_TEST(FetchingKernelTest, RowsOfAnyLength) {
  for (const int64_t rows : {1, 2, 7, 8, 15, 16, 17, 33, 48, 84, 95, 96, 97, 200})
    runAllWritings<TypeParam>([&] {
      return FetchingProduct<TypeParam>({rows, 3, 1, 5, 1, 9, 1}, {96, 2, 1}, {M0, K0, M1, M2, K1},
                                        {K0, N0, K1, N1}, {M0, N0, M1, M2, N1});
    });
}

/// Rows that fill their vectors so badly that tiles in scratch go on from one to the next: of one
/// vector and more, with blocks at whose end all of a tile, or few of its rows, are left; a tile
/// per block, some, and sums in several parts.
TYPED_TEST(FetchingKernelTest, RowsThatAreJoined) {
  for (const int64_t rows : {9, 16, 17, 20, 33, 35, 70, 84, 100})
    for (const int64_t inBlock : {2, 5})
      for (const int64_t k : {3, 150})
        for (const bool accumulate : {false, true}) {
          SCOPED_TRACE(testing::Message() << rows << " rows, " << inBlock << " in a block, " << k
                                          << " sums, accumulate " << accumulate);
          FetchingProduct<TypeParam> product({rows, inBlock, 7, 13, 1, k, 2}, {rows, inBlock, 3},
                                             {M0, K0, M1, K1, M2}, {K0, N0, K1, N1},
                                             {M0, N0, M1, M2, N1});
          product.runAndCheck({.throughScratch = true, .accumulate = accumulate, .blocks = 2});
          if (this->HasFatalFailure())
            return;
        }
}

/// All numbers of columns of blocks in registers, and panels with a rest: of a tile that has not
/// been fetched, and of one that has.
TYPED_TEST(FetchingKernelTest, ColumnsOfAnyNumber) {
  for (const int64_t rows : {65, 79}) // With a row or almost a vector behind whole vectors.
    for (int64_t columns = 1; columns <= 50; ++columns)
      runAllWritings<TypeParam>([&] {
        return FetchingProduct<TypeParam>({rows, 2, 1, columns, 1, 5, 1}, {rows, 2, 1},
                                          {M0, K0, M1, M2, K1}, {N0, K0, K1, N1},
                                          {M0, N0, M1, M2, N1});
      });
}

/// More columns than are written past the caches.
TYPED_TEST(FetchingKernelTest, ManyColumns) {
  runAllWritings<TypeParam>([] {
    return FetchingProduct<TypeParam>({40, 1, 1, 20, 13, 6, 1}, {40, 1, 1}, {M0, K0, M1, M2, K1},
                                      {N1, K0, N0, K1}, {M0, N0, N1, M1, M2});
  });
}

/// Sums in several parts, which follow each other in no tensor; all of C's columns are aligned to
/// vectors, or few.
TYPED_TEST(FetchingKernelTest, LongSums) {
  for (const int64_t rows : {48, 50})
    for (const int64_t k : {127, 128, 129, 300})
      runAllWritings<TypeParam>([&] {
        return FetchingProduct<TypeParam>({rows, 2, 1, 17, 2, k, 3}, {rows, 1, 1},
                                          {M0, K1, M1, K0, M2}, {K1, N0, K0, N1},
                                          {M0, N0, M1, N1, M2}, rows % 16);
      });
}

/// Few columns, whose sums have short parts: of rows of one tile and of several, all of which a
/// part takes if results are in scratch.
TYPED_TEST(FetchingKernelTest, FewColumns) {
  for (const int64_t columns : {1, 3, 8})
    for (const int64_t rows : {50, 97, 200, 500})
      for (const int64_t k : {24, 25, 100})
        runAllWritings<TypeParam>([&] {
          return FetchingProduct<TypeParam>({rows, 2, 1, columns, 1, k, 2}, {rows, 2, 1},
                                            {M0, K0, M1, K1, M2}, {K0, N0, K1, N1},
                                            {M0, N0, M1, M2, N1});
        });
}

/// Rows of several groups of tiles, each of which has all parts of its sums before the next one:
/// rows that are whole vectors, some of which go past the caches, and others; a row or more a
/// block.
TYPED_TEST(FetchingKernelTest, LongRows) {
  for (const int64_t rows : {480, 1003})
    for (const int64_t inBlock : {1, 3})
      runAllWritings<TypeParam>([&] {
        return FetchingProduct<TypeParam>({rows, 3, 1, 9, 1, 201, 1}, {rows, inBlock, 1},
                                          {M0, K0, M1, K1, M2}, {K0, N0, K1, N1},
                                          {M0, N0, M1, M2, N1});
      });
}

/// So many columns that the results of a few tiles would not stay near.
TYPED_TEST(FetchingKernelTest, LongRowsOfManyColumns) {
  for (const int64_t columns : {200, 700})
    runAllWritings<TypeParam>([&] {
      return FetchingProduct<TypeParam>({200, 1, 1, columns, 1, 129, 1}, {200, 1, 1},
                                        {M0, K0, M1, K1, M2}, {K0, N0, K1, N1},
                                        {M0, N0, M1, M2, N1});
    });
}

/// Sums in several parts of rows on pages of their own.
TYPED_TEST(FetchingKernelTest, FarRows) {
  constexpr int64_t kRows = 40, kColumns = 9, kSums = 450,
                    kDistance = (700 << 10) / sizeof(TypeParam);
  // Most of it is never touched.
  const auto a = std::make_unique_for_overwrite<TypeParam[]>((kSums - 1) * kDistance + kRows);
  std::vector<TypeParam> b(kColumns * kSums), packed(tiles::fetchingPanels(kColumns, kSums));
  std::vector<TypeParam> c(kRows * kColumns, -1), expected(kRows * kColumns);
  for (int64_t k = 0; k < kSums; ++k) {
    for (int64_t m = 0; m < kRows; ++m)
      a[static_cast<std::size_t>(k * kDistance + m)] = static_cast<TypeParam>((k + 3 * m) % 7 - 3);
    for (int64_t n = 0; n < kColumns; ++n)
      b[static_cast<std::size_t>(n * kSums + k)] = static_cast<TypeParam>((2 * k + n) % 5 - 2);
    for (int64_t n = 0; n < kColumns; ++n)
      for (int64_t m = 0; m < kRows; ++m)
        expected[static_cast<std::size_t>(n * kRows + m)] +=
            static_cast<TypeParam>(((k + 3 * m) % 7 - 3) * ((2 * k + n) % 5 - 2));
  }
  const FetchingKernel<TypeParam> kernel({{kRows, kRows, 1, 0, 1}},
                                         {{kColumns, kColumns, 0, kSums, kRows}},
                                         {{kSums, kSums, kDistance, 1, 0}}, {});
  kernel.packB(packed.data(), b.data());
  kernel(a.get(), packed.data(), c.data(), nullptr, {kRows}, false);
  EXPECT_EQ(c, expected);
}

/// Rows that compete for places in the caches, of vectors of every kind, and more columns than one
/// block in registers has: processors with few registers copy the rows that a block takes.
TYPED_TEST(FetchingKernelTest, RowsInTheSamePlaces) {
  for (const int64_t rows : {1, 3, 8, 9, 16, 21, 36})
    runAllWritings<TypeParam>([&] {
      return FetchingProduct<TypeParam>({rows, 256, 1, 29, 1, 24, 1}, {rows, 64, 1},
                                        {M0, M1, K0, M2, K1}, {K0, N0, K1, N1},
                                        {M0, N0, M1, M2, N1});
    });
}

/// C is contiguous along other dims than A.
TYPED_TEST(FetchingKernelTest, ResultTransposed) {
  for (const bool pastCaches : {false, true})
    for (const bool accumulate : {false, true})
      for (const auto &orderC : {std::vector<int>{M1, N0, M0, N1, M2},
                                 {N0, M1, M2, N1, M0},
                                 {M2, M0, M1, N0, N1},
                                 {N1, N0, M1, M0, M2}}) {
        FetchingProduct<TypeParam> product({40, 9, 5, 7, 3, 11, 2}, {33, 4, 5},
                                           {M0, M1, K0, M2, K1}, {N1, K0, N0, K1}, orderC);
        product.runAndCheck({true, pastCaches, accumulate, 3});
        if (this->HasFatalFailure())
          return;
      }
}

TYPED_TEST(FetchingKernelTest, NothingToCompute) {
  const FetchingKernel<TypeParam> noRows({{4, 0, 1, 0, 1}}, {{4, 3, 0, 2, 4}}, {{2, 2, 4, 1, 0}},
                                         {});
  noRows(nullptr, nullptr, nullptr, nullptr, {0}, false);
  const FetchingKernel<TypeParam> noSums({{4, 4, 1, 0, 1}}, {{4, 3, 0, 2, 4}}, {{2, 0, 4, 1, 0}},
                                         {});
  noSums.packB(nullptr, nullptr);
  noSums(nullptr, nullptr, nullptr, nullptr, {4}, false);
  const FetchingKernel<TypeParam> noColumns({{4, 4, 1, 0, 1}}, {{4, 0, 0, 2, 4}}, {{2, 2, 4, 1, 0}},
                                            {});
  noColumns.packB(nullptr, nullptr);
  noColumns(nullptr, nullptr, nullptr, nullptr, {4}, false);
}

TYPED_TEST(FetchingKernelTest, AnyShapeAndOrder) {
  std::mt19937 random(11);
  const auto upTo = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  std::vector<int> orderA = {M1, M2, K0, K1}, orderB = {N0, N1, K0, K1},
                   orderC = {M0, M1, M2, N0, N1};
  for (int round = 0; round < 300; ++round) {
    const std::array<int64_t, 7> extents = {
        upTo(round % 2 == 0 ? 130 : 20), upTo(5), upTo(4), upTo(9), upTo(5), upTo(9), upTo(4)};
    const std::array<int64_t, 3> counts = {upTo(extents[0]), upTo(extents[1]), upTo(extents[2])};
    for (std::vector<int> *order : {&orderA, &orderB, &orderC})
      std::shuffle(order->begin(), order->end(), random);
    std::vector<int> withRows = {M0};
    withRows.insert(withRows.end(), orderA.begin(), orderA.end());
    const bool throughScratch = orderC.front() != M0 || upTo(2) == 1;
    FetchingProduct<TypeParam> product(extents, counts, withRows, orderB, orderC, upTo(3) - 1);
    product.runAndCheck({throughScratch, upTo(2) == 1, upTo(2) == 1, upTo(3)});
    if (this->HasFatalFailure()) {
      ADD_FAILURE() << "in round " << round;
      return;
    }
  }
}

} // namespace
