//===- TraceFileTest.cpp - traces as files for viewers ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "../../runtime/TraceFile.h"

#include "SmallPrograms.h"
#include "TemporaryDirectory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace einsumc;
using namespace einsumc::test;
using Json = nlohmann::json;

std::vector<Json> ofKind(const Json &events, const std::string &phase) {
  std::vector<Json> found;
  for (const Json &event : events)
    if (event.at("ph") == phase)
      found.push_back(event);
  return found;
}

class TraceFile : public testing::Test {
protected:
  TraceFile() : description(chainProgram(comm.size(), DType::F32, split(0), split(1))) {}

  /// A run of the chain program, each node with one exchange with one wait.
  void record(Trace &trace) {
    for (const int node : {0, 1}) {
      trace.beginNode(node);
      {
        const TraceSpan exchange(&trace, Activity::Exchange);
        const TraceSpan wait(&trace, Activity::Wait);
      }
      trace.endNode();
    }
  }

  Json format(const Trace &trace, int64_t origin) {
    return Json::parse("[" + formatTrace(trace, description, 3, "the host", origin) + "]");
  }

  Communicator comm{MPI_COMM_WORLD};
  const TemporaryDirectory temporary{comm};
  ProgramDescription description;
};

TEST_F(TraceFile, NamesRanksAndThreads) {
  const Trace trace(2, 2);
  const Json events = format(trace, 0);
  EXPECT_EQ(ofKind(events, "X").size(), 0U);
  std::map<std::string, std::vector<std::string>> names;
  for (const Json &event : ofKind(events, "M")) {
    EXPECT_EQ(event.at("pid"), 3);
    if (event.at("args").contains("name"))
      names[event.at("name")].push_back(event.at("args").at("name"));
  }
  EXPECT_EQ(names["process_name"], std::vector<std::string>{"rank 3 (the host)"});
  EXPECT_EQ(names["thread_name"], (std::vector<std::string>{"thread 0", "thread 1"}));
}

TEST_F(TraceFile, ShowsNodesAndWhatHappensWithin) {
  Trace trace(2, 1);
  record(trace);
  const int64_t origin = trace.nodes().front().begin - 1'002'003;
  const std::vector<Json> events = ofKind(format(trace, origin), "X");
  ASSERT_EQ(events.size(), 6U);
  std::vector<std::string> categories;
  for (const Json &event : events)
    categories.push_back(event.at("cat"));
  EXPECT_EQ(categories,
            (std::vector<std::string>{"node", "exchange", "wait", "node", "exchange", "wait"}));
  const Json &node = events[0];
  EXPECT_EQ(node.at("name"), "T[mn] = ...");
  EXPECT_DOUBLE_EQ(node.at("ts").get<double>(), 1002.003);
  EXPECT_EQ(node.at("args").at("node"), "T");
  EXPECT_EQ(node.at("args").at("algorithm"), "local");
  EXPECT_EQ(node.at("args").at("flops"), 1000);
  EXPECT_EQ(events[5].at("name"), "wait");
  EXPECT_EQ(events[5].at("args").at("node"), "Y");
  for (const Json &event : events)
    EXPECT_EQ(event.at("tid"), 0);
}

TEST_F(TraceFile, TransfersThatOverlapHaveRowsOfTheirOwn) {
  Trace trace(2, 2);
  const int64_t begin = Trace::now();
  trace.beginNode(1);
  // Each ends when it is added: the receives overlap, but not the sends.
  trace.addTransfer(Activity::Receive, begin, 0, 100);
  trace.addTransfer(Activity::Receive, begin - 5, 2, 200);
  for (const int64_t bytes : {300, 400})
    trace.addTransfer(Activity::Send, Trace::now(), 2, bytes);
  trace.addTransfer(Activity::Receive, Trace::now(), 0, 500);
  trace.endNode();

  const Json events = format(trace, begin - 5);
  std::map<int, std::string> rows;
  for (const Json &event : events)
    if (event.at("name") == "thread_name")
      rows[event.at("tid")] = event.at("args").at("name");
  EXPECT_EQ(
      rows,
      (std::map<int, std::string>{
          {0, "thread 0"}, {1, "thread 1"}, {2, "sends"}, {3, "receives"}, {4, "receives 2"}}));
  std::map<std::string, std::vector<int>> bytes;
  for (const Json &event : ofKind(events, "X")) {
    if (event.at("cat") == "node")
      continue;
    EXPECT_EQ(event.at("args").at("node"), "Y");
    bytes[rows[event.at("tid")]].push_back(event.at("args").at("bytes"));
  }
  EXPECT_EQ(bytes, (std::map<std::string, std::vector<int>>{
                       {"sends", {300, 400}}, {"receives", {200, 500}}, {"receives 2", {100}}}));
}

