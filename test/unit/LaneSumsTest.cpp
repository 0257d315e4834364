//===- LaneSumsTest.cpp - the sums of the lanes of several vectors ----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/LaneSums.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace {

using namespace einsumc;

template <class T, int Count> void expectSums() {
  constexpr int kLanes = simd::kLanes<T>;
  std::array<simd::Vector<T>, Count> vectors;
  std::array<T, Count> expected = {};
  for (int v = 0; v < Count; ++v)
    for (int lane = 0; lane < kLanes; ++lane) {
      // Each lane has a value of its own, so none may take another's place.
      const T value = static_cast<T>(v * kLanes + lane + 1);
      vectors[static_cast<std::size_t>(v)][lane] = value;
      expected[static_cast<std::size_t>(v)] += value;
    }
  std::array<T, Count + kLanes> sums = {};
  putLaneSums<T, Count>(vectors.data(), sums.data());
  for (int v = 0; v < Count; ++v)
    EXPECT_EQ(sums[static_cast<std::size_t>(v)], expected[static_cast<std::size_t>(v)])
        << v << " of " << Count;
}

/// All that dots have at a time.
template <class T> void expectSumsOfAllCounts() {
  [&]<int... Less>(std::integer_sequence<int, Less...>) {
    (expectSums<T, Less + 1>(), ...);
  }(std::make_integer_sequence<int, 24>());
}

TEST(LaneSums, OfAnyNumberOfVectors) {
  expectSumsOfAllCounts<float>();
  expectSumsOfAllCounts<double>();
}

} // namespace
