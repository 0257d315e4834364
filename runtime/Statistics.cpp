//===- Statistics.cpp - what a program measured about itself ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Statistics.h"

#include "Format.h"
#include "Region.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string_view>

namespace einsumc {
namespace {

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double gigaRate(double flops, double seconds) { return seconds > 0 ? flops / seconds * 1e-9 : 0; }

} // namespace

double totalFlops(const ProgramDescription &description) {
  const double flops =
      std::accumulate(description.nodes.begin(), description.nodes.end(), 0.0,
                      [](double sum, const NodeDescription &node) { return sum + node.flops; });
  return flops * static_cast<double>(countSlices(slicePartsOf(description)));
}

std::string mpiLibrary() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  checkMpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  std::string_view view(text.data(), static_cast<std::size_t>(length));
  view = view.substr(0, view.find('\n')); // MPICH goes on with how it was built.
  std::string result;
  for (const char c : view) // and separates with tabs
    if (c != '\t' && c != '\0')
      result += c;
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  result.erase(result.find_last_not_of(' ') + 1); // Open MPI ends with one.
  return result;
}

void Recorder::startRun() { runs.emplace_back(); }

void Recorder::addRun(const Session &session, double seconds) {
  startRun();
  addSlice(session, seconds);
}

void Recorder::addSlice(const Session &session, double seconds) {
  std::vector<double> times(kFirstNode);
  times[kSeconds] = seconds;
  std::vector<int64_t> counts;
  for (const Session::NodeRecord &record : session.nodeRecords()) {
    times[kWait] += record.waitSeconds;
    times.insert(times.end(), {record.seconds, record.waitSeconds});
    const Traffic &traffic = record.traffic;
    counts.insert(counts.end(), {traffic.bytes, traffic.messages, traffic.inPlaceBytes});
  }
  maxOverRanks(session.comm(), times);
  sumOverRanks(session.comm(), counts);
  Run &run = runs.back();
  run.times.resize(times.size());
  run.traffic.resize(counts.size() / 3);
  for (std::size_t i = 0; i < times.size(); ++i)
    run.times[i] += times[i];
  for (std::size_t node = 0; node < run.traffic.size(); ++node)
    run.traffic[node] += {counts[3 * node], counts[3 * node + 1], counts[3 * node + 2]};
}

void Recorder::addSeconds(const Session &session, double seconds) {
  maxOverRanks(session.comm(), std::span(&seconds, 1));
  runs.back().times[kSeconds] += seconds;
}

void Recorder::addInputSeconds(const Session &session, double seconds) {
  maxOverRanks(session.comm(), std::span(&seconds, 1));
  runs.back().times[kInputs] += seconds;
}

Statistics Recorder::finish(Session &session, double setupSeconds, double inputSeconds) const {
  std::array<double, 2> times{setupSeconds, inputSeconds};
  maxOverRanks(session.comm(), times);
  std::array<int64_t, 2> peaks{static_cast<int64_t>(session.memory().peakBytes()),
                               static_cast<int64_t>(session.memory().tensorPeakBytes())};
  maxOverRanks(session.comm(), peaks);

  const auto medianOf = [this](std::size_t time) {
    std::vector<double> values;
    for (const Run &run : runs)
      values.push_back(run.times[time]);
    return median(std::move(values));
  };
  Statistics statistics;
  statistics.seconds = medianOf(kSeconds);
  statistics.waitSeconds = medianOf(kWait);
  statistics.sliceInputSeconds = medianOf(kInputs);
  statistics.setupSeconds = times[0];
  statistics.inputSeconds = times[1];
  statistics.peakBytes = peaks[0];
  statistics.tensorBytes = peaks[1];
  statistics.repeat = static_cast<int>(runs.size());
  const std::vector<Traffic> &traffic = runs.back().traffic;
  for (std::size_t node = 0; node < traffic.size(); ++node) {
    statistics.nodes.push_back(
        {medianOf(kFirstNode + 2 * node), medianOf(kFirstNode + 2 * node + 1), traffic[node]});
    statistics.traffic += traffic[node];
  }
  return statistics;
}

std::string formatStatistics(const Statistics &statistics, const ProgramDescription &description,
                             int threads) {
  using Json = nlohmann::ordered_json;
  const double flops = totalFlops(description);
  const int64_t slices = countSlices(slicePartsOf(description));
  Json json = {
      {"program", description.name},
      {"einsumc", EINSUMC_VERSION},
      {"mpi", mpiLibrary()},
      {"dtype", description.dtype == DType::F32 ? "f32" : "f64"},
      {"ranks", description.ranks},
      {"threads", threads},
      {"repeat", statistics.repeat},
      {"slices", slices},
      {"seconds", statistics.seconds},
      {"predicted_seconds", description.predictedSeconds * static_cast<double>(slices)},
      {"setup_seconds", statistics.setupSeconds},
      {"input_seconds", statistics.inputSeconds},
      {"slice_input_seconds", statistics.sliceInputSeconds},
      {"flops", flops},
      {"gflops", gigaRate(flops, statistics.seconds)},
      {"bytes_sent", statistics.traffic.bytes},
      {"bytes_in_place", statistics.traffic.inPlaceBytes},
      {"messages", statistics.traffic.messages},
      {"wait_seconds", statistics.waitSeconds},
      {"peak_bytes", statistics.peakBytes},
      {"predicted_peak_bytes", description.predictedPeakBytes(threads)},
      {"tensor_bytes", statistics.tensorBytes},
      {"predicted_tensor_bytes", description.predictedTensorBytes},
      {"nodes", Json::array()},
  };
  for (std::size_t i = 0; i < statistics.nodes.size(); ++i) {
    const Statistics::Node &measured = statistics.nodes[i];
    const NodeDescription &node = description.nodes[i];
    const double nodeFlops = node.flops * static_cast<double>(slices);
    json["nodes"].push_back({
        {"name", description.tensors[static_cast<std::size_t>(node.tensor)].name},
        {"algorithm", node.algorithm},
        {"grid", node.grid},
        {"seconds", measured.seconds},
        {"flops", nodeFlops},
        {"gflops", gigaRate(nodeFlops, measured.seconds)},
        {"bytes_sent", measured.traffic.bytes},
        {"bytes_in_place", measured.traffic.inPlaceBytes},
        {"messages", measured.traffic.messages},
        {"wait_seconds", measured.waitSeconds},
        {"predicted_seconds", node.predictedSeconds * static_cast<double>(slices)},
        {"predicted_bytes", node.predictedBytes * static_cast<double>(slices)},
        {"predicted_messages", node.predictedMessages * slices},
    });
  }
  // Names are the user's: bytes that are no UTF-8 are replaced, not thrown about.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string summarize(const Statistics &statistics, const ProgramDescription &description,
                      int threads) {
  std::string text = description.name + ": " + formatNumber(statistics.seconds) + " s";
  if (statistics.repeat > 1)
    text += " (median of " + std::to_string(statistics.repeat) + ")";
  text += ", " + formatNumber(gigaRate(totalFlops(description), statistics.seconds)) +
          " GFLOPS, on " + countOf(description.ranks, "rank") + " with " +
          countOf(threads, "thread") +
          (description.slices.empty()
               ? ""
               : " in " + countOf(countSlices(slicePartsOf(description)), "slice")) +
          "; sent " + formatBytes(statistics.traffic.bytes) + " in " +
          countOf(statistics.traffic.messages, "message") +
          (statistics.traffic.inPlaceBytes > 0
               ? ", " + formatBytes(statistics.traffic.inPlaceBytes) + " of it in place"
               : "") +
          "\n";
  return text;
}

} // namespace einsumc
