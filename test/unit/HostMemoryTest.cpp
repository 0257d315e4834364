//===- HostMemoryTest.cpp - memory that the processes of a host share -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/HostMemory.h"
#include "../../runtime/HostRanks.h"

#include "einsumc/Program.h"
#include "einsumc/Stepping.h"
#include "einsumc/Tensor.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

namespace {

using namespace einsumc;

class HostMemories : public testing::Test {
protected:
  static double valueOf(std::size_t rank, std::size_t place) {
    return 1000.0 * static_cast<double>(rank) + static_cast<double>(place);
  }
  static double *elementsOf(std::byte *data) { return reinterpret_cast<double *>(data); }

  std::size_t rank() const { return static_cast<std::size_t>(comm.rank()); }
  std::size_t size() const { return static_cast<std::size_t>(comm.size()); }

  /// Of other sizes on each rank.
  std::size_t elementsOn(std::size_t rank) const { return 700000 + 1000 * rank; }

  Communicator comm{MPI_COMM_WORLD};
  HostRanks host{comm};
  MemoryLedger ledger;
};

TEST_F(HostMemories, eachSeesAndChangesWhatOthersHave) {
  const Buffer buffer(ledger, elementsOn(rank()) * sizeof(double), MemoryUse::Travellers);
  for (std::size_t i = 0; i < elementsOn(rank()); ++i)
    elementsOf(buffer.data())[i] = valueOf(rank(), i);
  const HostView &view = buffer.hostView(host.comm());
  ASSERT_TRUE(view.isComplete());
  EXPECT_EQ(&buffer.hostView(host.comm()), &view);
  EXPECT_EQ(view.data(rank()), buffer.data());
  barrier(comm);
  for (std::size_t other = 0; other < size(); ++other)
    for (const std::size_t i : {std::size_t{0}, elementsOn(other) - 1})
      EXPECT_EQ(elementsOf(view.data(other))[i], valueOf(other, i));
  barrier(comm);
  const std::size_t next = (rank() + 1) % size();
  elementsOf(view.data(next))[rank()] = -1;
  barrier(comm);
  EXPECT_EQ(elementsOf(buffer.data())[(rank() + size() - 1) % size()], -1);
  barrier(comm);
}

TEST_F(HostMemories, staysWhereABufferMoves) {
  Buffer first(ledger, 4096, MemoryUse::Travellers);
  elementsOf(first.data())[5] = valueOf(rank(), 5);
  const HostView &view = first.hostView(host.comm());
  Buffer second;
  second = std::move(first);
  EXPECT_EQ(&second.hostView(host.comm()), &view);
  barrier(comm);
  const std::size_t next = (rank() + 1) % size();
  EXPECT_EQ(elementsOf(view.data(next))[5], valueOf(next, 5));
  EXPECT_EQ(ledger.tensorPeakBytes(), 4096U);
  barrier(comm);
}

TEST_F(HostMemories, ranksWithoutElements) {
  const Buffer buffer(ledger, rank() == 0 ? 64 : 0, MemoryUse::Travellers);
  if (rank() == 0)
    elementsOf(buffer.data())[0] = 7;
  const HostView &view = buffer.hostView(host.comm());
  ASSERT_TRUE(view.isComplete());
  barrier(comm);
  EXPECT_EQ(elementsOf(view.data(0))[0], 7);
  barrier(comm);
}

/// All or none: ranks must not disagree on how they get at each other's chunks.
TEST_F(HostMemories, oneRankThatHasOtherMemoryIsEnough) {
  const Buffer buffer(ledger, 64, rank() == 0 ? MemoryUse::Tensors : MemoryUse::Travellers);
  EXPECT_FALSE(buffer.hostView(host.comm()).isComplete());
}

/// Where files are limited, memory that is one would end the process.
TEST_F(HostMemories, limitOfFiles) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 1 << 16;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::optional<Buffer> large, small;
  large.emplace(ledger, (1 << 16) + 1, MemoryUse::Travellers);
  small.emplace(ledger, 1 << 16, MemoryUse::Travellers);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  large->data()[1 << 16] = std::byte{1};
  EXPECT_FALSE(large->hostView(host.comm()).isComplete());
  EXPECT_TRUE(small->hostView(host.comm()).isComplete());
}

/// Files in memory may be larger than it is.
TEST_F(HostMemories, noMoreThanThereIs) {
  constexpr std::size_t kTooMuch = std::size_t{1} << 46;
  EXPECT_EQ(HostMemory::make(kTooMuch), nullptr);
#ifndef __SANITIZE_ADDRESS__ // Which ends a program that wants too much.
  EXPECT_THROW(Buffer(ledger, kTooMuch, MemoryUse::Travellers), std::bad_alloc);
#endif
}

/// Mapped by all, it needs no descriptor any more.
TEST_F(HostMemories, keepsNoDescriptors) {
  const auto nextDescriptor = [] { return HostMemory::make(4096)->address().descriptor; };
  const int64_t before = nextDescriptor();
  const Buffer buffer(ledger, 4096, MemoryUse::Travellers);
  EXPECT_NE(nextDescriptor(), before);
  ASSERT_TRUE(buffer.hostView(host.comm()).isComplete());
  EXPECT_EQ(nextDescriptor(), before);
  barrier(comm);
}

