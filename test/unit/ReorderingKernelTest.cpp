//===- ReorderingKernelTest.cpp - products of blocks stored in different orders ---------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/ReorderingKernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace einsumc;

/// A contraction of up to four dims: `einsum` names them by letters, each tensor's slowest first.
struct Case {
  std::string a, b, c;
  std::string order;            ///< of a block, the innermost dim first
  std::vector<int64_t> extents; ///< by order
  std::vector<int64_t> counts;  ///< by order
  ReorderingFormat format = {};
};

template <class T> class ReorderedProduct {
public:
  explicit ReorderedProduct(const Case &given) : given(given), dims(given.order.size()) {
    a.resize(place(given.a, &BlockDim::inA));
    b.resize(place(given.b, &BlockDim::inB));
    c.resize(place(given.c, &BlockDim::inC), kUnset);
    std::mt19937 random(7);
    std::uniform_int_distribution<int> small(-4, 4);
    for (std::vector<T> *tensor : {&a, &b})
      for (T &element : *tensor)
        element = static_cast<T>(small(random));
  }

  void runAndCheck(bool accumulate) {
    if (accumulate)
      std::fill(c.begin(), c.end(), T(100));
    std::vector<T> expected(c.size(), accumulate ? T(100) : T(0));
    forEach(given.extents, [&](const std::vector<int64_t> &at) {
      expected[offset(at, &BlockDim::inC)] +=
          a[offset(at, &BlockDim::inA)] * b[offset(at, &BlockDim::inB)];
    });
    run(accumulate);
    ASSERT_EQ(c, expected) << given.a << "," << given.b << "->" << given.c << " as " << given.order;
  }

private:
  static constexpr T kUnset = std::numeric_limits<T>::quiet_NaN();

  std::size_t place(const std::string &tensor, int64_t BlockDim::*in) {
    int64_t size = 1;
    for (auto name = tensor.rbegin(); name != tensor.rend(); ++name) {
      const std::size_t dim = given.order.find(*name);
      dims[dim].*in = size;
      size *= given.extents[dim];
    }
    return static_cast<std::size_t>(size);
  }

  template <class Body> static void forEach(const std::vector<int64_t> &extents, Body &&body) {
    std::vector<int64_t> at(extents.size());
    while (true) {
      body(at);
      std::size_t d = 0;
      while (d < at.size() && ++at[d] == extents[d])
        at[d++] = 0;
      if (d == at.size())
        return;
    }
  }

  std::size_t offset(const std::vector<int64_t> &at, int64_t BlockDim::*in) const {
    int64_t result = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      result += at[d] * (dims[d].*in);
    return static_cast<std::size_t>(result);
  }

  /// Block by block; blocks of further sums add to the result.
  void run(bool accumulate) {
    // No more than four dims, as lists have no run-time length.
    dims.resize(4, {.inA = 1, .inB = 1, .inC = 1});
    given.extents.resize(4, 1);
    given.counts.resize(4, 1);
    const ReorderingKernel<T> kernel({dims[0], dims[1], dims[2], dims[3]}, given.format);
    int64_t volume = 1;
    for (const int64_t count : given.counts)
      volume *= count;
    const auto size = static_cast<std::size_t>(volume);
    std::vector<int64_t> blocks;
    for (std::size_t d = 0; d < 4; ++d)
      blocks.push_back((given.extents[d] + given.counts[d] - 1) / given.counts[d]);
    forEach(blocks, [&](const std::vector<int64_t> &block) {
      std::vector<T> packedA(size, kUnset), packedB(size, kUnset), scratch(size, kUnset);
      std::vector<int64_t> begin(4), left(4);
      bool isFurther = accumulate;
      for (std::size_t d = 0; d < 4; ++d) {
        begin[d] = block[d] * given.counts[d];
        left[d] = std::min(given.counts[d], given.extents[d] - begin[d]);
        isFurther = isFurther || (dims[d].inC == 0 && block[d] > 0);
      }
      const T *inA = a.data() + offset(begin, &BlockDim::inA);
      const T *inB = b.data() + offset(begin, &BlockDim::inB);
      const std::initializer_list<int64_t> counts = {left[0], left[1], left[2], left[3]};
      if (given.format.packsA)
        kernel.packA(packedA.data(), inA, counts);
      if (given.format.packsB)
        kernel.packB(packedB.data(), inB, counts);
      kernel(given.format.packsA ? packedA.data() : inA, given.format.packsB ? packedB.data() : inB,
             c.data() + offset(begin, &BlockDim::inC), scratch.data(), counts, isFurther);
    });
  }

  Case given;
  std::vector<BlockDim> dims;
  std::vector<T> a, b, c;
};

template <class T> class ReorderingKernelTest : public testing::Test {
protected:
  static void check(const Case &given) {
    for (const bool accumulate : {false, true})
      ReorderedProduct<T>(given).runAndCheck(accumulate);
  }

  /// With every set of blocks in scratch of which the others may be in place.
  static void checkPlaces(Case given, bool mayA, bool mayB, bool mayC) {
    for (const bool packsA : {true, false})
      for (const bool packsB : {true, false})
        for (const bool resultInScratch : {true, false})
          if ((packsA || mayA) && (packsB || mayB) && (resultInScratch || mayC)) {
            given.format.packsA = packsA;
            given.format.packsB = packsB;
            given.format.resultInScratch = resultInScratch;
            check(given);
          }
  }
};
using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(ReorderingKernelTest, ElementTypes);

