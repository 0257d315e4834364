//===- SteppingLoopTest.cpp - a node that computes while tensors move -------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/SteppingLoop.h"

#include "../../runtime/HostRanks.h"

#include "SteppingCase.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace einsumc;
using namespace einsumc::test;

using Index = std::array<int64_t, 4>; ///< of c, m, n, k

/// Calls visit(index) for all indices of a box over c, m, n, k.
template <class Visit> void forEach(const Box &box, Visit &&visit) {
  Index i{};
  for (i[kC] = box[kC].begin; i[kC] < box[kC].end; ++i[kC])
    for (i[kM] = box[kM].begin; i[kM] < box[kM].end; ++i[kM])
      for (i[kN] = box[kN].begin; i[kN] < box[kN].end; ++i[kN])
        for (i[kK] = box[kK].begin; i[kK] < box[kK].end; ++i[kK])
          visit(i);
}

/// Small whole numbers, so that no sum of them is rounded.
int64_t inputOf(std::size_t role, const Index &i, int64_t run) {
  const int64_t a = 3 * i[kC] + 5 * i[kM] + 7 * i[kK];
  const int64_t b = 11 * i[kC] + 2 * i[kN] + 13 * i[kK];
  return ((role == 0 ? a : b) + run) % 17 - 8;
}

