//===- MemoryWindowTest.cpp - memory that other ranks read and add to one-sided ---------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/MemoryWindow.h"

#include "einsumc/Tensor.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace {

using namespace einsumc;

class MemoryWindows : public testing::Test {
protected:
  /// The value that a rank has at a place.
  static double valueOf(int rank, std::size_t place) {
    return 1000.0 * rank + static_cast<double>(place);
  }

  int next() const { return (comm.rank() + 1) % comm.size(); }

  /// What another rank has so many elements behind the start of its window.
  double fetch(const MemoryWindow &window, int rank, std::size_t place) const {
    double value = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    checkMpi(MPI_Rget(&value, 1, MPI_DOUBLE, rank,
                      window.displacement(rank, place * sizeof(double)), 1, MPI_DOUBLE,
                      window.get(), &request),
             "MPI_Rget");
    checkMpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    return value;
  }

  Communicator comm{MPI_COMM_WORLD};
  MemoryLedger ledger;
};

/// Which MPI libraries register once, and with another address than that of the window.
TEST_F(MemoryWindows, ofPartsThatOverlapElsewhereOnEveryRank) {
  constexpr std::size_t kElements = 4000, kLength = 300, kWindows = 20;
  const Buffer buffer(ledger, kElements * sizeof(double));
  const std::span elements(reinterpret_cast<double *>(buffer.data()), kElements);
  std::vector<std::unique_ptr<MemoryWindow>> windows;
  std::vector<std::size_t> begins;
  for (std::size_t w = 0; w < kWindows; ++w) {
    begins.push_back((460 * w + 40 * static_cast<std::size_t>(comm.rank())) % 3600 / 8 * 8);
    windows.push_back(std::make_unique<MemoryWindow>(
        comm, std::as_writable_bytes(elements.subspan(begins.back(), kLength))));
  }
  for (std::size_t w = 0; w < kWindows; ++w) {
    for (std::size_t i = 0; i < kLength; ++i)
      elements[begins[w] + i] = valueOf(comm.rank(), w + i);
    windows[w]->sync();
    barrier(comm);
    for (const std::size_t i : {std::size_t{0}, kLength - 1})
      EXPECT_EQ(fetch(*windows[w], next(), i), valueOf(next(), w + i)) << "window " << w;
    barrier(comm);
  }
}

TEST_F(MemoryWindows, aBufferHasOne) {
  const Buffer buffer(ledger, 64);
  const MemoryWindow &window = buffer.window(comm);
  EXPECT_EQ(&buffer.window(comm), &window);
  auto *const elements = reinterpret_cast<double *>(buffer.data());
  elements[3] = valueOf(comm.rank(), 3);
  window.sync();
  barrier(comm);
  EXPECT_EQ(fetch(window, next(), 3), valueOf(next(), 3));
  barrier(comm);
}

TEST_F(MemoryWindows, ranksMayHaveNothing) {
  Buffer buffer(ledger, comm.rank() == 0 ? 64 : 0);
  if (comm.rank() == 0)
    *reinterpret_cast<double *>(buffer.data()) = 7;
  {
    const Buffer moved(std::move(buffer));
    const MemoryWindow &window = moved.window(comm);
    window.sync();
    barrier(comm);
    EXPECT_EQ(fetch(window, 0, 0), 7);
    barrier(comm);
  }
}

} // namespace