TEST_F(TraceFile, TransfersNameTheirPeers) {
  Trace trace(2, 1);
  const int64_t begin = Trace::now();
  trace.addTransfer(Activity::Send, begin, 2, int64_t{1} << 40);
  const std::vector<Json> events = ofKind(format(trace, begin - 1'002'003), "X");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].at("name"), "send to 2");
  EXPECT_EQ(events[0].at("cat"), "send");
  EXPECT_DOUBLE_EQ(events[0].at("ts").get<double>(), 1002.003);
  EXPECT_EQ(events[0].at("args"), (Json{{"peer", 2}, {"bytes", int64_t{1} << 40}}));
}

TEST_F(TraceFile, NumbersStepsByNode) {
  Trace trace(2, 1);
  for (const int node : {0, 1}) {
    trace.beginNode(node);
    for (int step = 0; step < 2; ++step) {
      const TraceSpan span(&trace, Activity::Step);
      const TraceSpan kernel(&trace, Activity::Kernel);
    }
    trace.endNode();
  }
  std::vector<std::string> names;
  for (const Json &event : ofKind(format(trace, 0), "X"))
    if (event.at("cat") == "step")
      names.push_back(event.at("name"));
  EXPECT_EQ(names, (std::vector<std::string>{"step 0", "step 1", "step 0", "step 1"}));
}

TEST_F(TraceFile, TakesAnyName) {
  description.nodes[0].text = "\"quoted\" \\ \n and \xff";
  Trace trace(2, 1);
  record(trace);
  const std::vector<Json> events = ofKind(format(trace, 0), "X");
  EXPECT_EQ(events[0].at("name"), "\"quoted\" \\ \n and \xef\xbf\xbd");
}

TEST_F(TraceFile, HasThePartsOfAllRanks) {
  const std::string file = temporary.path() + "/trace.json";
  Trace trace(2, 1 + comm.rank(), 4);
  record(trace);
  for (int i = 0; i < 5; ++i) // The first three are of blocks.
    const TraceSpan span(&trace, Activity::Wait);
  const int64_t dropped = 5 * comm.size();
  EXPECT_EQ(writeTrace(comm, file, trace, description), dropped);
  barrier(comm);
  EXPECT_FALSE(std::filesystem::exists(file + ".part"));

  const Json json = Json::parse(std::ifstream(file));
  EXPECT_EQ(json.at("otherData").at("program"), "test");
  EXPECT_EQ(json.at("otherData").at("ranks"), comm.size());
  EXPECT_EQ(json.at("otherData").at("dropped_events"), dropped);
  std::map<int, int> nodes;
  std::set<std::pair<int, int>> threads;
  double first = 1e9;
  for (const Json &event : json.at("traceEvents")) {
    if (event.at("name") == "thread_name")
      threads.emplace(event.at("pid"), event.at("tid"));
    if (event.at("ph") != "X")
      continue;
    nodes[event.at("pid")] += event.at("cat") == "node";
    first = std::min(first, event.at("ts").get<double>());
  }
  EXPECT_EQ(first, 0);
  EXPECT_EQ(nodes.size(), static_cast<std::size_t>(comm.size()));
  for (int rank = 0; rank < comm.size(); ++rank) {
    EXPECT_EQ(nodes[rank], 2);
    for (int thread = 0; thread <= rank; ++thread)
      EXPECT_TRUE(threads.contains({rank, thread}));
  }
}

TEST_F(TraceFile, AFileThatCannotBeWrittenIsKnownToAllRanks) {
  Trace trace(2, 1);
  record(trace);
  EXPECT_THROW(writeTrace(comm, temporary.path() + "/none/trace.json", trace, description),
               CollectiveError);
  // A directory in its place shows only at the end.
  const std::string directory = temporary.path() + "/directory";
  if (comm.rank() == 0)
    std::filesystem::create_directory(directory);
  barrier(comm);
  EXPECT_THROW(writeTrace(comm, directory, trace, description), CollectiveError);
  barrier(comm);
  EXPECT_FALSE(std::filesystem::exists(directory + ".part"));
}

} // namespace
