//===- Calibration.cpp - measures what the cost model knows of a machine ----------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Calibration.h"

#include "CopyRates.h"
#include "KernelRates.h"
#include "NetworkRates.h"
#include "ProductRate.h"
#include "Roofline.h"

#include "../../runtime/SimdVector.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace einsumc {

namespace {

using namespace measure;

/// Three significant digits: more would be noise.
double rounded(double value) {
  if (value <= 0)
    return 0;
  const double digit = std::pow(10.0, std::floor(std::log10(value)) - 2);
  return std::round(value / digit) * digit;
}

int64_t systemValue(int name, int64_t otherwise) {
  const long value = sysconf(name);
  return value > 0 ? value : otherwise;
}

/// The data cache of a level of the first processor, in bytes, as Linux describes it, or, where it
/// does not, as in some virtual machines, sysconf, but for the third level: that is the sum over
/// several there. 0 when neither knows one.
int64_t cacheBytes(int level) {
  constexpr int kMostCaches = 8;
  for (int index = 0; index < kMostCaches; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    const auto read = [&](const char *name) {
      const auto file = llvm::MemoryBuffer::getFileAsStream(folder + "/" + name);
      return file ? (*file)->getBuffer().trim().str() : std::string();
    };
    int64_t kib = 0;
    const std::string text = read("size");
    llvm::StringRef size = text;
    if (read("level") == std::to_string(level) && read("type") != "Instruction" &&
        size.consume_back("K") && !size.getAsInteger(10, kib))
      return kib << 10;
  }
  switch (level) {
  case 1:
    return systemValue(_SC_LEVEL1_DCACHE_SIZE, 0);
  case 2:
    return systemValue(_SC_LEVEL2_CACHE_SIZE, 0);
  default:
    return 0;
  }
}

class Calibrator {
public:
  Calibrator(const Communicator &world, bool quick)
      : world(world), effort(quick ? Effort{0.0001, 3} : Effort{0.001, 15}), quick(quick) {}

  Calibrated run() {
    measureShare();
    for (int left = quick ? 1 : kTries; left > 0; left = isAsFast() ? 0 : left - 1) {
      measureFlops();
      measureBandwidths();
      measureKernels();
      measurePacking();
      measureProduct();
    }
    measureNetwork();
    return {std::move(machine), hasWithinNode, hasBetweenNodes};
  }

private:
  static constexpr int kTries = 4;

  /// Whether the processors still are what they were when the peak was measured: else somebody else
  /// has used them in the meantime.
  bool isAsFast() const {
    constexpr double kNearly = 0.9;
    const double now = slowest(peakFlops<float>(effort));
    return now > kNearly * machine.flopsF32 && machine.flopsF32 > kNearly * now;
  }

  /// A rank has the share of the machine that its threads have of the processors.
  void measureShare() {
    machine.threads = omp_get_max_threads();
    const int64_t processors = systemValue(_SC_NPROCESSORS_ONLN, machine.threads);
    machine.ranksPerNode = std::max<int64_t>(processors / machine.threads, 1);
    const int64_t pages = systemValue(_SC_PHYS_PAGES, 0);
    if (pages > 0)
      machine.memory = pages * systemValue(_SC_PAGESIZE, 4096) / machine.ranksPerNode;
  }

  void measureNetwork() {
    if (world.size() == 1)
      return;
    const NetworkRates rates = networkRates(world, quick);
    machine.memory = machine.memory * machine.ranksPerNode / rates.ranksPerNode;
    machine.ranksPerNode = rates.ranksPerNode;
    const auto take = [](const std::optional<MessageRate> &rate, Link &link) {
      if (rate)
        link = {rounded(rate->latency), rounded(rate->secondsPerByte), rounded(rate->load)};
      return rate.has_value();
    };
    hasWithinNode = take(rates.withinNode, machine.withinNode);
    hasBetweenNodes = take(rates.betweenNodes, machine.betweenNodes);
  }

  /// The longest that any rank takes: the others wait for it. Collective, so that all measure the
  /// same at the same time.
  double longest(double seconds) const {
    maxOverRanks(world, std::span(&seconds, 1));
    return rounded(seconds);
  }
  /// The rate of the slowest rank. Collective.
  double slowest(double rate) const {
    double secondsOfOne = 1 / rate;
    maxOverRanks(world, std::span(&secondsOfOne, 1));
    return rounded(1 / secondsOfOne);
  }

  void measureFlops() {
    machine.flopsF32 = slowest(peakFlops<float>(effort));
    machine.flopsF64 = slowest(peakFlops<double>(effort));
  }

  void measureBandwidths() {
    std::vector<CacheLevel> levels;
    for (std::size_t level = 0; level < machine.caches.size(); ++level) {
      // The last level is shared by the threads.
      const bool isShared = level + 1 == machine.caches.size();
      int64_t found = cacheBytes(static_cast<int>(level) + 1);
      maxOverRanks(world, std::span(&found, 1));
      const int64_t bytes =
          (found > 0 ? found : machine.caches[level].bytes) * (isShared ? 1 : machine.threads);
      if (!levels.empty() && bytes <= levels.back().bytes)
        break;
      levels.push_back({bytes, slowest(triadBandwidth(bytes / machine.threads / 2, effort))});
    }
    machine.caches = std::move(levels);
    machine.vectorBytes = simd::kVectorBytes;
    machine.memoryBandwidth = slowest(triadBandwidth(beyondCaches(), effort));
  }

  /// Bytes of each thread that together no cache holds.
  int64_t beyondCaches() const {
    constexpr int64_t kAll = int64_t{384} << 20;
    const int64_t all =
        quick ? 3 * machine.caches.back().bytes : std::max(kAll, 8 * machine.caches.back().bytes);
    return all / machine.threads;
  }

