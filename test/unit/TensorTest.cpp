//===- TensorTest.cpp - the memory of tensors -------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Tensor.h"
#include "einsumc/SharedStorage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace {

using namespace einsumc;

TEST(Buffer, isAlignedToCacheLines) {
  MemoryLedger ledger;
  const Buffer small(ledger, 1);
  const Buffer large(ledger, 1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.data()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % 64, 0U);
}

TEST(Buffer, ofNoBytesHasNoMemory) {
  MemoryLedger ledger;
  EXPECT_EQ(Buffer(ledger, 0).data(), nullptr);
  EXPECT_EQ(ledger.peakBytes(), 0U);
}

TEST(Buffer, ledgerKnowsWhatIsHeldAndWasHeld) {
  MemoryLedger ledger;
  const Buffer first(ledger, 100);
  {
    const Buffer second(ledger, 50);
  }
  const Buffer third(ledger, 20);
  EXPECT_EQ(ledger.currentBytes(), 120U);
  EXPECT_EQ(ledger.peakBytes(), 150U);
}

TEST(Buffer, movesAreNotCountedTwice) {
  MemoryLedger ledger;
  {
    Buffer first(ledger, 100);
    std::byte *const memory = first.data();
    Buffer second(std::move(first));
    EXPECT_EQ(second.data(), memory);
    EXPECT_EQ(first.size(), 0U); // NOLINT(bugprone-use-after-move): what a move leaves is defined.
    EXPECT_EQ(ledger.currentBytes(), 100U);
    second = Buffer(ledger, 30);
    EXPECT_EQ(ledger.currentBytes(), 30U);
    EXPECT_EQ(second.size(), 30U);
  }
  EXPECT_EQ(ledger.currentBytes(), 0U);
}

TEST(ScratchMemory, isAsLargeAsTheLargestRequest) {
  MemoryLedger ledger;
  ScratchMemory memory(ledger);
  memory.reserve(100);
  memory.reserve(300);
  memory.reserve(200);
  EXPECT_EQ(ledger.peakBytes(), 300U);
}

TEST(SharedStorage, isAsLargeAsThisRanksBlocksNeed) {
  MemoryLedger ledger;
  const Layout rows = makeLayout({3, 16}, {2}, {split(0)});
  const Layout root = makeLayout({100}, {2}, {atRoot()});
  const SharedStorage first(ledger, 0, sizeof(float), {{&rows, 0}, {&root, 128}});
  EXPECT_EQ(first.size(), 128 + 100 * sizeof(float));
  const SharedStorage second(ledger, 1, sizeof(float), {{&rows, 0}, {&root, 128}});
  EXPECT_EQ(second.size(), 16 * sizeof(float));
  EXPECT_EQ(ledger.tensorPeakBytes(), first.size() + second.size());
}

TEST(SharedStorage, tensorsLieWhereTheyAreTold) {
  MemoryLedger ledger;
  const Layout layout = makeLayout({16}, {1}, {copied()});
  const SharedStorage storage(ledger, 0, sizeof(float), {{&layout, 0}, {&layout, 64}});
  const Tensor<float> tensor(storage, layout, 64);
  EXPECT_EQ(reinterpret_cast<std::byte *>(tensor.data()), storage.at(64));
  EXPECT_EQ(tensor.size(), 16);
}

TEST(Buffer, poisonIsNaN) {
  MemoryLedger ledger;
  setenv("EINSUMC_POISON", "1", 1);
  const Buffer buffer(ledger, 3 * sizeof(double));
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(std::isnan(reinterpret_cast<const double *>(buffer.data())[i]));
}

TEST(Tensor, blockIsRowMajor) {
  MemoryLedger ledger;
  const Layout layout = makeLayout({5, 4, 3}, {2}, {split(1)});
  const Tensor<float> tensor(ledger, layout, 1);
  EXPECT_EQ(tensor.size(), 5 * 2 * 3);
  EXPECT_EQ(tensor.stride(0), 6);
  EXPECT_EQ(tensor.stride(1), 3);
  EXPECT_EQ(tensor.stride(2), 1);
  EXPECT_EQ(tensor.at({1, 3, 2}) - tensor.data(), 6 + 3 + 2);
}

TEST(Tensor, ofARankThatHoldsNothingIsEmpty) {
  MemoryLedger ledger;
  const Layout scalar = makeLayout({}, {2}, {atRoot()});
  EXPECT_EQ(Tensor<double>(ledger, scalar, 0).size(), 1);
  const Tensor<double> nothing(ledger, scalar, 1);
  EXPECT_FALSE(nothing.held());
  EXPECT_EQ(nothing.size(), 0);
  EXPECT_EQ(nothing.data(), nullptr);
}

} // namespace
