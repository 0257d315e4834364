//===- TraceFile.cpp - traces as files for viewers --------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// The format: Chromium's "Trace Event Format", the object form, with complete events ("X").
//
//===------------------------------------------------------------------------------------------===//

#include "TraceFile.h"

#include "ClockOffset.h"
#include "HostName.h"
#include "OnRoot.h"
#include "PartFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <string_view>
#include <vector>

namespace einsumc {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kTag = 3;

/// Names are the user's: bytes that are no UTF-8 are replaced, not thrown about.
std::string textOf(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char *nameOf(Activity activity) {
  switch (activity) {
  case Activity::Node:
    return "node";
  case Activity::Pack:
    return "pack";
  case Activity::Kernel:
    return "kernel";
  case Activity::Reduce:
    return "reduce";
  case Activity::Exchange:
    return "exchange";
  case Activity::Wait:
    return "wait";
  }
  return "";
}

/// Nanoseconds in the format's unit, microseconds, with all their digits.
std::string microseconds(int64_t nanoseconds) {
  const std::string rest = std::to_string(nanoseconds % 1000);
  return std::to_string(nanoseconds / 1000) + "." + std::string(3 - rest.size(), '0') + rest;
}

/// The text of one rank, an event a line.
class RankText {
public:
  RankText(const Trace &trace, const ProgramDescription &description, int64_t rank, int64_t origin)
      : trace(trace), pid(std::to_string(rank)), origin(origin) {
    for (const NodeDescription &node : description.nodes) {
      const std::string &result = description.tensors[static_cast<std::size_t>(node.tensor)].name;
      nodeNames.push_back(textOf(node.text));
      nodeArgs.push_back(textOf({{"node", result},
                                 {"algorithm", node.algorithm},
                                 {"grid", node.grid},
                                 {"flops", node.flops}}));
      partArgs.push_back(textOf({{"node", result}}));
    }
  }

  std::string run(const std::string &process) {
    addName("process_name", 0, process);
    addLine(R"({"name":"process_sort_index","ph":"M","pid":)" + pid + R"(,"args":{"sort_index":)" +
            pid + "}}");
    for (int thread = 0; thread < trace.threads(); ++thread) {
      addName("thread_name", thread, "thread " + std::to_string(thread));
      std::vector<TraceEvent> events(trace.events(thread).begin(), trace.events(thread).end());
      if (thread == 0)
        events.insert(events.end(), trace.nodes().begin(), trace.nodes().end());
      sortOuterFirst(events);
      for (const TraceEvent &event : events)
        addEvent(event, thread);
    }
    return std::move(text);
  }

private:
  /// Viewers take the first of events that begin together as the outer one. Of equal events, that
  /// is the one that was added last.
  static void sortOuterFirst(std::vector<TraceEvent> &events) {
    std::ranges::reverse(events);
    std::ranges::stable_sort(events, [](const TraceEvent &a, const TraceEvent &b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
  }

  void addLine(std::string_view line) {
    if (!text.empty())
      text += ",\n";
    text += line;
  }

  void addName(const char *kind, int thread, const std::string &name) {
    addLine(std::string(R"({"name":")") + kind + R"(","ph":"M","pid":)" + pid + R"(,"tid":)" +
            std::to_string(thread) + R"(,"args":{"name":)" + textOf(name) + "}}");
  }

  void addEvent(const TraceEvent &event, int thread) {
    const bool isNode = event.activity == Activity::Node;
    const std::string category = nameOf(event.activity);
    const auto node = static_cast<std::size_t>(event.node);
    std::string line = R"({"name":)";
    line += isNode ? nodeNames[node] : '"' + category + '"';
    line += R"(,"cat":")" + category + R"(","ph":"X","pid":)" + pid + R"(,"tid":)";
    line += std::to_string(thread) + R"(,"ts":)" + microseconds(event.begin - origin);
    line += R"(,"dur":)" + microseconds(event.end - event.begin);
    if (event.node >= 0)
      line += R"(,"args":)" + (isNode ? nodeArgs : partArgs)[node];
    addLine(line + "}");
  }

  const Trace &trace;
  const std::string pid;
  const int64_t origin;
  std::vector<std::string> nodeNames; ///< of each node, as JSON
  std::vector<std::string> nodeArgs;  ///< of each node, as JSON: of itself
  std::vector<std::string> partArgs;  ///< of each node, as JSON: of what happens within
  std::string text;
};

/// The time of the first event; now, if there is none.
int64_t firstBegin(const Trace &trace) {
  int64_t first = Trace::now();
  for (const TraceEvent &event : trace.nodes())
    first = std::min(first, event.begin);
  for (int thread = 0; thread < trace.threads(); ++thread)
    for (const TraceEvent &event : trace.events(thread))
      first = std::min(first, event.begin);
  return first;
}

/// The time that the file shows as 0, on this rank's clock. Collective.
int64_t commonOrigin(const Communicator &comm, const Trace &trace) {
  const int64_t offset = clockOffset(comm, Trace::now);
  int64_t beforeZero = offset - firstBegin(trace); // On rank 0's clock.
  maxOverRanks(comm, std::span(&beforeZero, 1));
  return offset - beforeZero;
}

void sendText(const Communicator &comm, const std::string &text) {
  const std::size_t size = text.size();
  Requests requests(comm);
  requests.send(std::as_bytes(std::span(&size, 1)), 0, kTag);
  requests.send(std::as_bytes(std::span(text)), 0, kTag);
  requests.wait();
}

std::string receiveText(const Communicator &comm, int rank) {
  std::size_t size = 0;
  Requests requests(comm);
  requests.receive(std::as_writable_bytes(std::span(&size, 1)), rank, kTag);
  requests.wait();
  std::string text(size, '\0');
  requests.receive(std::as_writable_bytes(std::span(text)), rank, kTag);
  requests.wait();
  return text;
}

/// Rank 0's side: writes the parts of all ranks as they come. After a failure it takes them all the
/// same, as the other ranks wait for that, and returns the failure.
std::exception_ptr writeParts(const Communicator &comm, const std::string &file,
                              const std::string &head, const std::string &own,
                              const std::string &tail) {
  std::optional<PartFile> part;
  std::exception_ptr failure;
  const auto attempt = [&](const auto &action) {
    try {
      if (!failure)
        action();
    } catch (const std::exception &) {
      failure = std::current_exception();
    }
  };
  attempt([&] {
    part.emplace(file, head, 0);
    part->append(own);
  });
  for (int rank = 1; rank < comm.size(); ++rank) {
    const std::string text = receiveText(comm, rank);
    attempt([&] {
      part->append(",\n");
      part->append(text);
    });
  }
  attempt([&] {
    part->append(tail);
    part->commit();
  });
  return failure;
}

} // namespace

std::string formatTrace(const Trace &trace, const ProgramDescription &description, int64_t rank,
                        const std::string &host, int64_t origin) {
  return RankText(trace, description, rank, origin)
      .run("rank " + std::to_string(rank) + " (" + host + ")");
}

int64_t writeTrace(const Communicator &comm, const std::string &file, const Trace &trace,
                   const ProgramDescription &description) {
  const int64_t origin = commonOrigin(comm, trace);
  int64_t dropped = trace.dropped();
  sumOverRanks(comm, std::span(&dropped, 1));
  const std::string text = formatTrace(trace, description, comm.rank(), hostName(), origin);
  std::exception_ptr failure; // rank 0's
  if (comm.rank() == 0) {
    const Json about = {{"program", description.name},
                        {"einsumc", EINSUMC_VERSION},
                        {"ranks", comm.size()},
                        {"dropped_events", dropped}};
    failure = writeParts(comm, file, "{\"otherData\":" + textOf(about) + ",\n\"traceEvents\":[\n",
                         text, "\n]}\n");
  } else {
    sendText(comm, text);
  }
  doOnRoot(comm, [&] {
    if (failure)
      std::rethrow_exception(failure);
  });
  return dropped;
}

} // namespace einsumc
