//===- ExchangeTest.cpp - a tensor from one layout to another ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Exchange.h"

#include "RandomLayout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

namespace {

using namespace einsumc;
using test::RandomLayouts;

/// Calls visit(element, number) for all elements of the block a rank stores, `number` being the
/// element's row-major number in the whole tensor.
template <class T, class Visit> void forEach(const Tensor<T> &tensor, Visit &&visit) {
  const Box &box = tensor.box();
  for (int64_t local = 0; local < tensor.size(); ++local) {
    int64_t rest = local;
    int64_t number = 0;
    int64_t weight = 1;
    for (std::size_t p = box.size(); p-- > 0; rest /= box[p].size()) {
      number += (box[p].begin + rest % box[p].size()) * weight;
      weight *= tensor.layout().extents[p];
    }
    visit(tensor.data()[local], number);
  }
}

/// The row-major number of a rank's coordinates on the Partial axes.
int64_t partialNumber(const Layout &layout, int64_t rank) {
  const std::vector<int64_t> place = layout.grid.coordinates(rank);
  int64_t number = 0;
  for (std::size_t axis = 0; axis < place.size(); ++axis)
    if (layout.axes[axis].kind == AxisKind::Partial)
      number = number * layout.grid.extents[axis] + place[axis];
  return number;
}

int64_t partialSums(const Layout &layout) {
  int64_t sums = 1;
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
    if (layout.axes[axis].kind == AxisKind::Partial)
      sums *= layout.grid.extents[axis];
  return sums;
}

/// Small whole numbers, so that no sum of them is rounded.
int64_t contribution(int64_t element, int64_t partialSum, int64_t round) {
  return 16 * element + 3 * partialSum + 1 + round;
}

int64_t total(int64_t element, int64_t sums, int64_t round) {
  int64_t result = 0;
  for (int64_t p = 0; p < sums; ++p)
    result += contribution(element, p, round);
  return result;
}

template <class T> class ExchangeOf : public testing::Test {
protected:
  /// Fills the source, moves it, and checks the target: twice, as an exchange is used many times.
  void checkExchange(const Layout &from, const Layout &to, int tag) {
    const Tensor<T> source(ledger, from, world.rank());
    const Tensor<T> target(ledger, to, world.rank());
    Exchange<T> exchange(world, memory, from, to, tag);
    for (int64_t round = 0; round < 2; ++round) {
      fill(source, round);
      std::ranges::fill(target.span(), std::numeric_limits<T>::quiet_NaN());
      checkTraffic(exchange.run(source, target), from, to);
      int64_t wrong = 0;
      forEach(target, [&](T value, int64_t element) {
        wrong += value != static_cast<T>(total(element, partialSums(from), round));
      });
      EXPECT_EQ(wrong, 0) << "wrong elements of " << target.size() << " in round " << round;
      int64_t changed = 0;
      forEach(source, [&](T value, int64_t element) {
        changed += value !=
                   static_cast<T>(contribution(element, partialNumber(from, world.rank()), round));
      });
      EXPECT_EQ(changed, 0) << "elements of the source were overwritten";
    }
  }

  void fill(const Tensor<T> &source, int64_t round) {
    if (!source.held())
      return;
    const int64_t partialSum = partialNumber(source.layout(), world.rank());
    forEach(source, [&](T &value, int64_t element) {
      value = static_cast<T>(contribution(element, partialSum, round));
    });
  }

  void checkTraffic(const Traffic &traffic, const Layout &from, const Layout &to) {
    int64_t receivers = 0;
    for (const Transfer &transfer : outgoingTransfers(from, to, world.rank()))
      receivers += transfer.to != world.rank();
    EXPECT_EQ(traffic.messages, receivers);
    int64_t bytes = traffic.bytes;
    sumOverRanks(world, std::span(&bytes, 1));
    EXPECT_EQ(bytes, transferVolume(from, to) * static_cast<int64_t>(sizeof(T)));
  }

  /// All ranks on a grid of one axis.
  Layout line(std::vector<int64_t> extents, AxisPlacement placement) const {
    return {std::move(extents), {{world.size()}}, {placement}};
  }

  Communicator world{MPI_COMM_WORLD};
  MemoryLedger ledger;
  ScratchMemory memory{ledger};
};

using ElementTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(ExchangeOf, ElementTypes);

TYPED_TEST(ExchangeOf, rowsToColumns) {
  this->checkExchange(this->line({23, 31}, split(0)), this->line({23, 31}, split(1)), 1);
}

TYPED_TEST(ExchangeOf, copiesFromBlocks) {
  this->checkExchange(this->line({3, 29, 5}, split(1)), this->line({3, 29, 5}, copied()), 2);
}

TYPED_TEST(ExchangeOf, blocksFromTheRoot) {
  this->checkExchange(this->line({13, 4}, atRoot()), this->line({13, 4}, split(0)), 3);
}

TYPED_TEST(ExchangeOf, partialSumsOfAScalar) {
  this->checkExchange(this->line({}, partial()), this->line({}, copied()), 4);
}

TYPED_TEST(ExchangeOf, partialSumsToBlocks) {
  this->checkExchange(this->line({9, 14}, partial()), this->line({9, 14}, split(1)), 5);
}

TYPED_TEST(ExchangeOf, betweenGridsOfOneRankEach) {
  const int64_t last = this->world.size() - 1;
  this->checkExchange({{7, 3}, {{}, 0}, {}}, {{7, 3}, {{}, last}, {}}, 6);
}

TYPED_TEST(ExchangeOf, largerThanTheEagerLimit) {
  this->checkExchange(this->line({700, 501}, split(0)), this->line({700, 501}, split(1)), 7);
}

TYPED_TEST(ExchangeOf, randomLayouts) {
  RandomLayouts random(3);
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(trial);
    const std::vector<int64_t> extents = random.extents();
    const Layout source = random.layout(extents, this->world.size(), true);
    const Layout target = random.layout(extents, this->world.size(), false);
    this->checkExchange(source, target, 8 + trial % 2);
  }
}

TYPED_TEST(ExchangeOf, contiguousBoxesNeedNoBuffers) {
  const Layout rows = this->line({20, 6}, split(0));
  const Layout copies = this->line({20, 6}, copied());
  const Exchange<TypeParam> exchange(this->world, this->memory, rows, copies, 1);
  EXPECT_EQ(this->ledger.peakBytes(), 0U);
}

TYPED_TEST(ExchangeOf, partialSumsAreAddedInTheOrderOfTheRanks) {
  // Large numbers that cancel: any other order of the sums rounds differently.
  const auto addend = [](int64_t rank) {
    const TypeParam large = 4 / std::numeric_limits<TypeParam>::epsilon();
    return rank % 3 == 0 ? large : rank % 3 == 1 ? TypeParam{1} : -large;
  };
  TypeParam expected = addend(0);
  for (int64_t rank = 1; rank < this->world.size(); ++rank)
    expected += addend(rank);

  const Layout partials = this->line({2, 3}, partial());
  const Layout copies = this->line({2, 3}, copied());
  const Tensor<TypeParam> source(this->ledger, partials, this->world.rank());
  const Tensor<TypeParam> target(this->ledger, copies, this->world.rank());
  Exchange<TypeParam> exchange(this->world, this->memory, partials, copies, 1);
  std::ranges::fill(source.span(), addend(this->world.rank()));
  for (int late = 0; late < this->world.size(); ++late) {
    barrier(this->world);
    if (this->world.rank() == late)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    exchange.run(source, target);
    for (const TypeParam value : target.span())
      EXPECT_EQ(value, expected) << "when rank " << late << " comes last";
  }
}

} // namespace
