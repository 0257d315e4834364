//===- PackStorageTest.cpp - blocks of memory that live at different times --------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/ir/PackStorage.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

namespace {

using namespace einsumc;

using Requests = std::vector<StorageRequest>;

void expectValid(const Requests &requests, const StoragePacking &packing) {
  ASSERT_EQ(packing.offsets.size(), requests.size());
  for (std::size_t a = 0; a < requests.size(); ++a) {
    const std::size_t end = packing.offsets[a] + requests[a].bytes;
    EXPECT_EQ(packing.offsets[a] % kStorageAlignment, 0U);
    EXPECT_LE(end, packing.bytes);
    for (std::size_t b = 0; b < a; ++b)
      if (requests[a].life.overlaps(requests[b].life)) {
        EXPECT_TRUE(end <= packing.offsets[b] ||
                    packing.offsets[b] + requests[b].bytes <= packing.offsets[a])
            << "blocks " << a << " and " << b;
      }
  }
}

std::size_t sumOf(const Requests &requests) {
  std::size_t sum = 0;
  for (const StorageRequest &request : requests)
    sum += (request.bytes + kStorageAlignment - 1) / kStorageAlignment * kStorageAlignment;
  return sum;
}

TEST(PackStorage, nothing) { EXPECT_EQ(packStorage({}).bytes, 0U); }

TEST(PackStorage, lifetimesIncludeTheirLastStep) {
  EXPECT_EQ(packStorage({{64, {0, 1}}, {64, {1, 2}}}).bytes, 128U);
  EXPECT_EQ(packStorage({{64, {0, 1}}, {64, {2, 3}}}).bytes, 64U);
}

TEST(PackStorage, aChainNeedsTwoPlaces) {
  Requests chain;
  for (int step = 0; step < 100; ++step)
    chain.push_back({640, {step, step + 1}});
  EXPECT_EQ(packStorage(chain).bytes, 2U * 640);
}

TEST(PackStorage, smallBlocksLieSideBySideInALargeOnesPlace) {
  const Requests requests = {{1024, {0, 1}}, {512, {2, 3}}, {512, {2, 3}}};
  EXPECT_EQ(packStorage(requests).bytes, 1024U);
}

TEST(PackStorage, theLastBlockIsNotPadded) {
  EXPECT_EQ(packStorage({{3, {0, 0}}, {5, {0, 0}}}).bytes, 64U + 3);
}

TEST(PackStorage, sumsBeyondAllMemoryDoNotWrap) {
  const std::size_t half = std::size_t{1} << 63;
  const StoragePacking packing = packStorage({{half, {0, 1}}, {half, {0, 1}}, {half, {1, 1}}});
  EXPECT_EQ(packing.bytes, std::numeric_limits<std::size_t>::max());
}

/// Lifetimes as trees have them (short, some long), and sizes of all orders of magnitude.
TEST(PackStorage, randomRequests) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 500; ++round) {
    Requests requests;
    const int count = 1 + below(40);
    const int longest = 1 + below(12);
    for (int i = 0; i < count; ++i) {
      const int first = below(30);
      const int length = below(10) == 0 ? below(30) : below(longest);
      const std::size_t bytes =
          kStorageAlignment * static_cast<std::size_t>((1 + below(64)) << below(10)) -
          static_cast<std::size_t>(below(3));
      requests.push_back({bytes, {first, first + length}});
    }
    const StoragePacking packing = packStorage(requests);
    expectValid(requests, packing);
    EXPECT_LE(packing.bytes, sumOf(requests));
    const std::size_t bound = mostLiveBytes(requests);
    EXPECT_GE(packing.bytes, bound);
    EXPECT_LE(static_cast<double>(packing.bytes), 1.3 * static_cast<double>(bound));
  }
}

} // namespace
