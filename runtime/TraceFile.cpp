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
#include <iterator>
#include <optional>
#include <span>
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
  case Activity::Step:
    return "step";
  case Activity::Send:
    return "send";
  case Activity::Receive:
    return "receive";
  }
  return "";
}

/// Nanoseconds in the format's unit, microseconds, with all their digits.
std::string microseconds(int64_t nanoseconds) {
  const std::string rest = std::to_string(nanoseconds % 1000);
  return std::to_string(nanoseconds / 1000) + "." + std::string(3 - rest.size(), '0') + rest;
}

using Row = std::vector<TransferEvent>;

/// The transfers of one activity in rows in which none overlap: each in the first row that is free
/// when it begins, which takes as few rows as can be.
std::vector<Row> rowsOf(std::span<const TransferEvent> transfers, Activity activity) {
  Row sorted;
  std::ranges::copy_if(transfers, std::back_inserter(sorted),
                       [&](const TransferEvent &event) { return event.activity == activity; });
  std::ranges::stable_sort(sorted, {}, &TransferEvent::begin);
  std::vector<Row> rows;
  for (const TransferEvent &event : sorted) {
    auto row = std::ranges::find_if(
        rows, [&](const Row &candidate) { return candidate.back().end <= event.begin; });
    if (row == rows.end())
      row = rows.emplace(row);
    row->push_back(event);
  }
  return rows;
}

/// The text of one rank, an event a line.
class RankText {
public:
  RankText(const Trace &trace, const ProgramDescription &description, int64_t rank, int64_t origin)
      : trace(trace), pid(std::to_string(rank)), origin(origin) {
    for (const NodeDescription &node : description.nodes) {
      const std::string &result = description.tensors[static_cast<std::size_t>(node.tensor)].name;
      nodeNames.push_back(textOf(node.text));
      resultNames.push_back(textOf(result));
      nodeArgs.push_back(textOf({{"node", result},
                                 {"algorithm", node.algorithm},
                                 {"grid", node.grid},
                                 {"flops", node.flops}}));
    }
  }

  std::string run(const std::string &process) {
    addName("process_name", 0, process);
    addSortIndex("process", 0, pid);
    for (int thread = 0; thread < trace.threads(); ++thread) {
      addRow("thread " + std::to_string(thread));
      addThread(thread);
    }
    addTransfers(Activity::Send);
    addTransfers(Activity::Receive);
    return std::move(text);
  }

private:
  void addThread(int thread) {
    std::vector<TraceEvent> events(trace.events(thread).begin(), trace.events(thread).end());
    if (thread == 0)
      events.insert(events.end(), trace.nodes().begin(), trace.nodes().end());
    sortOuterFirst(events);
    for (const TraceEvent &event : events) {
      startNode(event.node);
      addEvent(event);
    }
  }

  /// Viewers take the first of events that begin together as the outer one. Of equal events, that
  /// is the one that was added last.
  static void sortOuterFirst(std::vector<TraceEvent> &events) {
    std::ranges::reverse(events);
    std::ranges::stable_sort(events, [](const TraceEvent &a, const TraceEvent &b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
  }

  void addTransfers(Activity activity) {
    const std::string name = nameOf(activity);
    int number = 0;
    for (const Row &row : rowsOf(trace.transfers(), activity)) {
      addRow(name + "s" + (++number == 1 ? "" : " " + std::to_string(number)));
      for (const TransferEvent &event : row)
        addTransfer(event);
    }
  }

  void addLine(std::string_view line) {
    if (!text.empty())
      text += ",\n";
    text += line;
  }

  void addMetadata(const std::string &name, int row, const std::string &args) {
    addLine(R"({"name":")" + name + R"(","ph":"M","pid":)" + pid + R"(,"tid":)" +
            std::to_string(row) + R"(,"args":)" + args + "}");
  }
  void addName(const char *kind, int row, const std::string &name) {
    addMetadata(kind, row, R"({"name":)" + textOf(name) + "}");
  }
  void addSortIndex(const std::string &what, int row, const std::string &index) {
    addMetadata(what + "_sort_index", row, R"({"sort_index":)" + index + "}");
  }

  /// To viewers every row is a thread: those of the team, and then those of transfers.
  void addRow(const std::string &name) {
    ++currentRow;
    addName("thread_name", currentRow, name);
    addSortIndex("thread", currentRow, std::to_string(currentRow));
  }

  /// Steps are numbered by node. When there is no room it is the later ones that are missing.
  void startNode(int32_t node) {
    if (node != currentNode)
      steps = 0;
    currentNode = node;
  }

  void addEvent(const TraceEvent &event) {
    const auto node = static_cast<std::size_t>(event.node);
    if (event.activity == Activity::Node)
      addComplete(event, nodeNames[node], nodeArgs[node]);
    else if (event.activity == Activity::Step)
      addComplete(event, "\"step " + std::to_string(steps++) + '"', argsOf(event.node));
    else
      addComplete(event, '"' + std::string(nameOf(event.activity)) + '"', argsOf(event.node));
  }

  void addTransfer(const TransferEvent &event) {
    const char *const way = event.activity == Activity::Send ? " to " : " from ";
    const std::string peer = std::to_string(event.peer);
    addComplete(
        event, '"' + std::string(nameOf(event.activity)) + way + peer + '"',
        argsOf(event.node, R"("peer":)" + peer + R"(,"bytes":)" + std::to_string(event.bytes)));
  }

  /// The arguments of what happens within a node, or within none.
  std::string argsOf(int32_t node, const std::string &others = "") const {
    std::string args;
    if (node >= 0)
      args = R"("node":)" + resultNames[static_cast<std::size_t>(node)];
    if (!args.empty() && !others.empty())
      args += ',';
    return '{' + args + others + '}';
  }

  /// \param name, args JSON
  template <class Event>
  void addComplete(const Event &event, const std::string &name, const std::string &args) {
    std::string line = R"({"name":)" + name;
    line += R"(,"cat":")" + std::string(nameOf(event.activity)) + R"(","ph":"X","pid":)" + pid;
    line += R"(,"tid":)" + std::to_string(currentRow);
    line += R"(,"ts":)" + microseconds(event.begin - origin);
    line += R"(,"dur":)" + microseconds(event.end - event.begin);
    line += R"(,"args":)" + args;
    addLine(line + "}");
  }

  const Trace &trace;
  const std::string pid;
  const int64_t origin;
  std::vector<std::string> nodeNames;   ///< of each node: its einsum, as JSON
  std::vector<std::string> resultNames; ///< of each node, as JSON
  std::vector<std::string> nodeArgs;    ///< of each node, as JSON: of itself
  int currentRow = -1;
  int32_t currentNode = -1; ///< of the event before
  int steps = 0;            ///< of it so far
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
  for (const TransferEvent &event : trace.transfers())
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