// One row of blocks ends in the midst of every dim, in the last of which vectors have one element.
TYPED_TEST(ReorderingKernelTest, VectorsOfRows) {
  this->checkPlaces({"kjim", "jk", "imj", "mikj", {37, 5, 6, 4}, {12, 2, 4, 3}}, true, true, false);
  this->checkPlaces({"kim", "k", "im", "mik", {33, 5, 7}, {16, 5, 3}}, true, true, true);
}

TYPED_TEST(ReorderingKernelTest, VectorsOfColumns) {
  this->checkPlaces({"jk", "kjin", "inj", "nikj", {37, 5, 6, 4}, {18, 2, 4, 3}}, true, true, false);
}

TYPED_TEST(ReorderingKernelTest, VectorsOfSums) {
  this->checkPlaces({"mlk", "lk", "m", "klm", {45, 5, 7}, {22, 3, 4}}, true, true, true);
  this->checkPlaces({"mkl", "lk", "m", "klm", {45, 5, 7}, {22, 3, 4}}, false, true, true);
  this->checkPlaces({"kl", "lk", "", "kl", {45, 35}, {44, 16}}, false, true, true);
}

TYPED_TEST(ReorderingKernelTest, VectorsOfBatches) {
  this->checkPlaces({"kbc", "bkc", "bc", "ckb", {35, 5, 7}, {34, 2, 3}}, true, true, true);
  this->checkPlaces({"bc", "cb", "bc", "cb", {50, 41}, {32, 16}}, true, false, true);
  this->checkPlaces({"bmc", "bc", "mbc", "cmb", {19, 6, 7}, {18, 4, 7}}, true, true, true);
}

// Operands that lack a dim of the vectors are repeated along it.
TYPED_TEST(ReorderingKernelTest, RepeatedOperands) {
  Case given{"mc", "nc", "mnc", "cmn", {3, 7, 5}, {3, 4, 2}};
  given.format.vectorDims = 2;
  this->checkPlaces(given, true, false, false);
  given.format.vectorDims = 3;
  this->checkPlaces(given, false, false, true);
  this->checkPlaces({"m", "n", "nm", "mn", {9, 11}, {4, 3}, {.vectorDims = 2}}, false, false, true);
}

// A result that lacks a dim of the vectors gets parts of sums.
TYPED_TEST(ReorderingKernelTest, PartsOfSums) {
  Case given{"lmk", "lk", "m", "kml", {5, 19, 6}, {3, 8, 4}};
  given.format.vectorDims = 2;
  this->checkPlaces(given, true, false, false);
  given.extents = {5, 1, 6};
  given.counts = {2, 1, 4};
  this->checkPlaces(given, true, false, false);
}

TYPED_TEST(ReorderingKernelTest, PastCaches) {
  Case given{"bi", "b", "ib", "ib", {70, 40}, {33, 16}};
  given.format = {.packsA = true, .packsB = true, .resultInScratch = true, .pastCaches = true};
  this->check(given);
}

// In place, rows of a batch that begin alike in lines, in vectors and not; also sums in two loops.
TYPED_TEST(ReorderingKernelTest, PastCachesInPlace) {
  this->check({"bc", "cb", "bc", "cb", {50, 41}, {32, 16}, {.packsB = true, .pastCaches = true}});
  const ReorderingFormat format = {.packsA = true, .packsB = true, .pastCaches = true};
  for (const int64_t row : {32, 33, 36, 40}) {
    this->check({"bmc", "bc", "mbc", "cmb", {row, 6, 7}, {row, 4, 7}, format});
    this->check({"kmc", "kc", "mc", "cmk", {row, 6, 5}, {row, 4, 5}, format});
  }
  this->check(
      {"lkc", "klc", "c", "clk", {64, 5, 6}, {64, 5, 6}, {.packsB = true, .pastCaches = true}});
}

// Blocks in place that are read in advance: large, with short vectors, also with gaps.
TYPED_TEST(ReorderingKernelTest, FetchedBlocks) {
  this->checkPlaces({"ijkl", "jl", "ik", "lkji", {5, 9, 12, 20}, {5, 9, 7, 13}}, true, true, false);
}

// With nothing to sum or to compute, the result stays as it is.
TEST(ReorderingKernel, EmptyBlocks) {
  const ReorderingKernel<float> kernel({{.inA = 1, .inC = 1}, {.inA = 8, .inB = 1}}, {});
  const std::vector<float> a(64, 1), b(8, 1);
  std::vector<float> c(8, 5);
  kernel(a.data(), b.data(), c.data(), nullptr, {0, 8}, false);
  kernel(a.data(), b.data(), c.data(), nullptr, {8, 0}, false);
  EXPECT_EQ(c, std::vector<float>(8, 5));
}

} // namespace