/// A loop with its tensors and memory, which computes with plain nested loops.
template <class T> class Stepped {
public:
  Stepped(Session &session, const SteppingCase &of, std::size_t maxPiece, int tag = 100)
      : session(session), of(of),
        memoryLayouts{layoutOfMemory(0), layoutOfMemory(1), layoutOfMemory(2)},
        storage(session.memory(), session.rank(), sizeof(T),
                {{&memoryLayouts[0], offset(0)},
                 {&memoryLayouts[1], offset(1)},
                 {&memoryLayouts[2], offset(2)},
                 {&of.layouts[lender()], offset(3),
                  isLent() ? chunkMemory(of.stepping, 0).slotElements : 0}},
                session.memoryFor({&of.stepping})),
        tensors{tensor(0), tensor(1), tensor(2)},
        loop(session, of.stepping, tensors[0], tensors[1], tensors[2], storage,
             {offset(0), offset(1), offset(2)}, tag, maxPiece) {}

  /// Runs the loop some times, in each with other operands.
  /// \param longest microseconds that a step takes at most
  void check(int64_t runs, int64_t longest) {
    EXPECT_LE(loop.shapes().size(), mostShapes()) << "kernels are made for each of them";
    session.startRun(1);
    for (int64_t run = 0; run < runs; ++run) {
      fill(run);
      delay(longest);
      session.beginNode(0);
      loop.begin();
      while (const Step<T> *step = loop.next()) {
        delay(longest);
        compute(*step);
      }
      session.endNode(0);
      // At once: what is still read or written by others must not be free to use.
      checkResult(run);
      checkOperands(run);
      for (const Tensor<T> &tensor : tensors)
        std::ranges::fill(tensor.span(), std::numeric_limits<T>::quiet_NaN());
    }
    checkTraffic(runs);
  }

  void fill(int64_t run) {
    for (std::size_t role = 0; role < 2; ++role)
      forEachElement(
          role, [&](T &value, const Index &i) { value = static_cast<T>(inputOf(role, i, run)); });
    std::ranges::fill(tensors[2].span(), std::numeric_limits<T>::quiet_NaN());
  }

  void compute(const Step<T> &step) {
    ASSERT_LT(step.shape, loop.shapes().size());
    checkShape(step, loop.shapes()[step.shape]);
    ASSERT_GT(volume(step.work), 0);
    Box outer = step.work;
    outer[kK] = {0, 1};
    forEach(outer, [&](Index i) {
      T sum = 0;
      for (i[kK] = step.work[kK].begin; i[kK] < step.work[kK].end; ++i[kK])
        sum += *at(step.a, 0, i) * *at(step.b, 1, i);
      T *const c = at(step.c, 2, i);
      *c = step.adds ? *c + sum : sum;
    });
  }

  SteppingLoop<T> &steps() { return loop; }

private:
  /// Whether others' chunks come to lie where the rank's own one does.
  bool isLent() const { return lender() != 2 && chunkMemory(of.stepping, 0).homeSlots > 0; }
  std::size_t lender() const { return of.stepping.travellers[0].role; }

  Tensor<T> tensor(std::size_t role) const {
    if (isLent() && role == lender())
      return Tensor<T>(storage, of.layouts[role], offset(3));
    return Tensor<T>(session.memory(), of.layouts[role], session.rank(),
                     session.memoryFor({&of.stepping}));
  }

  std::size_t offset(std::size_t t) const {
    std::size_t bytes = 0;
    for (std::size_t u = 0; u < t && u < of.stepping.travellers.size(); ++u)
      bytes += (static_cast<std::size_t>(chunkMemory(of.stepping, u).elements()) * sizeof(T) + 63) /
               64 * 64;
    return bytes;
  }

  Layout layoutOfMemory(std::size_t t) const {
    const int64_t elements =
        t < of.stepping.travellers.size() ? chunkMemory(of.stepping, t).elements() : 0;
    return {{elements}, {{session.comm().size()}, 0}, {copied()}};
  }

  /// Two lengths of parts, each where it is stored or in a slot: more only where two operands that
  /// are cut differently make chunks of more lengths.
  std::size_t mostShapes() const {
    const Stepping &stepping = of.stepping;
    const auto extent = [&](std::size_t t) {
      return stepping.work.grid.extents[stepping.travellers[t].axis];
    };
    const bool areCutDifferently =
        stepping.travellers.size() == 2 && extent(0) != extent(1) && extent(0) > 1 && extent(1) > 1;
    return areCutDifferently ? 8 : 4;
  }

  void checkShape(const Step<T> &step, const Step<T> &shape) {
    for (std::size_t d = 0; d < step.work.size(); ++d)
      ASSERT_EQ(step.work[d].size(), shape.work[d].size());
    for (std::size_t p = 0; p < 3; ++p) {
      ASSERT_EQ(step.a.stride(p), shape.a.stride(p));
      ASSERT_EQ(step.b.stride(p), shape.b.stride(p));
      ASSERT_EQ(step.c.stride(p), shape.c.stride(p));
    }
  }

  T *at(const BlockView<T> &view, std::size_t role, const Index &i) {
    int64_t offset = 0;
    for (std::size_t p = 0; p < of.dims[role].size(); ++p) {
      const int64_t index = i[static_cast<std::size_t>(of.dims[role][p])];
      EXPECT_GE(index, view.box()[p].begin);
      EXPECT_LT(index, view.box()[p].end);
      offset += (index - view.box()[p].begin) * view.stride(p);
    }
    return view.data() + offset;
  }

  template <class Visit> void forEachElement(std::size_t role, Visit &&visit) {
    const Tensor<T> &tensor = tensors[role];
    if (!tensor.held())
      return;
    Box box(4, Interval{0, 1});
    for (std::size_t p = 0; p < 3; ++p)
      box[static_cast<std::size_t>(of.dims[role][p])] = tensor.box()[p];
    const BlockView<T> view(tensor.data(), tensor.box());
    forEach(box, [&](const Index &i) { visit(*at(view, role, i), i); });
  }

  /// The indices of k of which this rank's result holds the sum.
  std::vector<int64_t> summedHere() const {
    const Layout &work = of.stepping.work;
    std::vector<std::vector<int64_t>> places{work.grid.coordinates(session.rank())};
    for (const Traveller &traveller : of.stepping.travellers)
      if (traveller.role == 2 && traveller.movement != StepMovement::Stream)
        for (int64_t c = 0; c < work.grid.extents[traveller.axis]; ++c) {
          places.push_back(places.front());
          places.back()[traveller.axis] = c;
        }
    std::vector<int64_t> indices;
    for (const std::vector<int64_t> &place : places) {
      const Interval range = work.box(work.grid.rankAt(place))[kK];
      for (int64_t k = range.begin; k < range.end; ++k)
        indices.push_back(k);
    }
    std::ranges::sort(indices);
    indices.erase(std::ranges::unique(indices).begin(), indices.end());
    return indices;
  }

  void checkResult(int64_t run) {
    if (!tensors[2].held())
      return;
    const std::vector<int64_t> summed = summedHere();
    int64_t wrong = 0;
    forEachElement(2, [&](T value, Index i) {
      int64_t sum = 0;
      for (const int64_t k : summed) {
        i[kK] = k;
        sum += inputOf(0, i, run) * inputOf(1, i, run);
      }
      wrong += value != static_cast<T>(sum) ? 1 : 0;
    });
    EXPECT_EQ(wrong, 0) << "wrong elements of " << tensors[2].size() << " in run " << run;
  }

  void checkOperands(int64_t run) {
    int64_t changed = 0;
    for (std::size_t role = 0; role < 2; ++role)
      if (!isLent() || role != lender())
        forEachElement(role, [&](T value, const Index &i) {
          changed += value != static_cast<T>(inputOf(role, i, run)) ? 1 : 0;
        });
    EXPECT_EQ(changed, 0) << "elements of operands were overwritten in run " << run;
  }

  void checkTraffic(int64_t runs) {
    const Traffic &sent = session.nodeRecords().front().traffic;
    std::array<int64_t, 3> sums{sent.bytes, sent.messages, sent.inPlaceBytes};
    sumOverRanks(session.comm(), std::span(sums));
    const StepTraffic expected = trafficOf(of.stepping);
    EXPECT_EQ(sums[0], runs * expected.elements * static_cast<int64_t>(sizeof(T)));
    EXPECT_EQ(sums[1], runs * expected.messages);
    if (const std::optional<int64_t> inPlace = elementsInPlace()) {
      EXPECT_EQ(sums[2], runs * *inPlace * static_cast<int64_t>(sizeof(T)));
    }
  }

  /// Over all ranks, where these are alike in that they share a host with all others or none.
  std::optional<int64_t> elementsInPlace() const {
    const HostRanks *const host = session.neighbours();
    std::array<int64_t, 2> shares{host == nullptr ? 0 : 1,
                                  host != nullptr && host->comm().size() < session.comm().size()};
    maxOverRanks(session.comm(), std::span(shares));
    if (shares[1] != 0)
      return std::nullopt;
    int64_t elements = 0;
    for (std::size_t t = 0; t < of.stepping.travellers.size(); ++t)
      if (shares[0] != 0 && canStayInPlace(of.stepping, of.stepping.travellers[t]))
        elements += trafficOf(of.stepping, t).elements;
    return elements;
  }

  void delay(int64_t longest) {
    if (longest > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(static_cast<int64_t>(delays()) %
                                                            longest * (session.rank() % 2 + 1)));
  }

  Session &session;
  const SteppingCase &of;
  std::array<Layout, 3> memoryLayouts;
  SharedStorage storage;
  std::array<Tensor<T>, 3> tensors;
  SteppingLoop<T> loop;
  std::minstd_rand delays{static_cast<uint32_t>(session.rank() + 1)};
};

