//===- CommunicatorTest.cpp - MPI, owned and checked ------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Communicator.h"
#include "../../runtime/LongWaits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace einsumc;
using namespace std::chrono_literals;
using testing::HasSubstr;

using Bytes = std::vector<std::byte>;

/// The text of the exception of type E that the action throws; a failure when it does not.
template <class E, class Action> std::string messageOf(Action &&action) {
  try {
    action();
  } catch (const E &error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

class WithRanks : public testing::Test {
protected:
  int next() const { return (world.rank() + 1) % world.size(); }
  int previous() const { return (world.rank() + world.size() - 1) % world.size(); }

  /// What rank `sender` sends as its message number `message`.
  static Bytes payload(std::size_t size, int sender, int message) {
    Bytes result(size);
    for (std::size_t i = 0; i < size; ++i)
      result[i] =
          static_cast<std::byte>((i * 7 + static_cast<std::size_t>(sender * 31 + message)) % 251);
    return result;
  }

  Communicator world{MPI_COMM_WORLD};
};

/// Seconds that this thread has computed (or spun) since the construction.
class CpuClock {
public:
  double seconds() const { return now() - start; }

private:
  static double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double start = now();
};

//===- Errors, environment, communicators -----------------------------------------------------===//

TEST(CheckMpi, namesCallAndPeer) {
  EXPECT_NO_THROW(checkMpi(MPI_SUCCESS, "MPI_Send", 3));
  const std::string text = messageOf<Error>([] { checkMpi(MPI_ERR_TRUNCATE, "MPI_Recv", 3); });
  EXPECT_THAT(text, HasSubstr("MPI_Recv (peer: rank 3) failed: "));
  EXPECT_THAT(text, testing::ContainsRegex("[Tt]runcate"));
}

TEST(CheckMpi, withoutPeer) {
  EXPECT_THAT(messageOf<Error>([] { checkMpi(MPI_ERR_COMM, "MPI_Comm_dup"); }),
              HasSubstr("MPI_Comm_dup failed: "));
}

TEST_F(WithRanks, environmentLeavesMpiToWhoInitialisedIt) {
  {
    const Environment second(nullptr, nullptr);
  }
  int finalized = 1;
  MPI_Finalized(&finalized);
  EXPECT_EQ(finalized, 0);
}

TEST_F(WithRanks, communicatorIsADuplicate) {
  int comparison = MPI_IDENT;
  MPI_Comm_compare(world.get(), MPI_COMM_WORLD, &comparison);
  EXPECT_EQ(comparison, MPI_CONGRUENT);
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  EXPECT_EQ(world.rank(), rank);
  EXPECT_EQ(world.splitByNode()->size(), world.size()) << "the tests run on one node";
}

TEST_F(WithRanks, errorsAreReturned) {
  Requests requests(world);
  const int nobody = world.size();
  EXPECT_THAT(messageOf<Error>([&] { requests.send({}, nobody, 0); }),
              HasSubstr("MPI_Isend (peer: rank " + std::to_string(nobody) + ") failed: "));
}

//===- Requests -------------------------------------------------------------------------------===//

TEST_F(WithRanks, messagesOfAnySizeInPiecesOfAnySize) {
  for (std::size_t maxPiece : {1, 7, 64, 1 << 30}) {
    std::vector<Bytes> sent;
    std::vector<Bytes> received;
    for (std::size_t size : {0, 1, 6, 7, 8, 64, 1000}) {
      sent.push_back(payload(size, world.rank(), static_cast<int>(size)));
      received.emplace_back(size);
    }
    Requests requests(world, maxPiece);
    for (Bytes &message : received)
      requests.receive(message, previous(), 5);
    for (const Bytes &message : sent)
      requests.send(message, next(), 5);
    requests.wait();
    for (const Bytes &message : received)
      EXPECT_EQ(message, payload(message.size(), previous(), static_cast<int>(message.size())))
          << "pieces of " << maxPiece;
  }
}

TEST_F(WithRanks, largerThanTheEagerLimit) {
  const Bytes sent = payload(3'000'001, world.rank(), 0);
  Bytes received(sent.size());
  Requests requests(world, 1'000'000);
  requests.send(sent, next(), 5);
  requests.receive(received, previous(), 5);
  requests.wait();
  EXPECT_EQ(received, payload(sent.size(), previous(), 0));
}

/// A size that no int can hold, in the largest pieces.
TEST_F(WithRanks, largerThanTwoToThe31Bytes) {
  if (world.size() != 2)
    GTEST_SKIP() << "takes memory: on 2 ranks only";
  const std::size_t size = (std::size_t{1} << 31) + 12'345;
  // Zeros that take no memory before they are written.
  const auto allocate = [&] {
    return std::unique_ptr<std::byte, decltype(&std::free)>(
        static_cast<std::byte *>(std::calloc(size, 1)), &std::free);
  };
  const std::vector<std::size_t> places = {0,
                                           (std::size_t{1} << 30) - 1,
                                           std::size_t{1} << 30,
                                           (std::size_t{1} << 31) - 1,
                                           std::size_t{1} << 31,
                                           size - 1};
  const auto buffer = allocate();
  ASSERT_NE(buffer, nullptr);
  const std::span<std::byte> message(buffer.get(), size);
  Requests requests(world);
  if (world.rank() == 0) {
    for (std::size_t i = 0; i < places.size(); ++i)
      message[places[i]] = static_cast<std::byte>(i + 1);
    requests.send(message, 1, 5);
    requests.wait();
    return;
  }
  requests.receive(message, 0, 5);
  requests.wait();
  for (std::size_t i = 0; i < places.size(); ++i)
    EXPECT_EQ(message[places[i]], static_cast<std::byte>(i + 1)) << "at " << places[i];
}

TEST_F(WithRanks, noMessagesNeedNoWait) {
  Requests requests(world);
  requests.wait();
  EXPECT_EQ(requests.waitAny(), -1);
}

TEST_F(WithRanks, anyOfTheMessagesAreReportedOnceEach) {
  Requests requests(world, 3);
  for (int round = 0; round < 2; ++round) {
    std::vector<Bytes> received(static_cast<std::size_t>(world.size()), Bytes(10));
    for (int peer = 0; peer < world.size(); ++peer)
      requests.receive(received[static_cast<std::size_t>(peer)], peer, round);
    const Bytes sent = payload(10, world.rank(), round);
    for (int peer = 0; peer < world.size(); ++peer)
      requests.send(sent, peer, round);

    std::vector<int> reports(static_cast<std::size_t>(2 * world.size()), 0);
    for (int message = requests.waitAny(); message >= 0; message = requests.waitAny()) {
      const auto index = static_cast<std::size_t>(message);
      ++reports.at(index);
      if (message < world.size()) {
        EXPECT_EQ(received[index], payload(10, message, round));
      }
    }
    EXPECT_THAT(reports, testing::Each(1));
    requests.wait(); // Numbers start anew.
  }
}

TEST_F(WithRanks, theMessageThatIsThereIsReportedFirst) {
  Bytes late(4);
  Bytes early(4);
  const Bytes data = payload(4, 0, 0);
  Requests sends(world);
  Requests requests(world);
  requests.receive(late, previous(), 1);
  requests.receive(early, previous(), 2);
  sends.send(data, next(), 2);
  EXPECT_EQ(requests.waitAny(), 1);
  barrier(world); // Only now does any rank send the other one.
  sends.send(data, next(), 1);
  EXPECT_EQ(requests.waitAny(), 0);
  EXPECT_EQ(requests.waitAny(), -1);
}

TEST_F(WithRanks, destructionWaits) {
  Bytes received(100);
  const Bytes sent = payload(100, world.rank(), 0);
  {
    Requests requests(world, 9);
    requests.receive(received, previous(), 3);
    if (world.rank() % 2 == 0)
      std::this_thread::sleep_for(20ms);
    requests.send(sent, next(), 3);
  }
  EXPECT_EQ(received, payload(100, previous(), 0));
}

TEST_F(WithRanks, anExceptionGivesUpWhatHasNotCome) {
  Bytes abandoned(100);
  EXPECT_THROW(
      {
        Requests requests(world, 9);
        requests.receive(abandoned, previous(), 3);
        throw std::runtime_error("on every rank, before it sends");
      },
      std::runtime_error);
  barrier(world);

  // A receive that was still under way would take this message, and a place that may be gone.
  const Bytes sent = payload(100, world.rank(), 0);
  Bytes received(100);
  Requests requests(world, 9);
  requests.send(sent, next(), 3);
  requests.receive(received, previous(), 3);
  requests.wait();
  EXPECT_EQ(received, payload(100, previous(), 0));
  EXPECT_EQ(abandoned, Bytes(100));
}

TEST_F(WithRanks, aMessageTooLongIsAnError) {
  if (world.size() == 1)
    GTEST_SKIP() << "Open MPI cuts messages to oneself without a word";
  const Bytes sent(10);
  Bytes received(4);
  Requests requests(world);
  requests.receive(received, previous(), 3);
  requests.send(sent, next(), 3);
  EXPECT_THAT(messageOf<Error>([&] { requests.wait(); }),
              HasSubstr("MPI_Irecv (peer: rank " + std::to_string(previous()) + ") failed: "));
}

TEST_F(WithRanks, aMessageTooShortIsAnError) {
  const Bytes sent(4);
  Bytes received(10);
  Requests requests(world);
  requests.receive(received, previous(), 3);
  requests.send(sent, next(), 3);
  EXPECT_EQ(messageOf<Error>([&] {
              while (requests.waitAny() >= 0) {
              }
            }),
            "MPI_Irecv (peer: rank " + std::to_string(previous()) +
                ") failed: 4 bytes came where 10 were expected");
}

//===- Waiting --------------------------------------------------------------------------------===//

std::string unexplained() { return "nothing"; }

/// Ends long waits by an exception, as tests can.
LongWaits limitOf(double seconds) {
  return {.limitSeconds = seconds, .end = [](const std::string &what) { throw Error(what); }};
}

TEST(WaitPolitely, asksAtOnce) {
  int calls = 0;
  waitPolitely([&] { return ++calls == 1; }, unexplained);
  EXPECT_EQ(calls, 1);
}

TEST(WaitPolitely, doesNotBurnACore) {
  const CpuClock cpu;
  const auto end = std::chrono::steady_clock::now() + 300ms;
  waitPolitely([&] { return std::chrono::steady_clock::now() >= end; }, unexplained);
  EXPECT_GE(std::chrono::steady_clock::now(), end);
  EXPECT_LT(cpu.seconds(), 0.1);
}

TEST_F(WithRanks, ranksThatWaitForALateOneDoNotBurnTheirCores) {
  const std::byte sent{};
  std::byte received{};
  barrier(world);
  const CpuClock cpu;
  if (world.rank() == 0)
    std::this_thread::sleep_for(300ms);
  barrier(world);
  Requests requests(world);
  requests.receive(std::span(&received, 1), previous(), 1);
  if (world.rank() == 0)
    std::this_thread::sleep_for(300ms);
  requests.send(std::span(&sent, 1), next(), 1);
  requests.wait();
  EXPECT_LT(cpu.seconds(), 0.2);
}

TEST(WaitPolitely, notesWheneverTheTimeHasDoubled) {
  std::vector<std::string> notes;
  const LongWaitsInForce policy(
      {.noteSeconds = 0.02, .note = [&](const std::string &what) { notes.push_back(what); }});
  waitPolitely([&] { return notes.size() == 3; }, [] { return std::string("no news"); });
  EXPECT_THAT(notes, testing::ElementsAre("no news for 0.02 s", "no news for 0.04 s",
                                          "no news for 0.08 s"));
}

TEST_F(WithRanks, aPeerThatNeverSendsIsNamedWhenTheLimitIsOver) {
  Bytes never(100);
  EXPECT_EQ(messageOf<Error>([&] {
              Requests requests(world, 9);
              requests.receive(never, previous(), 3);
              const LongWaitsInForce policy(limitOf(0.05));
              requests.wait();
            }),
            "no message from rank " + std::to_string(previous()) + " for 0.05 s");
  barrier(world); // The limit is in force no more.
}

TEST_F(WithRanks, aCollectiveThatOthersDoNotJoinIsNamedWhenTheLimitIsOver) {
  if (world.size() == 1)
    GTEST_SKIP() << "one rank waits for nobody";
  if (world.rank() == 0) {
    const LongWaitsInForce policy(limitOf(0.05));
    EXPECT_EQ(messageOf<Error>([&] { barrier(world); }),
              "MPI_Ibarrier has waited for the other ranks for 0.05 s");
  } else {
    std::this_thread::sleep_for(200ms);
    barrier(world); // What rank 0 began goes on without it.
  }
  barrier(world);
}

TEST_F(WithRanks, everyMessageStartsTheLimitAnew) {
  constexpr std::size_t kMessages = 4;
  Bytes data(kMessages);
  Requests requests(world);
  const auto message = [&](std::size_t number) { return std::span(data).subspan(number, 1); };
  if (world.rank() != 0) {
    const LongWaitsInForce policy(limitOf(1.2));
    for (std::size_t i = 0; i < kMessages; ++i)
      requests.receive(message(i), 0, 3);
    EXPECT_NO_THROW(requests.wait());
    return;
  }
  for (std::size_t i = 0; i < kMessages; ++i) {
    std::this_thread::sleep_for(500ms);
    for (int rank = 1; rank < world.size(); ++rank)
      requests.send(message(i), rank, 3);
  }
  requests.wait();
}

//===- Collectives ----------------------------------------------------------------------------===//

TEST_F(WithRanks, barrierWaitsForAll) {
  const double start = MPI_Wtime();
  if (world.rank() == world.size() - 1)
    std::this_thread::sleep_for(50ms);
  barrier(world);
  EXPECT_GE(MPI_Wtime() - start, 0.04);
}

TEST_F(WithRanks, broadcastFromAnyRoot) {
  for (int root = 0; root < world.size(); ++root)
    for (std::size_t size : {0, 1, 13, 1'000'000}) {
      std::string expected(size, static_cast<char>('a' + root));
      if (size == 13)
        expected[5] = '\0';
      const std::string mine = world.rank() == root ? expected : "what the others have";
      EXPECT_EQ(broadcast(world, mine, root), expected);
    }
}

TEST_F(WithRanks, sums) {
  const int64_t n = world.size();
  const int64_t large = int64_t{1} << 40;
  std::vector<int64_t> whole{world.rank(), 1, large};
  sumOverRanks(world, std::span(whole));
  EXPECT_EQ(whole, (std::vector<int64_t>{n * (n - 1) / 2, n, n * large}));
  std::vector<double> real{0.5 * world.rank(), 1};
  sumOverRanks(world, std::span(real));
  EXPECT_EQ(real,
            (std::vector<double>{0.25 * static_cast<double>(n * (n - 1)), static_cast<double>(n)}));
}

TEST_F(WithRanks, maxima) {
  const int last = world.size() - 1;
  std::vector<int64_t> whole{world.rank(), -world.rank(), -5};
  maxOverRanks(world, std::span(whole));
  EXPECT_EQ(whole, (std::vector<int64_t>{last, 0, -5}));
  std::vector<double> real{1.5 * world.rank()};
  maxOverRanks(world, std::span(real));
  EXPECT_EQ(real, (std::vector<double>{1.5 * last}));
}

TEST_F(WithRanks, reductionsOfNothing) {
  EXPECT_NO_THROW(sumOverRanks(world, std::span<double>()));
  EXPECT_NO_THROW(maxOverRanks(world, std::span<int64_t>()));
}

//===- Collectively ---------------------------------------------------------------------------===//

TEST_F(WithRanks, collectivelyRunsTheActionOnEveryRank) {
  int64_t runs = 0;
  EXPECT_NO_THROW(collectively(world, [&] { ++runs; }));
  sumOverRanks(world, std::span(&runs, 1));
  EXPECT_EQ(runs, world.size());
}

TEST_F(WithRanks, everyRankThrowsWhatTheLowestFailingRankThrew) {
  if (world.size() == 1)
    GTEST_SKIP() << "needs a rank that does not fail";
  const std::string text = messageOf<CollectiveError>([&] {
    collectively(world, [&] {
      if (world.rank() > 0)
        throw std::runtime_error("no file " + std::to_string(world.rank()));
    });
  });
  EXPECT_EQ(text, "rank 1: no file 1");
}

TEST_F(WithRanks, theSameFailureOfAllNamesNoRank) {
  const std::string text = messageOf<CollectiveError>(
      [&] { collectively(world, [] { throw Error("no such argument"); }); });
  EXPECT_EQ(text, "no such argument");
}

TEST_F(WithRanks, aRankThatDoesNotFailIsNotARankThatFailsWithoutText) {
  if (world.size() == 1)
    GTEST_SKIP() << "needs a rank that does not fail";
  const std::string text = messageOf<CollectiveError>([&] {
    collectively(world, [&] {
      if (world.rank() == 0)
        throw Error("");
    });
  });
  EXPECT_EQ(text, "rank 0: ");
}

TEST_F(WithRanks, whatIsNoStandardExceptionIsAgreedUponToo) {
  EXPECT_EQ(messageOf<CollectiveError>([&] { collectively(world, [] { throw 42; }); }),
            "unknown exception");
}

} // namespace