/// All or none, also where one rank alone has no room for what others have.
TEST_F(HostMemories, oneRankThatCannotMapIsEnough) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const Buffer buffer(ledger, kBytes, MemoryUse::Travellers);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  if (rank() == 1) {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before;
    limit.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + kBytes / 2;
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }
  EXPECT_FALSE(buffer.hostView(host.comm()).isComplete());
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

/// What another process' number and descriptor lead to may be another file.
TEST_F(HostMemories, addressesNameTheFile) {
  const auto one = HostMemory::make(4096), other = HostMemory::make(4096);
  ASSERT_TRUE(one && other);
  const HostMemory::Address a = one->address(), b = other->address();
  EXPECT_EQ(a.process, b.process);
  EXPECT_NE(a.descriptor, b.descriptor);
  EXPECT_NE(std::pair(a.device, a.file), std::pair(b.device, b.file));
  EXPECT_EQ(HostMemory::make(0), nullptr);
  const std::span<std::byte> mapped = HostMemory::map(a, 4096);
  ASSERT_EQ(mapped.size(), 4096U);
  one->data()[7] = std::byte{42};
  EXPECT_EQ(mapped[7], std::byte{42});
  munmap(mapped.data(), mapped.size());
  HostMemory::Address wrong = a;
  wrong.file = b.file;
  EXPECT_TRUE(HostMemory::map(wrong, 4096).empty());
  wrong = a;
  ++wrong.device;
  EXPECT_TRUE(HostMemory::map(wrong, 4096).empty());
}

TEST_F(HostMemories, linesOfAGrid) {
  EXPECT_EQ(host.comm().size(), comm.size());
  EXPECT_EQ(host.placeOf(comm.rank()), std::optional(rank()));
  EXPECT_EQ(host.placeOf(comm.size()), std::nullopt);
  const Grid grid{{comm.size() / 2, 2}, 0};
  const Communicator *const rows = host.line(grid, 1);
  const Communicator *const columns = host.line(grid, 0);
  EXPECT_EQ(host.line(grid, 1), rows);
  if (!grid.contains(comm.rank())) {
    EXPECT_EQ(rows, nullptr);
    EXPECT_EQ(columns, nullptr);
    return;
  }
  EXPECT_EQ(rows->size(), 2);
  EXPECT_EQ(rows->rank(), comm.rank() % 2);
  EXPECT_EQ(columns->size(), comm.size() / 2);
  EXPECT_EQ(columns->rank(), comm.rank() / 2);
}

/// Two ranks each are taken for a host.
TEST_F(HostMemories, linesOfOtherHosts) {
  HostRanks pair(comm.rank(), comm.split(comm.rank() / 2, comm.rank()));
  EXPECT_EQ(pair.placeOf(comm.rank()), std::optional(rank() % 2));
  EXPECT_EQ(pair.placeOf((comm.rank() + 2) % 4), std::nullopt);
  const Grid all{{comm.size()}, 0}, pairs{{comm.size() / 2, 2}, 0};
  const bool isOneHost = comm.size() == 2;
  EXPECT_EQ(pair.hasLine(all, 0), isOneHost);
  EXPECT_EQ(pair.line(all, 0) != nullptr, isOneHost);
  EXPECT_EQ(pair.hasLine(pairs, 1), pairs.contains(comm.rank()));
  EXPECT_EQ(pair.line(pairs, 1) != nullptr, pairs.contains(comm.rank()));
  EXPECT_EQ(pair.line(pairs, 0) != nullptr, pairs.contains(comm.rank()) && comm.size() < 4);
}

/// A session asks for such memory only where its host has a line.
TEST_F(HostMemories, memoryOfNodes) {
  Session session(MPI_COMM_WORLD, 1);
  const Grid grid{{comm.size()}, 0};
  Stepping ring{.work = {{8, 8, 8}, grid, {split(0)}},
                .dim = 1,
                .pace = 1,
                .travellers = {{.role = 1,
                                .movement = StepMovement::Ring,
                                .chunks = {{8, 8}, grid, {split(1)}},
                                .axis = 0,
                                .position = 1}}};
  EXPECT_EQ(session.memoryFor({&ring}), MemoryUse::Travellers);
  EXPECT_EQ(session.memoryFor({}), MemoryUse::Tensors);
  Stepping sums = ring;
  sums.travellers[0].role = 2;
  sums.travellers[0].movement = StepMovement::Get;
  EXPECT_EQ(session.memoryFor({&sums}), MemoryUse::Tensors);
  EXPECT_EQ(session.memoryFor({&sums, &ring}), MemoryUse::Travellers);
  session.setNeighbours(
      std::make_unique<HostRanks>(comm.rank(), comm.split(comm.rank() / 2, comm.rank())));
  EXPECT_EQ(session.memoryFor({&ring}),
            comm.size() == 2 ? MemoryUse::Travellers : MemoryUse::Tensors);
  EXPECT_EQ(Session(MPI_COMM_WORLD, 1, InPlace::None).memoryFor({&ring}), MemoryUse::Tensors);
}

} // namespace