constexpr std::size_t kWholeMessages = std::size_t{1} << 30;
const std::array<std::vector<int>, 3> kPlain{{{kC, kM, kK}, {kC, kK, kN}, {kC, kM, kN}}};
const std::array<StepMovement, 3> kMovements{StepMovement::Ring, StepMovement::Bcast,
                                             StepMovement::Get};

/// So many ranks, one after the other, are taken for those of a host: with one each all chunks are
/// sent.
class SteppingLoops : public testing::TestWithParam<int> {
protected:
  SteppingLoops() {
    session.setPoison(true);
    shareHosts(session);
  }

  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    const bool isInPlace = GetParam() > 1;
    if (isInPlace && ranks() > (GetParam() == 2 ? 4 : 6) && !name.starts_with("randomCases"))
      GTEST_SKIP() << "in place, random cases are enough of many ranks, which take long";
  }

  /// All where chunks are sent; in place fewer on many ranks, which take long on few cores.
  int trials(int most) const { return GetParam() > 1 && ranks() > 4 ? most / 3 : most; }

  static void shareHosts(Session &session) {
    const int rank = session.comm().rank();
    session.setNeighbours(
        std::make_unique<HostRanks>(rank, session.comm().split(rank / GetParam(), rank)));
  }

  template <class T>
  void check(const SteppingCase &of, int64_t runs = 2, int64_t longest = 0,
             std::size_t maxPiece = kWholeMessages) {
    SCOPED_TRACE(describe(of));
    Stepped<T>(session, of, maxPiece).check(runs, longest);
  }

  int64_t ranks() const { return session.comm().size(); }

  Session session{MPI_COMM_WORLD, 1};
};

