//===- ProgramTest.cpp - the main function of emitted programs --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/CoreSet.h"
#include "../../runtime/NpyHeader.h"
#include "../../runtime/Philox.h"
#include "../../runtime/TeamBinding.h"

#include "ReferenceProgram.h"
#include "SmallPrograms.h"
#include "TemporaryDirectory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace einsumc;
using namespace einsumc::test;

constexpr int kY = 4;

struct Outcome {
  int status = -1;
  std::string out, err; ///< of this rank
};

class ProgramMain : public testing::Test {
public:
  ProgramMain() : comm(MPI_COMM_WORLD) {
    description = chainProgram(comm.size(), DType::F32, split(0), split(1));
  }

  /// Runs the program as its main function does.
  Outcome run(std::vector<std::string> words, ReferenceProgram<float>::Hook hook = {}) {
    words.insert(words.begin(), "program");
    std::vector<char *> argv;
    for (std::string &word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome outcome;
    outcome.status =
        runProgram(static_cast<int>(words.size()), argv.data(), description,
                   [&](Session &session) -> std::unique_ptr<Program> {
                     ++constructed;
                     return std::make_unique<ReferenceProgram<float>>(session, description, hook);
                   });
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    barrier(comm); // Files are as the program left them, on all ranks.
    return outcome;
  }

  /// The arguments must be refused, with status 2, before anything is done.
  void expectUsageError(const std::vector<std::string> &words, const std::string &text) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.status, 2) << text;
    EXPECT_EQ(outcome.out, "");
    expectOneMessage(outcome, text);
  }

  /// One line, from rank 0 only.
  void expectOneMessage(const Outcome &outcome, const std::string &text) {
    if (comm.rank() != 0) {
      EXPECT_EQ(outcome.err, "");
      return;
    }
    EXPECT_EQ(outcome.err.rfind("einsumc: ", 0), 0U) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos)
        << "expected: " << text << "\nfound: " << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }

  static std::string contentsOf(const std::string &file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }

  static std::vector<float> arrayOf(const std::string &file, std::vector<int64_t> shape) {
    const std::string bytes = contentsOf(file);
    const NpyHeader header = parseNpyHeader(std::as_bytes(std::span(bytes)));
    EXPECT_EQ(header.shape, shape);
    EXPECT_EQ(header.descr, "<f4");
    std::vector<float> values((bytes.size() - header.dataOffset) / sizeof(float));
    std::memcpy(values.data(), bytes.data() + header.dataOffset, values.size() * sizeof(float));
    return values;
  }

  Communicator comm;
  const TemporaryDirectory temporary{comm};
  const std::string directory = temporary.path() + "/";
  ProgramDescription description;
  int constructed = 0;
};

/// An input of the program, whole.
std::vector<float> generated(const std::string &name, std::vector<int64_t> extents, uint64_t seed) {
  const Layout layout{std::move(extents), {}, {}};
  Box box;
  for (const int64_t extent : layout.extents)
    box.push_back({0, extent});
  std::vector<float> values(static_cast<std::size_t>(volume(box)));
  fillRandom({DType::F32, &layout, box, true, reinterpret_cast<std::byte *>(values.data())}, seed,
             name);
  return values;
}

std::vector<double> product(const std::vector<double> &a, const std::vector<float> &b, int64_t m,
                            int64_t k, int64_t n) {
  std::vector<double> c(static_cast<std::size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j)
        c[static_cast<std::size_t>(i * n + j)] +=
            a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
  return c;
}

TEST_F(ProgramMain, ThreadsHaveCoresOfTheirOwnWhileItRuns) {
  const auto coresNow = [] {
    cpu_set_t cores;
    EXPECT_EQ(sched_getaffinity(0, sizeof(cores), &cores), 0);
    return coreNumbers(cores);
  };
  const std::vector<int> before = coresNow();
  const int threads = std::max(1, static_cast<int>(before.size()) / comm.size());
  const std::vector<int> expected = coresOfThreads(comm, threads);
  std::vector<int> found;
  const Outcome outcome = run({"--threads", std::to_string(threads)},
                              [&](int, ReferenceProgram<float> &) { found = coresNow(); });
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(found, expected.empty() ? before : std::vector<int>{expected.front()});
  EXPECT_EQ(coresNow(), before);
}

