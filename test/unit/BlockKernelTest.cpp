//===- BlockKernelTest.cpp - products of blocks of many dims ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/BlockKernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace einsumc;

/// C[m0,m1,n0,n1] = sum over k0, k1 of A[m0,m1,k0,k1] * B[k0,k1,n0,n1], block by block, where C
/// is stored with its dims in any order and A and B are functions of their indices.
template <class T> class BlockedProduct {
public:
  enum Index { M0, M1, N0, N1, K0, K1, kIndices };
  using Sizes = std::array<int64_t, kIndices>;

  /// \param order the positions of C from the fastest to the slowest: a permutation of M0 to N1
  BlockedProduct(const Sizes &extents, const Sizes &counts, const std::array<int, 4> &order,
                 bool pastCaches = false)
      : extents(extents), counts(counts), pastCaches(pastCaches) {
    for (int index = 0; index < kIndices; ++index)
      this->counts[index] = std::min(counts[index], extents[index]);
    int64_t step = 1;
    for (const int index : order) {
      toC[index] = step;
      step *= extents[index] + 1; // Gaps, which must not be written.
    }
    c.assign(static_cast<std::size_t>(step), kUntouched);
  }

  void run() {
    const int64_t strideA = product(M0) + 3, strideB = product(K0) + 5;
    const BlockKernel<T> kernel({dim(M0), dim(M1)}, {dim(N0), dim(N1)}, {dim(K0), dim(K1)},
                                {.aM = 1,
                                 .aK = strideA,
                                 .bK = 1,
                                 .bN = strideB,
                                 .accumulates = !pastCaches,
                                 .pastCaches = pastCaches});
    forEach(counts, extents, [&](const Sizes &at) {
      Sizes size;
      for (int index = 0; index < kIndices; ++index)
        size[index] = std::min(counts[index], extents[index] - at[index]);
      std::vector<T> a(static_cast<std::size_t>(strideA * size[K0] * size[K1]), kUntouched);
      std::vector<T> b(static_cast<std::size_t>(strideB * size[N0] * size[N1]), kUntouched);
      Sizes ones;
      ones.fill(1);
      forEach(ones, size, [&](const Sizes &in) {
        Sizes global;
        for (int index = 0; index < kIndices; ++index)
          global[index] = at[index] + in[index];
        const int64_t m = in[M0] + size[M0] * in[M1];
        const int64_t n = in[N0] + size[N0] * in[N1];
        const int64_t k = in[K0] + size[K0] * in[K1];
        a[static_cast<std::size_t>(m + strideA * k)] = elementA(global);
        b[static_cast<std::size_t>(k + strideB * n)] = elementB(global);
      });
      kernel(a.data(), b.data(), c.data() + offset(at), {size[M0], size[M1]}, {size[N0], size[N1]},
             {size[K0], size[K1]}, at[K0] > 0 || at[K1] > 0);
    });
  }

  void check() {
    Sizes ones;
    ones.fill(1);
    std::vector<T> expected(c.size(), kUntouched);
    forEach(ones, extents, [&](const Sizes &at) {
      T &sum = expected[static_cast<std::size_t>(offset(at))];
      sum = (sum == kUntouched ? T(0) : sum) + elementA(at) * elementB(at);
    });
    ASSERT_EQ(c, expected);
  }

private:
  static constexpr T kUntouched = std::numeric_limits<T>::max();

  static T elementA(const Sizes &i) {
    return static_cast<T>((i[M0] * 3 + i[M1] * 5 + i[K0] * 7 + i[K1]) % 11 - 5);
  }
  static T elementB(const Sizes &i) {
    return static_cast<T>((i[K0] * 2 + i[K1] * 9 + i[N0] * 4 + i[N1] * 3) % 13 - 6);
  }

  BlockDim dim(Index index) const { return {counts[index], extents[index], toC[index]}; }
  /// The largest number of elements along the role whose first dim this is.
  int64_t product(Index first) const { return counts[first] * counts[first + 1]; }
  int64_t offset(const Sizes &at) const {
    int64_t result = 0;
    for (int index = M0; index <= N1; ++index)
      result += at[index] * toC[index];
    return result;
  }

  /// Calls body with every multiple of the steps below the ends.
  template <class Body> static void forEach(const Sizes &steps, const Sizes &ends, Body &&body) {
    Sizes at = {};
    for (int index = 0; index < kIndices;) {
      body(at);
      for (index = 0; index < kIndices; ++index) {
        at[index] += steps[index];
        if (at[index] < ends[index])
          break;
        at[index] = 0;
      }
    }
  }

  Sizes extents, counts;
  bool pastCaches;
  std::array<int64_t, kIndices> toC = {};
  std::vector<T> c;
};

template <class T> class BlockKernelTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(BlockKernelTest, Types);

TYPED_TEST(BlockKernelTest, ResultContiguousAlongAllOfM) {
  BlockedProduct<TypeParam> product({40, 5, 30, 2, 17, 3}, {40, 2, 13, 2, 17, 2}, {0, 1, 2, 3});
  product.run();
  product.check();
}

TYPED_TEST(BlockKernelTest, ResultWithShortRuns) {
  BlockedProduct<TypeParam> product({3, 50, 2, 40, 9, 1}, {3, 24, 2, 40, 4, 1}, {0, 2, 1, 3});
  product.run();
  product.check();
}

TYPED_TEST(BlockKernelTest, ResultNotContiguousAlongM) {
  BlockedProduct<TypeParam> product({20, 4, 9, 7, 5, 2}, {20, 4, 9, 7, 5, 2}, {2, 0, 3, 1});
  product.run();
  product.check();
}

/// C is aligned in some blocks, in others not; the distances are multiples of vectors in some.
TYPED_TEST(BlockKernelTest, ResultPastCaches) {
  for (const int64_t first : {63, 47, 40, 31, 20, 7})
    for (const int64_t count : {63, 32, 24, 9}) {
      BlockedProduct<TypeParam> product({first, 2, 31, 3, 9, 2}, {count, 1, 13, 3, 9, 2},
                                        {0, 1, 2, 3}, true);
      product.run();
      product.check();
    }
}

TYPED_TEST(BlockKernelTest, SidesOfOneElement) {
  BlockedProduct<TypeParam> product({1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, {3, 2, 1, 0});
  product.run();
  product.check();
}

TYPED_TEST(BlockKernelTest, NothingToCompute) {
  const BlockKernel<TypeParam> kernel({{4, 0, 1}}, {{4, 3, 4}}, {{2, 2, 0}},
                                      {.aM = 1, .aK = 4, .bK = 1, .bN = 2});
  kernel(nullptr, nullptr, nullptr, {0}, {3}, {2}, false);
}

TYPED_TEST(BlockKernelTest, AnyShapeAndOrder) {
  std::mt19937 random(7);
  const auto upTo = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  std::array<int, 4> order = {0, 1, 2, 3};
  for (int round = 0; round < 300; ++round) {
    typename BlockedProduct<TypeParam>::Sizes extents, counts;
    for (std::size_t index = 0; index < extents.size(); ++index) {
      extents[index] = upTo(round % 3 == 0 ? 4 : index % 2 == 0 ? 40 : 3);
      counts[index] = upTo(extents[index]);
    }
    std::shuffle(order.begin(), order.end(), random);
    BlockedProduct<TypeParam> product(extents, counts, order);
    product.run();
    product.check();
    if (this->HasFatalFailure()) {
      ADD_FAILURE() << "in round " << round;
      return;
    }
  }
}

} // namespace
