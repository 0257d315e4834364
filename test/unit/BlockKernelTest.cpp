//===- BlockKernelTest.cpp - products of blocks of many dims ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/BlockKernel.h"
#include "einsumc/BlockTiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
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
  /// \param gap elements after each row of a dim of C, which must not be written
  /// \param past elements in a cache line before the first of C
  BlockedProduct(const Sizes &extents, const Sizes &counts, const std::array<int, 4> &order,
                 bool pastCaches = false, int64_t gap = 1, int64_t past = 0)
      : extents(extents), counts(counts), pastCaches(pastCaches) {
    for (int index = 0; index < kIndices; ++index)
      this->counts[index] = std::min(counts[index], extents[index]);
    int64_t step = 1;
    for (const int index : order) {
      toC[index] = step;
      step *= extents[index] + gap;
    }
    // The first element may begin a cache line, so that some tiles are aligned.
    constexpr std::size_t kLine = 64;
    c.assign(static_cast<std::size_t>(step + past + kBeyond) + kLine / sizeof(T), kUntouched);
    const std::size_t inLine = reinterpret_cast<std::uintptr_t>(c.data()) % kLine;
    firstOfC = static_cast<int64_t>((kLine - inLine) / sizeof(T)) + past;
  }

  /// \param panelDims 0: the blocks of A and B are multiplied where they lie
  /// \param panelRows above 0: panels of so many rows instead
  /// \param isInScratch blocks of C are computed in scratch
  /// \param scratchColumn above 0: sums add up there, those of all blocks of C at the same time
  void run(std::size_t panelDims, int64_t panelCount = 1, int64_t panelRows = 0,
           bool isInScratch = false, int64_t scratchColumn = 0) {
    if (panelDims > 0 || panelRows > 0)
      for (const BlockOfB form :
           {BlockOfB::Panels, BlockOfB::TransposedPanels, BlockOfB::PanelsOfFirstDim}) {
        run(form, panelDims, panelCount, panelRows, isInScratch, scratchColumn);
        check();
        c.assign(c.size(), kUntouched);
      }
    run(BlockOfB::Columns, panelDims, panelCount, panelRows, isInScratch, scratchColumn);
  }

  /// All of A in one panel, and C written by whole lines.
  void runInLines() {
    wholeLines = true;
    run(BlockOfB::Columns, 2, counts[M1], 0, false, 0);
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
  /// What B is packed into, if it is: panels also from a tensor that is contiguous along k, or that
  /// begin anew for each index of the second dim.
  enum class BlockOfB : uint8_t { Columns, Panels, TransposedPanels, PanelsOfFirstDim };

  void run(BlockOfB form, std::size_t panelDims, int64_t panelCount, int64_t panelRows,
           bool isInScratch, int64_t scratchColumn) {
    // Packed blocks come from tensors whose dims are in no order that packing keeps.
    const bool isPacked = panelDims > 0 || panelRows > 0;
    const bool isInPanels = form != BlockOfB::Columns;
    Sizes inA = {}, inB = {};
    const auto setAllSteps = [&](const Sizes &sizes) {
      if (isPacked) {
        setSteps(inA, {K1, M1, K0, M0}, counts, counts[K1] * counts[M1] + 3);
        if (form == BlockOfB::TransposedPanels)
          setSteps(inB, {K0, N1, K1, N0}, counts, counts[K0] * counts[N1] + 5);
        else
          setSteps(inB, {N1, K1, N0, K0}, counts, counts[N1] * counts[K1] + 5);
      } else { // Indices along m and k must continue each other within a block.
        setSteps(inA, {M0, M1, K0, K1}, sizes, counts[M0] * counts[M1] + 3);
        setSteps(inB, {K0, K1, N0, N1}, sizes, counts[K0] * counts[K1] + 5);
      }
    };
    setAllSteps(counts);
    const std::size_t elements =
        2 * static_cast<std::size_t>(
                std::accumulate(counts.begin(), counts.end(), int64_t{8}, std::multiplies<>()));
    auto dim = [&](int index) {
      return BlockDim{counts[index], extents[index], inA[index], inB[index], toC[index]};
    };
    const int64_t rows = panelRows > 0    ? panelRows
                         : panelDims == 1 ? panelCount
                                          : counts[M0] * panelCount;
    const int64_t columns = counts[K0] * counts[K1];
    const int64_t panels = panelRows > 0 ? (counts[M0] * counts[M1] + panelRows - 1) / panelRows
                           : panelDims == 1
                               ? (counts[M0] + panelCount - 1) / panelCount * counts[M1]
                               : (counts[M1] + panelCount - 1) / panelCount;
    // Some panels are padded to whole vectors of any machine, others are not.
    const int64_t paddedRows = rows % 2 == 0 ? rows + 3 : (rows + 15) / 16 * 16;
    const BlockFormat format{.aK = isPacked ? paddedRows : inA[K0],
                             .bN = isInPanels ? 0
                                   : isPacked ? columns + 5
                                              : inB[N0],
                             .bInPanels = isInPanels,
                             .bPanelDims = form == BlockOfB::PanelsOfFirstDim ? 1U : 0U,
                             .panelDims = panelDims,
                             .panelCount = panelCount,
                             .panelRows = panelRows,
                             .aPanel = isPacked ? paddedRows * columns : 0,
                             .bFetched = !isPacked,
                             .accumulates = !pastCaches || scratchColumn > 0,
                             .pastCaches = pastCaches,
                             .wholeLines = wholeLines,
                             .resultInScratch = isInScratch,
                             .scratchColumn = scratchColumn};
    const int64_t columnInScratch = scratchColumn > 0 ? scratchColumn : counts[M0] * counts[M1];
    const auto inScratch = static_cast<std::size_t>(
        isInScratch || scratchColumn > 0 ? columnInScratch * counts[N0] * counts[N1] : 0);
    std::map<int64_t, std::vector<T>> scratchOfBlocks; // By where they begin in C.
    const BlockKernel<T> kernel({dim(M0), dim(M1)}, {dim(N0), dim(N1)}, {dim(K0), dim(K1)}, format);
    forEach(counts, extents, [&](const Sizes &at) {
      Sizes size, ones;
      for (int index = 0; index < kIndices; ++index)
        size[index] = std::min(counts[index], extents[index] - at[index]);
      setAllSteps(size);
      std::vector<T> a(elements, kUntouched);
      std::vector<T> b(elements, kUntouched);
      ones.fill(1);
      forEach(ones, size, [&](const Sizes &in) {
        Sizes global;
        int64_t toA = 0, toB = 0;
        for (int index = 0; index < kIndices; ++index) {
          global[index] = at[index] + in[index];
          toA += in[index] * inA[index];
          toB += in[index] * inB[index];
        }
        a[static_cast<std::size_t>(toA)] = elementA(global);
        b[static_cast<std::size_t>(toB)] = elementB(global);
      });
      const std::initializer_list<int64_t> m = {size[M0], size[M1]};
      const std::initializer_list<int64_t> n = {size[N0], size[N1]};
      const std::initializer_list<int64_t> k = {size[K0], size[K1]};
      std::vector<T> packedA, packedB;
      if (isPacked) {
        packedA.assign(static_cast<std::size_t>(panels * format.aPanel), kUntouched);
        // Columns of B in scratch, or of panels.
        const int64_t n01 = counts[N0] * counts[N1], inPanel = tiles::kPanelColumns;
        const int64_t together = form == BlockOfB::PanelsOfFirstDim ? counts[N0] : n01;
        const int64_t inPanels = (together + inPanel - 1) / inPanel * inPanel * (n01 / together);
        const int64_t elementsOfB =
            (isInPanels ? inPanels : format.bN) * (isInPanels ? columns : n01);
        packedB.assign(static_cast<std::size_t>(elementsOfB), kUntouched);
        kernel.packA(packedA.data(), a.data(), m, k);
        kernel.packB(packedB.data(), b.data(), k, n);
      }
      T *const blockOfC = c.data() + offset(at);
      std::vector<T> &scratch = scratchOfBlocks[scratchColumn > 0 ? offset(at) : 0];
      scratch.resize(inScratch, kUntouched);
      kernel(isPacked ? packedA.data() : a.data(), isPacked ? packedB.data() : b.data(),
             scratchColumn > 0 ? nullptr : blockOfC, scratch.data(), m, n, k,
             at[K0] > 0 || at[K1] > 0);
      const bool isLast = at[K0] + size[K0] == extents[K0] && at[K1] + size[K1] == extents[K1];
      if (scratchColumn > 0 && isLast)
        kernel.copySums(blockOfC, scratch.data(), m, n, false);
    });
  }

  static constexpr T kUntouched = std::numeric_limits<T>::max();
  static constexpr int64_t kBeyond = 64; ///< elements after C

  static T elementA(const Sizes &i) {
    return static_cast<T>((i[M0] * 3 + i[M1] * 5 + i[K0] * 7 + i[K1]) % 11 - 5);
  }
  static T elementB(const Sizes &i) {
    return static_cast<T>((i[K0] * 2 + i[K1] * 9 + i[N0] * 4 + i[N1] * 3) % 13 - 6);
  }

  using Order = std::array<Index, 4>;
  /// The steps of a block whose dims lie in an order, the fastest first; \p third is the step of
  /// the third.
  static void setSteps(Sizes &steps, const Order &order, const Sizes &sizes, int64_t third) {
    steps[order[0]] = 1;
    steps[order[1]] = sizes[order[0]];
    steps[order[2]] = third;
    steps[order[3]] = third * sizes[order[2]];
  }
  int64_t offset(const Sizes &at) const {
    int64_t result = firstOfC;
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
  bool wholeLines = false;
  std::array<int64_t, kIndices> toC = {};
  int64_t firstOfC = 0;
  std::vector<T> c;
};

template <class T> class BlockKernelTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(BlockKernelTest, Types);

TYPED_TEST(BlockKernelTest, ResultContiguousAlongAllOfM) {
  BlockedProduct<TypeParam> product({40, 5, 30, 2, 17, 3}, {40, 2, 13, 2, 17, 2}, {0, 1, 2, 3});
  product.run(1, 24);
  product.check();
}

// Tiles of few columns, in groups, the last of which is not whole, also where runs of C end.
TYPED_TEST(BlockKernelTest, LongSumsAddedToTheResult) {
  constexpr int64_t kRows = tiles::kPanelVectors * 64 / sizeof(TypeParam);
  for (const int64_t columns : {13, 31}) {
    BlockedProduct<TypeParam> product({kRows, 1, columns + 4, 2, 520, 2},
                                      {kRows, 1, columns, 2, 520, 1}, {0, 1, 2, 3});
    product.run(1, kRows);
    product.check();
  }
  for (const int64_t columns : {1, 5, 53}) {
    BlockedProduct<TypeParam> product({kRows + 3, 1, columns, 1, 520, 2},
                                      {kRows + 3, 1, columns, 1, 520, 1}, {0, 1, 2, 3});
    product.run(1, kRows);
    product.check();
  }
}

TYPED_TEST(BlockKernelTest, ResultWithShortRuns) {
  BlockedProduct<TypeParam> product({3, 50, 2, 40, 9, 1}, {3, 24, 2, 40, 4, 1}, {0, 2, 1, 3});
  product.run(2, 10);
  product.check();
}

TYPED_TEST(BlockKernelTest, ResultNotContiguousAlongM) {
  BlockedProduct<TypeParam> product({20, 4, 9, 7, 5, 2}, {20, 4, 9, 7, 5, 2}, {2, 0, 3, 1});
  product.run(0);
  product.check();
}

/// C is aligned in some blocks, in others not; the distances are multiples of vectors in some.
TYPED_TEST(BlockKernelTest, ResultPastCaches) {
  for (const int64_t first : {63, 47, 40, 31, 20, 7})
    for (const int64_t count : {63, 32, 24, 9})
      for (const std::size_t panelDims : {0, 1, 2}) {
        BlockedProduct<TypeParam> product({first, 2, 31, 3, 9, 2}, {count, 1, 13, 3, 9, 2},
                                          {0, 1, 2, 3}, true);
        product.run(panelDims, panelDims == 1 ? 16 : 1);
        product.check();
      }
}

/// Columns of a short m that lie one after the other, starting anywhere in a line.
TYPED_TEST(BlockKernelTest, ShortColumnsPastCaches) {
  for (const int64_t rows : {1, 2, 3, 5, 16, 17, 20, 24, 60})
    for (const int64_t columns : {1, 5, 31, 100})
      for (const std::size_t panelDims : {0, 2}) {
        BlockedProduct<TypeParam> product({rows, 5, columns, 3, 9, 2},
                                          {rows, 2, columns == 100 ? 90 : 7, 3, 9, 2}, {0, 2, 1, 3},
                                          true, 0);
        product.run(panelDims, 2);
        product.check();
      }
}

/// The same where several runs of columns are in a tile, with sums of any length.
TYPED_TEST(BlockKernelTest, ShortRunsOfColumnsPastCaches) {
  for (const int64_t sums : {1, 7, 12, 13, 40})
    for (const int64_t columns : {4, 11, 20})
      for (const int64_t rows : {13, 20, 32}) {
        BlockedProduct<TypeParam> product({rows, 7, columns, 9, sums, 1},
                                          {rows, 3, columns, 5, sums, 1}, {0, 2, 1, 3}, true, 0);
        product.run(2, 1 + 64 / rows);
        product.check();
      }
}

/// Columns whose vectors go on from one to the next. They do not where runs of columns are no whole
/// vectors or begin in the midst of one, or where panels end in the midst of a column.
TYPED_TEST(BlockKernelTest, JoinedColumnsPastCaches) {
  const auto check = [](const std::array<int64_t, 4> &extents, int64_t columns,
                        const std::array<int, 4> &order, int64_t panelCount, int64_t past = 0) {
    const auto [m0, m1, n0, n1] = extents;
    BlockedProduct<TypeParam> product({m0, m1, n0, n1, 5, 2}, {m0, m1, columns, n1, 5, 2}, order,
                                      true, 0, past);
    product.run(2, panelCount);
    product.check();
  };
  for (const int64_t panelCount : {2, 3, 4, 5, 7})
    for (const int64_t rows : {10, 12, 20, 24})
      for (const int64_t past : {0, 1})
        check({rows, 7, 16, 5}, 8, {0, 2, 1, 3}, panelCount, past);
  check({20, 4, 4, 5}, 3, {0, 2, 1, 3}, 4);
  check({20, 4, 5, 4}, 4, {0, 2, 3, 1}, 4);
  check({20, 4, 5, 4}, 4, {0, 2, 1, 3}, 4);
  check({10, 4, 5, 4}, 4, {0, 2, 1, 3}, 4);
  check({10, 4, 5, 4}, 4, {0, 2, 3, 1}, 4);
}

/// Whole lines of rows that begin anywhere in one. Blocks at the ends of dims may have rows that
/// are shorter than a vector, which tiles compute, as they do long sums.
TYPED_TEST(BlockKernelTest, WholeLines) {
  const auto check = [](int64_t rows, int64_t sums, const std::array<int, 4> &order, int64_t gap) {
    BlockedProduct<TypeParam> product({rows, 3, 9, 5, sums, 2}, {rows, 2, 9, 3, sums, 2}, order,
                                      true, gap, 3);
    product.runInLines();
    product.check();
  };
  for (const int64_t rows : {3, 8, 16, 21, 40, 67})
    for (const auto &order :
         {std::array{0, 1, 2, 3}, std::array{0, 2, 1, 3}, std::array{0, 3, 2, 1}})
      for (const int64_t gap : {0, 1})
        check(rows, 3, order, gap);
  for (const int64_t sums : {1, 127, 128, 129})
    check(21, sums, {0, 2, 1, 3}, 0);
  BlockedProduct<TypeParam> product({45, 3, 20, 9, 5, 2}, {40, 3, 11, 9, 5, 2}, {0, 2, 1, 3}, true,
                                    0);
  product.runInLines();
  product.check();
}

/// Panels that end in the midst of the first dim, several times in it, or hold several of its rows.
TYPED_TEST(BlockKernelTest, PanelsAcrossDims) {
  for (const int64_t rows : {1, 7, 16, 25, 48, 60, 64})
    for (const bool pastCaches : {false, true}) {
      BlockedProduct<TypeParam> product({25, 7, 9, 2, 17, 3}, {25, 4, 9, 2, 17, pastCaches ? 3 : 2},
                                        {0, 2, 1, 3}, pastCaches);
      product.run(0, 1, rows);
      product.check();
    }
}

/// Runs of C of every length up to some vectors, alone and between columns.
TYPED_TEST(BlockKernelTest, RunsInScratch) {
  for (const bool pastCaches : {false, true})
    for (int64_t length = 1; length <= 35; ++length) {
      BlockedProduct<TypeParam> product({length, 7, 5, 9, 17, 1}, {length, 3, 5, 4, 17, 1},
                                        {0, 2, 1, 3}, pastCaches, 0);
      product.run(2, 3, 0, true);
      product.check();
      if (this->HasFatalFailure()) {
        ADD_FAILURE() << "with " << length;
        return;
      }
    }
}

/// Sums of several blocks, in columns with and without gaps, of panels of whole and of cut dims.
TYPED_TEST(BlockKernelTest, SumsInScratch) {
  for (const int64_t gap : {0, 5})
    for (const int64_t length : {1, 3, 16, 24, 25})
      for (const int64_t panelRows : {0, 48})
        for (const bool pastCaches : {false, true}) {
          BlockedProduct<TypeParam> product({length, 7, 11, 5, 9, 5}, {length, 3, 4, 3, 9, 2},
                                            {0, 2, 1, 3}, pastCaches, 0);
          product.run(panelRows > 0 ? 0 : 2, 2, panelRows, false, 3 * length + gap);
          product.check();
          BlockedProduct<TypeParam> other({50, length, 7, 3, 7, 3}, {24, length, 5, 2, 4, 3},
                                          {2, 0, 1, 3}, pastCaches, 0);
          other.run(1, 24, 0, false, 24 * length + gap);
          other.check();
        }
}

TYPED_TEST(BlockKernelTest, SidesOfOneElement) {
  BlockedProduct<TypeParam> product({1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, {3, 2, 1, 0});
  product.run(0);
  product.check();
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
    const bool pastCaches = upTo(3) == 1, sumsInScratch = upTo(4) == 1;
    if (pastCaches && !sumsInScratch) {
      counts[4] = extents[4]; // C is written once.
      counts[5] = extents[5];
    }
    BlockedProduct<TypeParam> product(extents, counts, order, pastCaches, upTo(2) - 1);
    const auto panelDims = static_cast<std::size_t>(upTo(3) - 1);
    product.run(panelDims, upTo(panelDims < 2 ? counts[0] : counts[1]), upTo(4) == 1 ? upTo(64) : 0,
                upTo(3) == 1 && !sumsInScratch,
                sumsInScratch ? counts[0] * counts[1] + upTo(20) - 1 : 0);
    product.check();
    if (this->HasFatalFailure()) {
      ADD_FAILURE() << "in round " << round;
      return;
    }
  }
}

} // namespace
