//===- TileKernelTest.cpp - tile products against their definition ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/TileKernel.h"

#include "../../runtime/PortableKernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <vector>

namespace einsumc {
namespace {

constexpr double kUntouched = 12345;

std::string print(const TileShape &s) {
  std::ostringstream out;
  out << "c " << s.c << " m " << s.m << " n " << s.n << " k " << s.k << ", A " << s.aC << " "
      << s.aM << " " << s.aK << ", B " << s.bC << " " << s.bK << " " << s.bN << ", C " << s.cC
      << " " << s.cM << " " << s.cN << (s.accumulate ? ", accumulate" : "")
      << (s.pastCaches ? ", past the caches" : "") << (s.bFetched ? ", B fetched" : "")
      << (s.aFetched ? ", A fetched" : "");
  return out.str();
}

/// One past the last element of a view.
template <class... Pair> std::size_t sizeOf(Pair... extentAndStride) {
  int64_t last = 0;
  bool isEmpty = false;
  const auto add = [&](std::pair<int64_t, int64_t> p) {
    isEmpty |= p.first == 0;
    last += (p.first - 1) * p.second;
  };
  (add(extentAndStride), ...);
  return isEmpty ? 0 : static_cast<std::size_t>(last + 1);
}

/// Integers so small that every sum is exact in every order.
template <class T> std::vector<T> randomIntegers(std::size_t size, std::mt19937 &random) {
  std::vector<T> result(size);
  std::generate(result.begin(), result.end(),
                [&] { return static_cast<T>(static_cast<int>(random() % 9) - 4); });
  return result;
}

template <class T> struct Operands {
  Operands(const TileShape &s, std::mt19937 &random)
      : a(randomIntegers<T>(
            sizeOf(std::pair(s.c, s.aC), std::pair(s.m, s.aM), std::pair(s.k, s.aK)), random)),
        b(randomIntegers<T>(
            sizeOf(std::pair(s.c, s.bC), std::pair(s.k, s.bK), std::pair(s.n, s.bN)), random)),
        c(sizeOf(std::pair(s.c, s.cC), std::pair(s.m, s.cM), std::pair(s.n, s.cN)), kUntouched) {
    // What is overwritten must not be read: NaN would stay.
    for (int64_t i = 0; i < s.c; ++i)
      for (int64_t m = 0; m < s.m; ++m)
        for (int64_t n = 0; n < s.n; ++n)
          c[static_cast<std::size_t>(i * s.cC + m * s.cM + n * s.cN)] =
              s.accumulate ? static_cast<T>((i + 2 * m + 3 * n) % 7)
                           : std::numeric_limits<T>::quiet_NaN();
  }

  std::vector<T> a, b, c;
};

/// C by the definition, in double.
template <class T> std::vector<T> expected(const TileShape &s, const Operands<T> &data) {
  std::vector<T> c = data.c;
  for (int64_t i = 0; i < s.c; ++i)
    for (int64_t m = 0; m < s.m; ++m)
      for (int64_t n = 0; n < s.n; ++n) {
        T &target = c[static_cast<std::size_t>(i * s.cC + m * s.cM + n * s.cN)];
        double sum = s.accumulate ? target : 0;
        for (int64_t k = 0; k < s.k; ++k)
          sum +=
              static_cast<double>(
                  data.a[static_cast<std::size_t>(i * s.aC + m * s.aM + k * s.aK)]) *
              static_cast<double>(data.b[static_cast<std::size_t>(i * s.bC + k * s.bK + n * s.bN)]);
        target = static_cast<T>(sum);
      }
  return c;
}

/// Strides of a row-major tensor whose dims are stored in a random order, some rows padded.
std::array<int64_t, 3> randomStrides(std::array<int64_t, 3> extents, std::mt19937 &random) {
  std::array<std::size_t, 3> order = {0, 1, 2};
  std::shuffle(order.begin(), order.end(), random);
  std::array<int64_t, 3> strides = {};
  int64_t stride = random() % 8 == 0 ? 2 : 1;
  for (const std::size_t dim : order) {
    strides[dim] = extents[dim] == 1 ? static_cast<int64_t>(random() % 3) : stride;
    stride *= std::max<int64_t>(extents[dim], 1);
    if (random() % 3 == 0)
      stride += static_cast<int64_t>(random() % 5);
  }
  return strides;
}

int64_t randomExtent(std::mt19937 &random) {
  switch (random() % 4) {
  case 0:
    return static_cast<int64_t>(random() % 4);
  case 1:
    return 1 + static_cast<int64_t>(random() % 9);
  default:
    return static_cast<int64_t>(random() % 41);
  }
}

TileShape randomShape(std::mt19937 &random) {
  TileShape s;
  s.c = random() % 2 ? 1 : randomExtent(random) / (random() % 2 ? 1 : 8);
  s.m = randomExtent(random);
  s.n = randomExtent(random);
  s.k = randomExtent(random);
  const auto a = randomStrides({s.c, s.m, s.k}, random);
  const auto b = randomStrides({s.c, s.k, s.n}, random);
  const auto c = randomStrides({s.c, s.m, s.n}, random);
  s.aC = a[0], s.aM = a[1], s.aK = a[2];
  s.bC = b[0], s.bK = b[1], s.bN = b[2];
  s.cC = c[0], s.cM = c[1], s.cN = c[2];
  s.accumulate = random() % 2;
  s.pastCaches = random() % 2;
  return s;
}

/// A, B and C row-major.
TileShape rowMajor(int64_t c, int64_t m, int64_t n, int64_t k, bool accumulate = false) {
  return {c, m, n, k, m * k, k, 1, k * n, n, 1, m * n, n, 1, accumulate};
}

template <class T> void expectProduct(const TileShape &s, std::mt19937 &random) {
  Operands<T> data(s, random);
  const std::vector<T> c = expected(s, data);
  const TileKernel<T> kernel(s);
  kernel(data.a.data(), data.b.data(), data.c.data());
  endStoresPastCaches();
  EXPECT_EQ(c, data.c) << print(s) << (kernel.isJit() ? " (LIBXSMM)" : " (portable)");
}

template <class T>
void expectFunction(TileFunction<T> f, const TileShape &s, std::mt19937 &random) {
  Operands<T> data(s, random);
  const std::vector<T> c = expected(s, data);
  f(s, data.a.data(), data.b.data(), data.c.data());
  EXPECT_EQ(c, data.c) << print(s);
}

template <class T> class TileKernelTest : public testing::Test {
protected:
  std::mt19937 random{20240607};
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(TileKernelTest, Types);

TYPED_TEST(TileKernelTest, AnyExtentsAndStrides) {
  for (int i = 0; i < 4000 && !this->HasFailure(); ++i)
    expectProduct<TypeParam>(randomShape(this->random), this->random);
}

TYPED_TEST(TileKernelTest, EachPortableFunctionWithinItsPreconditions) {
  for (int i = 0; i < 4000 && !this->HasFailure(); ++i) {
    const TileShape s = randomShape(this->random);
    if (s.c * s.m * s.n * s.k == 0)
      continue;
    expectFunction<TypeParam>(multiplyPlain, s, this->random);
    expectFunction<TypeParam>(multiplyPacked, s, this->random);
    if (s.aM == 1 && s.cM == 1)
      expectFunction<TypeParam>(multiplyPanels, s, this->random);
    if (s.aK == 1 && s.bK == 1)
      expectFunction<TypeParam>(multiplyDots, s, this->random);
    if (s.aC == 1 && s.bC == 1 && s.cC == 1)
      expectFunction<TypeParam>(multiplyBatch, s, this->random);
    if (s.aM == 1 && s.cM == 1 && s.n == 1 && s.k == 1)
      expectFunction<TypeParam>(multiplyScaled, s, this->random);
    const TileShape exchanged = exchangeOperands(s);
    EXPECT_EQ(exchangeOperands(exchanged).cM, s.cM);
  }
}

TYPED_TEST(TileKernelTest, DotsOfSeveralRowsAndColumns) {
  for (int64_t m = 1; m <= 9; ++m)
    for (int64_t n = 1; n <= 13; ++n)
      for (const int64_t k : {1, 7, 16, 33}) {
        // Rows in the order of memory, with gaps; columns of C that are next to each other.
        TileShape s = {3, m, n, k, m * (k + 2), k + 2, 1, n * k, 1, k, m * n, n, 1};
        expectFunction<TypeParam>(multiplyDots, s, this->random);
        s.aFetched = s.bFetched = s.accumulate = true;
        s.aAhead = s.aM; // The next product has most of these rows; B's end here.
        expectFunction<TypeParam>(multiplyDots, s, this->random);
      }
}

TYPED_TEST(TileKernelTest, LongTiles) {
  expectProduct<TypeParam>(rowMajor(1, 200, 300, 150, true), this->random);
  expectProduct<TypeParam>({1, 200, 300, 150, 0, 1, 200, 0, 1, 150, 0, 1, 200}, this->random);
  // A matrix that is streamed through, times one and two vectors, also by fewer rows as they are
  // long.
  expectProduct<TypeParam>({1, 500, 1, 333, 0, 1, 507, 0, 1, 0, 0, 1, 0, true}, this->random);
  expectProduct<TypeParam>({1, 500, 2, 333, 0, 1, 507, 0, 2, 1, 0, 1, 500}, this->random);
  expectProduct<TypeParam>({1, 3001, 1, 53, 0, 1, 3007, 0, 1, 0, 0, 1, 0, true}, this->random);
  expectProduct<TypeParam>({1, 2501, 2, 5, 0, 1, 2507, 0, 2, 1, 0, 1, 2501}, this->random);
  // So large that it is also with some more vectors, next to each other or rows of a matrix.
  for (const int64_t n : {3, 5, 8, 9}) {
    expectProduct<TypeParam>({1, 2501, n, 60, 0, 1, 2507, 0, n, 1, 0, 1, 2501}, this->random);
    expectProduct<TypeParam>({1, 90, n, 1500, 0, 1, 90, 0, 1, 1503, 0, 1, 97, true}, this->random);
  }
  // Nothing consecutive: packed in several blocks of each extent.
  expectProduct<TypeParam>({2, 150, 140, 300, 1, 600, 2, 1, 280, 2, 1, 2, 300, true}, this->random);
  // An element-wise batch longer than a block.
  expectProduct<TypeParam>({5003, 3, 3, 2, 1, 5003, 3 * 5003, 1, 5003, 2 * 5003, 1, 5003, 3 * 5003},
                           this->random);
}

/// Blocks of any size whose next columns of B are fetched, also behind the last ones.
TYPED_TEST(TileKernelTest, FetchedColumns) {
  constexpr int64_t kLanes = 64 / sizeof(TypeParam);
  for (const int64_t m : {1, 3, 4, 7, 8, 15, 16, 17, 40})
    for (const int64_t n : {1, 5, 12, 13, 50})
      for (const int64_t k : {3L, 2 * kLanes, 2 * kLanes + 1, 5 * kLanes - 1, 7 * kLanes})
        for (const bool accumulate : {false, true}) {
          TileShape s = {1, m, n, k, 0, 1, 16 * ((m + 15) / 16), 0, 1, k + 2, 0, 1, m + 3};
          s.accumulate = accumulate;
          s.bFetched = true;
          expectProduct<TypeParam>(s, this->random);
        }
  TileShape few = {1, 2, 20, 2 * kLanes, 0, 1, 2, 0, 1, 2 * kLanes, 0, 1, 2};
  few.bFetched = true;
  EXPECT_FALSE(TileKernel<TypeParam>(few).isJit());
}

/// Rows that begin and end anywhere in their lines, alike and not.
TYPED_TEST(TileKernelTest, LongRowsPastTheCaches) {
  for (const int64_t length : {1, 15, 16, 17, 127, 128, 129, 131, 144, 200, 1000})
    for (const int64_t row : {length, length + 1, (length + 31) / 16 * 16})
      for (const bool accumulate : {false, true}) {
        // Rows times a factor each, and products of neighbours along a batch.
        expectProduct<TypeParam>({5, length, 1, 1, row, 1, 0, 1, 0, 0, row, 1, 0, accumulate, true},
                                 this->random);
        expectProduct<TypeParam>(
            {length, 3, 3, 2, 1, row, 3 * row, 1, row, 2 * row, 1, row, 3 * row, accumulate, true},
            this->random);
        expectProduct<TypeParam>({length, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, accumulate, true},
                                 this->random);
      }
}

TYPED_TEST(TileKernelTest, SumOfNothingIsZeroUnlessItAccumulates) {
  expectProduct<TypeParam>(rowMajor(2, 3, 5, 0, false), this->random);
  expectProduct<TypeParam>(rowMajor(2, 3, 5, 0, true), this->random);
}

TYPED_TEST(TileKernelTest, StridesOfExtentOneAreFree) {
  expectProduct<TypeParam>({1, 1, 9, 7, 0, 0, 1, 0, 9, 1, 0, 0, 1}, this->random);
  expectProduct<TypeParam>({1, 9, 1, 7, 0, 1, 9, 0, 1, 0, 0, 1, 0}, this->random);
  expectProduct<TypeParam>({1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, true}, this->random);
}

TYPED_TEST(TileKernelTest, RepeatedOperandsBroadcast) {
  // A stride of 0 in an operand repeats it.
  expectProduct<TypeParam>({3, 20, 20, 10, 0, 1, 0, 200, 1, 10, 400, 1, 20}, this->random);
  expectProduct<TypeParam>({3, 20, 20, 10, 0, 0, 1, 0, 20, 1, 400, 20, 1}, this->random);
}

TYPED_TEST(TileKernelTest, StridesBeyondWhatLibxsmmAddresses) {
  // 2^31 bytes between the first and the last column of A: pages that are never touched cost none.
  const int64_t stride = int64_t{1} << 26;
  TileShape s = {1, 16, 8, 41, 0, 1, stride, 0, 1, 41, 0, 1, 16};
  s.aK = stride;
  EXPECT_FALSE(TileKernel<TypeParam>(s).isJit());
}

TYPED_TEST(TileKernelTest, KernelSetHasTheSizesThatOccur) {
  struct Case {
    int64_t tile, extent;
  };
  const std::vector<Case> cases = {{4, 12}, {4, 14}, {4, 3}, {1, 1}, {6, 14}};
  for (const Case &m : cases)
    for (const Case &k : cases) {
      const int64_t rows = m.extent, depth = k.extent, columns = 9;
      const TileShape whole = rowMajor(1, rows, columns, depth);
      Operands<TypeParam> data(whole, this->random);
      const auto c = expected(whole, data);
      const TileKernelSet<TypeParam> kernels({1, 1}, {m.tile, m.extent}, {columns, columns},
                                             {k.tile, k.extent}, whole);
      for (int64_t i = 0; i < m.extent; i += m.tile)
        for (int64_t l = 0; l < k.extent; l += k.tile) {
          const auto &kernel = kernels.select(1, std::min(m.tile, m.extent - i), columns,
                                              std::min(k.tile, k.extent - l), l > 0);
          kernel(data.a.data() + i * depth + l, data.b.data() + l * columns,
                 data.c.data() + i * columns);
        }
      EXPECT_EQ(c, data.c) << rows << " x " << depth;
    }
}

TYPED_TEST(TileKernelTest, KernelSetOfNoTermsClears) {
  const TileShape s = rowMajor(1, 3, 4, 0);
  const TileKernelSet<TypeParam> kernels({1, 1}, {3, 3}, {4, 4}, {8, 0}, s);
  std::vector<TypeParam> c(12, TypeParam(7));
  kernels.select(1, 3, 4, 0, false)(nullptr, nullptr, c.data());
  EXPECT_EQ(c, std::vector<TypeParam>(12, TypeParam(0)));
}

} // namespace
} // namespace einsumc
