//===- PhiloxTest.cpp - reproducible random inputs --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/Philox.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using namespace einsumc;
using Words = std::array<uint32_t, 4>;

// The known answers that come with Random123.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The known answers of the FNV specification.
TEST(HashName, KnownAnswers) {
  EXPECT_EQ(hashName(""), 0xcbf29ce484222325U);
  EXPECT_EQ(hashName("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(hashName("foobar"), 0x85944171f73967e8U);
}

/// What docs/programs.md says an element is.
template <class T> T documented(int64_t index, uint64_t seed, const std::string &name) {
  const int64_t perCounter = std::is_same_v<T, float> ? 4 : 2;
  const auto group = static_cast<uint64_t>(index / perCounter);
  const uint64_t hash = hashName(name);
  const Words words = philox({static_cast<uint32_t>(group), static_cast<uint32_t>(group >> 32),
                              static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32)},
                             {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const auto slot = static_cast<std::size_t>(index % perCounter);
  if constexpr (std::is_same_v<T, float>)
    return static_cast<float>(std::ldexp(words[slot] >> 8, -23) - 1);
  const uint64_t low = words[2 * slot], high = words[2 * slot + 1];
  return static_cast<T>(std::ldexp(static_cast<double>((high << 32 | low) >> 11), -52) - 1);
}

template <class T> class FillRandom : public testing::Test {
public:
  /// A block of a tensor that is filled.
  static std::vector<T> fill(const Layout &layout, const Box &box, uint64_t seed) {
    std::vector<T> values(static_cast<std::size_t>(volume(box)));
    const TensorView view{sizeof(T) == 4 ? DType::F32 : DType::F64, &layout, box, true,
                          reinterpret_cast<std::byte *>(values.data())};
    fillRandom(view, seed, "W");
    return values;
  }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FillRandom, Types);

TYPED_TEST(FillRandom, ElementsDependOnTheirGlobalPositionAlone) {
  const uint64_t seed = 0x123456789abcdef;
  const Layout layout{{5, 7, 131}, {}, {}};
  const std::vector<Box> boxes = {{{0, 5}, {0, 7}, {0, 131}}, {{2, 4}, {0, 7}, {0, 131}},
                                  {{1, 3}, {2, 7}, {0, 131}}, {{0, 5}, {1, 2}, {3, 8}},
                                  {{4, 5}, {6, 7}, {5, 131}}, {{0, 5}, {0, 7}, {130, 131}}};
  for (const Box &box : boxes) {
    const std::vector<TypeParam> values = this->fill(layout, box, seed);
    std::size_t at = 0;
    for (int64_t i = box[0].begin; i < box[0].end; ++i)
      for (int64_t j = box[1].begin; j < box[1].end; ++j)
        for (int64_t k = box[2].begin; k < box[2].end; ++k, ++at)
          ASSERT_EQ(values[at], documented<TypeParam>((i * 7 + j) * 131 + k, seed, "W"))
              << i << "," << j << "," << k;
  }
}

TYPED_TEST(FillRandom, ARegionHasTheNumbersOfTheWholeTensor) {
  const Layout layout{{2, 7, 10}, {}, {}};
  const Region region({6, 7, 130}, {4, 0, 50});
  const Box box{{0, 1}, {1, 6}, {3, 10}};
  std::vector<TypeParam> values(static_cast<std::size_t>(volume(box)));
  const TensorView view{sizeof(TypeParam) == 4 ? DType::F32 : DType::F64, &layout, box, true,
                        reinterpret_cast<std::byte *>(values.data())};
  fillRandom(view, 5, "W", region);
  std::size_t at = 0;
  for (int64_t j = 1; j < 6; ++j)
    for (int64_t k = 53; k < 60; ++k, ++at)
      ASSERT_EQ(values[at], documented<TypeParam>((4 * 7 + j) * 130 + k, 5, "W")) << j << "," << k;
}

TYPED_TEST(FillRandom, PositionsBeyond32BitsHaveNumbersOfTheirOwn) {
  const int64_t begin = (int64_t{1} << 40) + 5;
  const Layout layout{{int64_t{1} << 41}, {}, {}};
  const std::vector<TypeParam> values = this->fill(layout, {{begin, begin + 200}}, 3);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], documented<TypeParam>(begin + static_cast<int64_t>(i), 3, "W"));
}

TYPED_TEST(FillRandom, ThreadsDoNotMatter) {
  const Layout layout{{3, 50000}, {}, {}};
  const Box box{{0, 3}, {0, 50000}};
  omp_set_num_threads(1);
  const std::vector<TypeParam> one = this->fill(layout, box, 1);
  omp_set_num_threads(3);
  EXPECT_EQ(this->fill(layout, box, 1), one);
}

TYPED_TEST(FillRandom, UniformInMinusOneToOne) {
  const int64_t size = 1 << 18;
  const Layout layout{{size}, {}, {}};
  const std::vector<TypeParam> values = this->fill(layout, {{0, size}}, 0);
  double sum = 0, squares = 0;
  for (const TypeParam value : values) {
    ASSERT_GE(value, -1);
    ASSERT_LT(value, 1);
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  EXPECT_NEAR(sum / size, 0, 0.005);
  EXPECT_NEAR(squares / size, 1.0 / 3, 0.005);
}

TEST(FillRandomScalar, IsTheFirstElement) {
  const Layout layout;
  float value = 0;
  fillRandom({DType::F32, &layout, {}, true, reinterpret_cast<std::byte *>(&value)}, 7, "s");
  EXPECT_EQ(value, documented<float>(0, 7, "s"));
}

} // namespace