INSTANTIATE_TEST_SUITE_P(RanksPerHost, SteppingLoops, testing::Values(1, 2, 1000),
                         testing::PrintToStringParamName());

TEST_P(SteppingLoops, operandsOnALine) {
  for (const StepMovement movement : kMovements)
    for (const int dim : {kC, kN, kK})
      for (int64_t pace = 1; pace <= 3; ++pace)
        check<double>(
            makeCase(kPlain, {3, 5, 17, 19}, {{ranks()}, 0}, {kM}, dim, pace, {{1, movement, 0}}));
}

TEST_P(SteppingLoops, resultsOnALine) {
  for (const StepMovement movement : kMovements)
    for (const int dim : {kC, kM, kN})
      for (int64_t pace = 1; pace <= 4; ++pace)
        check<double>(
            makeCase(kPlain, {3, 15, 17, 9}, {{ranks()}, 0}, {kK}, dim, pace, {{2, movement, 0}}));
}

/// Even, contiguous parts of sums rotate through the place of the rank's own: one slot more.
TEST_P(SteppingLoops, sumsInTheResultsOwnMemory) {
  for (const int64_t summed : {1, 9}) // Of 1 only the first rank has some.
    for (int64_t pace = 1; pace <= 4; ++pace) {
      const SteppingCase of = makeCase(kPlain, {12 * ranks(), 2, 5, summed}, {{ranks()}, 0}, {kK},
                                       kC, pace, {{2, StepMovement::Ring, 0}});
      check<double>(of, 3);
      const ChunkMemory memory = chunkMemory(of.stepping, 0);
      EXPECT_EQ(memory.elements(), ranks() == 1 ? 0 : memory.stride()) << "pace " << pace;
    }
}

/// Chunks of what is not read again rotate through the place of the rank's own: one slot more.
TEST_P(SteppingLoops, chunksInTheOperandsOwnMemory) {
  for (const int64_t summed : {1, 2, 19, 24 * static_cast<int>(ranks())})
    for (int64_t pace = 1; pace <= 3; ++pace) {
      SteppingCase of = makeCase(kPlain, {1, 5, 17, summed}, {{ranks()}, 0}, {kM}, kK, pace,
                                 {{1, StepMovement::Ring, 0}});
      of.stepping.travellers[0].isSpent = true;
      check<double>(of, 3);
      const ChunkMemory memory = chunkMemory(of.stepping, 0);
      if (ranks() > 2 && (pace == 1 || summed > 19)) {
        EXPECT_EQ(memory.elements(), memory.stride()) << "pace " << pace;
      }
    }
}

/// What a rank has not taken yet is still where it is sent from.
TEST_P(SteppingLoops, ranksThatBeginLate) {
  for (const int dim : {kN, kK}) {
    SteppingCase of = makeCase(kPlain, {1, 2, 500, 600}, {{ranks()}, 0}, {kM}, dim, 1,
                               {{1, StepMovement::Ring, 0}});
    of.stepping.travellers[0].isSpent = true;
    check<double>(of, 8, 20000);
  }
}