TEST_F(ProgramMain, EvaluatesRandomInputsAndWritesTheOutput) {
  const Outcome outcome = run({"--output", "Y=" + directory + "y.npy", "--seed=5", "--verify"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  if (comm.rank() == 0) {
    EXPECT_EQ(outcome.out.rfind("test: ", 0), 0U) << outcome.out;
    EXPECT_NE(outcome.out.find("\nverified: "), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("\nwrote " + directory + "y.npy\n"), std::string::npos);
  } else {
    EXPECT_EQ(outcome.out, "");
  }
  const std::vector<float> a = generated("A", {7, 5}, 5), b = generated("B", {5, 7}, 5),
                           v = generated("V", {7, 4}, 5);
  const std::vector<double> expected =
      product(product({a.begin(), a.end()}, b, 7, 5, 7), v, 7, 7, 4);
  const std::vector<float> y = arrayOf(directory + "y.npy", {7, 4});
  ASSERT_EQ(y.size(), expected.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(y[i], expected[i], 1e-5);
}

TEST_F(ProgramMain, ReadsInputs) {
  if (comm.rank() == 0) {
    std::vector<double> ones(35, 1.0);
    std::ofstream(directory + "a.npy", std::ios::binary)
        << formatNpyHeader(8, std::vector<int64_t>{7, 5})
        << std::string_view(reinterpret_cast<const char *>(ones.data()), 35 * sizeof(double));
  }
  barrier(comm);
  const Outcome outcome = run({"--input", "A=" + directory + "a.npy", "--output",
                               "Y=" + directory + "y.npy", "--repeat", "3"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expectOneMessage(outcome, "a.npy: '<f8' is converted to the program's f32");
  const std::vector<double> expected =
      product(product(std::vector<double>(35, 1.0), generated("B", {5, 7}, 0), 7, 5, 7),
              generated("V", {7, 4}, 0), 7, 7, 4);
  const std::vector<float> y = arrayOf(directory + "y.npy", {7, 4});
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(y[i], expected[i], 1e-5);
}

TEST_F(ProgramMain, RefusesWrongUsage) {
  expectUsageError({"--input", "A"}, "--input A: expected NAME=FILE.npy");
  expectUsageError({"--input", "=a.npy"}, "--input =a.npy: expected NAME=FILE.npy");
  expectUsageError({"--input=A="}, "--input A=: expected NAME=FILE.npy");
  expectUsageError({"--input", "Q=a.npy"}, "no input is called 'Q'; the inputs are: A (7, 5), "
                                           "B (5, 7), V (7, 4)");
  expectUsageError({"--input", "Y=a.npy"}, "no input is called 'Y'");
  expectUsageError({"--output", "T=t.npy"}, "no output is called 'T'; the outputs are: Y (7, 4)");
  expectUsageError({"--input", "A=1.npy", "--input", "A=2.npy"}, "a file for 'A' is given twice");
  expectUsageError({"--output", "Y=1", "--stats", "1"}, "two results would be written to 1");
  expectUsageError({"--repeat", "0"}, "--repeat 0: expected a whole number from 1 to 2147483647");
  expectUsageError({"--repeat", "1.5"}, "--repeat 1.5: expected a whole number");
  expectUsageError({"--threads", "-1"}, "--threads -1: expected a whole number from 1");
  expectUsageError({"--threads", "0"}, "--threads 0: expected a whole number from 1");
  expectUsageError({"--seed", "-1"},
                   "--seed -1: expected a whole number from 0 to 18446744073709551615");
  expectUsageError({"--seed", "18446744073709551616"}, "--seed 18446744073709551616: expected");
  expectUsageError({"--stats", ""}, "--stats");
  expectUsageError({"--trace", ""}, "--trace: expected FILE.json");
  expectUsageError({"--trace", "1", "--stats", "1"}, "two results would be written to 1");
  expectUsageError({"--frobnicate"}, "--frobnicate");
  expectUsageError({"A=a.npy"}, "A=a.npy");
  EXPECT_EQ(constructed, 0);
}

TEST_F(ProgramMain, ExplainsItself) {
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  const Outcome version = run({"--version"});
  EXPECT_EQ(version.status, 0);
  const Outcome described = run({"--describe", "--threads", "3"});
  EXPECT_EQ(described.status, 0);
  EXPECT_EQ(constructed, 0);
  if (comm.rank() != 0) {
    EXPECT_EQ(help.out + version.out + described.out, "");
    return;
  }
  for (const char *option :
       {"--input", "--output", "--seed", "--repeat", "--verify", "--stats", "--trace", "--threads",
        "--describe", "--help", "--version", "A (7, 5)"})
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  EXPECT_EQ(version.out, "test, compiled by einsumc " EINSUMC_VERSION "\n");
  for (const char *text :
       {", 3 threads, ", "started on ", "input A[m=7, k=5]: grid [", "S(0)", "140 B",
        "output Y[m=7, p=4]", "T[mn] = ...", "local", "plan:\nthe plan\n", "MPI_THREAD_"})
    EXPECT_NE(described.out.find(text), std::string::npos) << text << "\n" << described.out;
}

TEST_F(ProgramMain, RunsOnItsOwnNumberOfRanksOnly) {
  description.ranks = comm.size() + 1;
  const std::string started = std::to_string(comm.size());
  const std::string compiled = std::to_string(comm.size() + 1);
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.status, 1);
  expectOneMessage(outcome, "compiled for " + compiled + " ranks but started on " + started +
                                ": start it with mpirun -n " + compiled +
                                ", or compile it with einsumc --ranks=" + started);
  EXPECT_EQ(run({"--help"}).status, 0);
  EXPECT_EQ(run({"--describe"}).status, 0);
  EXPECT_EQ(run({"--repeat", "0"}).status, 2);
}

TEST_F(ProgramMain, FailsOnFilesThatItCannotReadOrWrite) {
  const Outcome reading = run({"--input", "A=" + directory + "none.npy"});
  EXPECT_EQ(reading.status, 1);
  expectOneMessage(reading, "none.npy: cannot read: No such file or directory");
  const int before = constructed;
  const Outcome writing = run({"--output", "Y=" + directory + "none/y.npy"});
  EXPECT_EQ(writing.status, 1);
  expectOneMessage(writing, "none/y.npy.part: cannot create: No such file or directory");
  const Outcome tracing = run({"--trace", directory + "none/t.json"});
  EXPECT_EQ(tracing.status, 1);
  expectOneMessage(tracing, "none/t.json.part: cannot create: No such file or directory");
  EXPECT_EQ(constructed, before) << "it should fail before it works";
}

TEST_F(ProgramMain, FailsVerificationAndWritesNothing) {
  const Outcome outcome = run({"--verify", "--output", "Y=" + directory + "y.npy"},
                              [](int node, ReferenceProgram<float> &program) {
                                const TensorView view = program.tensor(kY);
                                if (node == 1 && view.held && volume(view.box) > 0)
                                  *reinterpret_cast<float *>(view.data) += 1;
                              });
  EXPECT_EQ(outcome.status, 1);
  const bool says = outcome.out.find("\nNOT verified: ") != std::string::npos;
  EXPECT_EQ(says, comm.rank() == 0) << outcome.out;
  EXPECT_FALSE(std::filesystem::exists(directory + "y.npy"));
}

TEST_F(ProgramMain, ACollectiveErrorOfTheProgramIsPrintedOnce) {
  const Outcome outcome = run({}, [](int node, ReferenceProgram<float> &) {
    if (node == 1)
      throw CollectiveError("no such luck");
  });
  EXPECT_EQ(outcome.status, 1);
  expectOneMessage(outcome, "no such luck");
}

TEST_F(ProgramMain, WritesStatistics) {
  const Outcome outcome = run({"--stats", directory + "s.json", "--repeat=2", "--threads=2"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto json = nlohmann::json::parse(contentsOf(directory + "s.json"));
  EXPECT_EQ(json.at("ranks"), comm.size());
  EXPECT_EQ(json.at("threads"), 2);
  EXPECT_EQ(json.at("repeat"), 2);
  EXPECT_EQ(json.at("dtype"), "f32");
  EXPECT_EQ(json.at("einsumc"), EINSUMC_VERSION);
  EXPECT_NE(json.at("mpi"), "");
  EXPECT_EQ(json.at("flops"), 2000);
  for (const char *field : {"seconds", "setup_seconds", "input_seconds", "gflops"})
    EXPECT_GT(json.at(field).get<double>(), 0) << field;
  EXPECT_GE(json.at("wait_seconds").get<double>(), 0);
  ASSERT_EQ(json.at("nodes").size(), 2U);
  int64_t bytes = 0, messages = 0;
  for (const auto &node : json.at("nodes")) {
    bytes += node.at("bytes_sent").get<int64_t>();
    messages += node.at("messages").get<int64_t>();
    EXPECT_EQ(node.at("algorithm"), "local");
    for (const char *field :
         {"grid", "flops", "seconds", "wait_seconds", "predicted_seconds", "predicted_bytes"})
      EXPECT_TRUE(node.contains(field)) << field;
    EXPECT_LE(node.at("seconds").get<double>(), json.at("seconds").get<double>());
  }
  EXPECT_EQ(json.at("nodes")[0].at("name"), "T");
  EXPECT_EQ(json.at("bytes_sent"), bytes);
  EXPECT_EQ(json.at("messages"), messages);
  // All but each rank's own rows of A and T, and columns of V, go to everyone; B is there.
  const int64_t others = comm.size() - 1;
  EXPECT_EQ(bytes, others * 4 * (7 * 5 + 7 * 7 + 7 * 4));
  EXPECT_GT(json.at("peak_bytes").get<int64_t>(), 4 * (35 + 35 + 28 + 49 + 28));
}

TEST_F(ProgramMain, TracesTheLastRunOnly) {
  const std::string file = directory + "t.json";
  const Outcome outcome = run({"--trace", file, "--repeat=3", "--threads=2", "--verify"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out.find("\nwrote " + file + "\n") != std::string::npos, comm.rank() == 0);
  const auto json = nlohmann::json::parse(contentsOf(file));
  EXPECT_EQ(json.at("otherData").at("dropped_events"), 0);
  std::map<std::string, int> counts;
  for (const auto &event : json.at("traceEvents"))
    ++counts[event.value("cat", event.at("name"))];
  EXPECT_EQ(counts["process_name"], comm.size());
  // The threads, and rows of what is under way between ranks: as many as overlap.
  EXPECT_GE(counts["thread_name"], (comm.size() == 1 ? 2 : 4) * comm.size());
  EXPECT_EQ(counts["node"], 2 * comm.size());
  // Both operands of both nodes are copied to all ranks; B is there already.
  EXPECT_EQ(counts["exchange"], 4 * comm.size());
  const int messages = 3 * (comm.size() - 1) * comm.size();
  EXPECT_EQ(counts["send"], messages);
  EXPECT_EQ(counts["receive"], messages);
  EXPECT_EQ(counts["wait"], 2 * messages);
}

/// The sum over n in 3 slices, Y's rows in 2.
void sliceChain(ProgramDescription &description) {
  description.addSlice(2, 3);
  description.addSlice(0, 2);
  description.setSliceRoles(kY, {SliceRole::Adds, SliceRole::Fills});
}

TEST_F(ProgramMain, EvaluatesSlices) {
  sliceChain(description);
  const std::string file = directory + "y.npy";
  const Outcome outcome = run({"--output", "Y=" + file, "--seed=5", "--verify", "--repeat=2",
                               "--trace", directory + "t.json", "--stats", directory + "s.json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out.find(" in 6 slices; ") != std::string::npos, comm.rank() == 0);
  const std::vector<float> a = generated("A", {14, 5}, 5), b = generated("B", {5, 21}, 5),
                           v = generated("V", {21, 4}, 5);
  const std::vector<double> expected =
      product(product({a.begin(), a.end()}, b, 14, 5, 21), v, 14, 21, 4);
  const std::vector<float> y = arrayOf(file, {14, 4});
  ASSERT_EQ(y.size(), expected.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(y[i], expected[i], 1e-4);
  const auto statistics = nlohmann::json::parse(contentsOf(directory + "s.json"));
  EXPECT_EQ(statistics.at("slices"), 6);
  EXPECT_EQ(statistics.at("flops"), 6 * 2000);
  const int64_t others = comm.size() - 1;
  EXPECT_EQ(statistics.at("bytes_sent"), 6 * others * 4 * (7 * 5 + 7 * 7 + 7 * 4));
  std::map<std::string, int> counts;
  const auto trace = nlohmann::json::parse(contentsOf(directory + "t.json"));
  for (const auto &event : trace.at("traceEvents"))
    ++counts[event.value("cat", event.at("name"))];
  EXPECT_EQ(counts["node"], 2 * comm.size()) << "one slice, and not its verification, is traced";
}

/// Something goes wrong in the third slice or later.
TEST_F(ProgramMain, LeavesNothingOfSlicesThatFail) {
  sliceChain(description);
  const std::string file = directory + "y.npy";
  int evaluations = 0;
  const Outcome wrong =
      run({"--verify", "--output", "Y=" + file}, [&](int node, ReferenceProgram<float> &program) {
        const TensorView view = program.tensor(kY);
        if (node == 1 && ++evaluations > 2 && view.held && volume(view.box) > 0)
          *reinterpret_cast<float *>(view.data) += 1;
      });
  EXPECT_EQ(wrong.status, 1);
  EXPECT_EQ(wrong.out.find("\nNOT verified: ") != std::string::npos, comm.rank() == 0) << wrong.out;
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_FALSE(std::filesystem::exists(file + ".part"));

  evaluations = 0;
  const Outcome failing = run({"--output", "Y=" + file}, [&](int node, ReferenceProgram<float> &) {
    if (node == 1 && ++evaluations > 2)
      throw CollectiveError("no such luck");
  });
  EXPECT_EQ(failing.status, 1);
  expectOneMessage(failing, "no such luck");
  EXPECT_FALSE(std::filesystem::exists(file + ".part"));
}

} // namespace