  void measureKernels() {
    machine.kernelOverhead = longest(callSeconds(effort));
    KernelEfficiency &known = machine.kernelEfficiency;
    known = {{8, 16, 32, 64, 128, 256}, {1, 4, 16, 64, 128}, {}};
    for (const int64_t bytes : known.mBytes) {
      std::vector<double> line;
      for (const int64_t k : known.k) {
        const double share =
            slowest(tileFlops(bytes / int64_t{sizeof(float)}, k, effort)) / machine.flopsF32;
        line.push_back(rounded(std::min(share, 1.0)));
      }
      known.table.push_back(std::move(line));
    }
  }

  void measurePacking() {
    constexpr int64_t kInCache = 256 << 10;
    const auto fit = [&](bool isTransposed) {
      const CopyFit found =
          fitCopies(isTransposed, kInCache, beyondCaches(), machine.memoryBandwidth, effort);
      return CopyRate{slowest(found.rate), longest(found.row), longest(found.memoryRow)};
    };
    machine.pack = {fit(false), fit(true), slowest(scatterRate(effort))};
  }

  /// Makes the tiles as efficient as they are within a whole product, where they wait for their
  /// results and for what else shares the caches: the estimate of one is then right.
  void measureProduct() {
    // The same for each thread, so that there are blocks for all.
    const auto extent = static_cast<int64_t>((quick ? 256 : 1400) *
                                             std::cbrt(static_cast<double>(machine.threads)));
    const double seconds = longest(productSeconds(extent, machine, {0, quick ? 3 : 9}));
    const LocalCost estimate = localCost(squareProduct(extent), machine);
    const double unexplained = std::max(seconds - estimate.seconds(), 0.0) / estimate.imbalance;
    const double scale =
        std::max(estimate.kernelSeconds / (estimate.kernelSeconds + unexplained), kLeastScale);
    for (std::vector<double> &line : machine.kernelEfficiency.table)
      for (double &share : line)
        share = rounded(scale * share);
  }

  /// A product that takes longer than that has been disturbed.
  static constexpr double kLeastScale = 0.5;

  const Communicator &world;
  Effort effort;
  bool quick;
  Machine machine;
  bool hasWithinNode = false, hasBetweenNodes = false;
};

class Summary {
public:
  explicit Summary(llvm::raw_ostream &out) : out(out) {}

  void line(llvm::StringRef what, double value, const char *unit) {
    out << llvm::left_justify(what, 34) << llvm::format("%9.1f ", value) << unit << "\n";
  }
  /// The three figures of a message.
  void lines(const std::string &what, const Link &link, bool isMeasured) {
    constexpr double kGiga = 1e9, kMicro = 1e-6, kTera = 1e12;
    if (!isMeasured) {
      out << llvm::left_justify(what, 34)
          << llvm::format("not measured: built-in %.1f us, %.1f GB/s\n", link.alpha / kMicro,
                          1 / link.beta / kGiga);
      return;
    }
    line(what, link.alpha / kMicro, "us");
    line(what + ", long", 1 / link.beta / kGiga, "GB/s");
    line(what + ", work", link.load * kTera, "s/TB");
  }

private:
  llvm::raw_ostream &out;
};

} // namespace

Calibrated calibrate(const Communicator &world, bool quick) {
  return Calibrator(world, quick).run();
}

void printSummary(const Calibrated &found, llvm::raw_ostream &out) {
  constexpr double kGiga = 1e9, kNano = 1e-9, kMiB = 1 << 20;
  const Machine &machine = found.machine;
  Summary summary(out);
  summary.line("threads", static_cast<double>(machine.threads), "");
  summary.line("memory", static_cast<double>(machine.memory) / kMiB, "MiB");
  summary.line("peak f32", machine.flopsF32 / kGiga, "GFLOPS");
  summary.line("peak f64", machine.flopsF64 / kGiga, "GFLOPS");
  summary.line("memory bandwidth", machine.memoryBandwidth / kGiga, "GB/s");
  for (std::size_t level = 0; level < machine.caches.size(); ++level)
    summary.line("bandwidth in cache " + std::to_string(level + 1) + ", " +
                     std::to_string(machine.caches[level].bytes >> 10) + " KiB",
                 machine.caches[level].bandwidth / kGiga, "GB/s");
  summary.line("kernel call", machine.kernelOverhead / kNano, "ns");
  for (const auto &[name, copy] : {std::pair("packing", machine.pack.contiguous),
                                   std::pair("transposing", machine.pack.transposed)}) {
    summary.line(name, copy.rate / kGiga, "GB/s");
    summary.line(name + std::string(", a row"), copy.row / kNano, "ns");
    summary.line(name + std::string(", a row from memory"), copy.memoryRow / kNano, "ns more");
  }
  summary.line("scattering", machine.pack.scattered / kGiga, "GB/s");
  summary.lines("message within a node", machine.withinNode, found.hasWithinNode);
  summary.lines("message between nodes", machine.betweenNodes, found.hasBetweenNodes);
  out << "kernel efficiency, % of the peak\n    bytes of m |  k:";
  for (const int64_t k : machine.kernelEfficiency.k)
    out << llvm::format("%5lld", static_cast<long long>(k));
  for (std::size_t m = 0; m < machine.kernelEfficiency.mBytes.size(); ++m) {
    out << llvm::format("\n%14lld |    ",
                        static_cast<long long>(machine.kernelEfficiency.mBytes[m]));
    for (const double share : machine.kernelEfficiency.table[m])
      out << llvm::format("%5.0f", 100 * share);
  }
  out << "\n";
}

} // namespace einsumc