TEST_P(SteppingLoops, lockStepOnGrids) {
  for (int64_t rows = 1; rows <= ranks(); rows += rows == ranks() / 2 ? ranks() - rows : 1)
    for (const StepMovement a : kMovements)
      for (const StepMovement b : kMovements) {
        const int64_t columns = ranks() / rows;
        const bool hasRing = a == StepMovement::Ring || b == StepMovement::Ring;
        if (hasRing && rows != columns && rows != 1 && columns != 1)
          continue;
        check<double>(makeCase(kPlain, {2, 7, 6, 23}, {{rows, columns}, 0}, {kM, kN}, kK, 2,
                               {{0, a, 1}, {1, b, 0}}));
      }
}

TEST_P(SteppingLoops, streams) {
  for (int64_t pace = 1; pace <= 3; ++pace)
    check<double>(makeCase(kPlain, {23, 3, 4, 5}, {{ranks()}, 0}, {kC}, kC, pace,
                           {{0, StepMovement::Stream, 0},
                            {1, StepMovement::Stream, 0},
                            {2, StepMovement::Stream, 0}}));
}

TEST_P(SteppingLoops, singlePrecision) {
  for (const StepMovement movement : kMovements) {
    check<float>(makeCase(kPlain, {2, 5, 9, 19}, {{ranks()}, 0}, {kM}, kK, 2, {{1, movement, 0}}));
    check<float>(makeCase(kPlain, {2, 5, 9, 19}, {{ranks()}, 0}, {kK}, kM, 2, {{2, movement, 0}}));
  }
}

TEST_P(SteppingLoops, chunksLargerThanTheEagerLimit) {
  for (const StepMovement movement : kMovements) {
    check<double>(
        makeCase(kPlain, {1, 3, 500, 600}, {{ranks()}, 0}, {kM}, kN, 2, {{1, movement, 0}}));
    check<double>(
        makeCase(kPlain, {1, 600, 500, 3}, {{ranks()}, 0}, {kK}, kN, 2, {{2, movement, 0}}));
  }
}

TEST_P(SteppingLoops, randomCases) {
  RandomSteppings random(7);
  for (int trial = 0; trial < trials(60); ++trial) {
    const SteppingCase of = random.next(ranks());
    SCOPED_TRACE(trial);
    check<double>(of, 3, 0, trial % 2 == 0 ? kWholeMessages : 40);
  }
}

TEST_P(SteppingLoops, stepsOfUnequalTimes) {
  RandomSteppings random(11);
  for (int trial = 0; trial < trials(20); ++trial) {
    const SteppingCase of = random.next(ranks());
    SCOPED_TRACE(trial);
    check<double>(of, 6, 200);
  }
}

TEST_P(SteppingLoops, loopsTakeTurns) {
  RandomSteppings random(13);
  const SteppingCase first = random.next(ranks());
  const SteppingCase second = random.next(ranks());
  Stepped<double> one(session, first, kWholeMessages, 100);
  Stepped<double> other(session, second, kWholeMessages, 103);
  for (int turn = 0; turn < 20; ++turn) {
    one.check(1, 0);
    other.check(1, 50);
  }
}

/// An error of the caller's own: the loop dies while its transfers are under way.
void throwInTheMiddle(Session &session, const SteppingCase &of, std::size_t after) {
  Stepped<double> stepped(session, of, kWholeMessages);
  session.startRun(1);
  stepped.fill(0);
  stepped.steps().begin();
  for (std::size_t s = 0; s < after; ++s)
    if (stepped.steps().next() == nullptr)
      return;
  throw std::runtime_error("in the middle");
}

TEST_P(SteppingLoops, errorsInTheMiddleDoNotHang) {
  // What was given up must not meet later messages: libraries give the context of a communicator
  // that is gone to the next one.
  std::deque<Session> sessions;
  for (const StepMovement movement : kMovements)
    for (std::size_t after = 0; after < 2; ++after) {
      Session &apart = sessions.emplace_back(MPI_COMM_WORLD, 1);
      shareHosts(apart);
      const SteppingCase of =
          makeCase(kPlain, {1, 9, 40, 36}, {{ranks()}, 0}, {kM}, kK, 2, {{1, movement, 0}});
      EXPECT_THROW(throwInTheMiddle(apart, of, after), std::runtime_error);
    }
}

} // namespace
