//===- main.cpp - einsumc-calibrate: measures a machine file ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Calibration.h"

#include "../../runtime/DefaultThreads.h"
#include "../../runtime/OnRoot.h"
#include "../../runtime/TeamBinding.h"
#include "compiler/support/CommandLine.h"
#include "einsumc/Communicator.h"
#include "einsumc/Config.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <omp.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <exception>
#include <optional>
#include <string>

using namespace einsumc;

namespace {

namespace cl = llvm::cl;

constexpr int kSuccess = 0, kFailure = 1, kUsage = 2;

struct CommandLine {
  cl::OptionCategory category{"einsumc-calibrate options"};
  cl::opt<std::string> output{"o", cl::desc("The machine file; '-' (default) is stdout"),
                              cl::init("-"), cl::value_desc("FILE"), cl::cat(category)};
  cl::opt<int> threads{"threads",
                       cl::desc("Threads of a rank (default: OMP_NUM_THREADS, or one a processor)"),
                       cl::init(0), cl::value_desc("T"), cl::cat(category)};
  cl::opt<bool> quick{"quick", cl::desc("Take about a second instead of half a minute"),
                      cl::cat(category)};
};

/// `model name` of the first processor in Linux's list of them.
std::string processorModel() {
  const auto file = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo");
  if (!file)
    return "unknown processor";
  llvm::StringRef rest = (*file)->getBuffer();
  while (!rest.empty()) {
    const auto [line, after] = rest.split('\n');
    if (line.starts_with("model name"))
      return line.split(':').second.trim().str();
    rest = after;
  }
  return "unknown processor";
}

/// `2 ranks`
std::string counted(int64_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// When, where and with what the file was measured, and what was not.
std::string origin(const Calibrated &found, int64_t ranks) {
  std::array<char, 256> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0)
    host.front() = '\0';
  std::array<char, 32> when = {};
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  std::strftime(when.data(), when.size(), "%Y-%m-%d %H:%M", &local);
  std::string text = "einsumc-calibrate " EINSUMC_VERSION ", " + std::string(when.data()) + ", " +
                     host.data() + ", " + processorModel() + ", " + counted(ranks, "rank");
  if (ranks > 1)
    text += ", " + std::to_string(found.machine.ranksPerNode) + " a node,";
  text += " of " + counted(found.machine.threads, "thread");
  if (!found.hasWithinNode)
    text += "; not measured: messages within a node";
  if (!found.hasBetweenNodes)
    text += found.hasWithinNode ? "; not measured: messages between nodes" : " and between nodes";
  return text;
}

Error cannotWrite(const std::string &file, std::error_code failure) {
  return Error("cannot write '" + file + "': " + failure.message());
}

/// Measures on all ranks; rank 0 writes the file. \throws CollectiveError
void run(const CommandLine &line, const Communicator &world) {
  const bool isFile = line.output != "-" && (!llvm::sys::fs::exists(line.output) ||
                                             llvm::sys::fs::is_regular_file(line.output));
  const std::string part = isFile ? line.output + ".part" : std::string(line.output);
  std::optional<llvm::raw_fd_ostream> out; // rank 0's
  // Opened before the measurements, which take a while; the file that is there stays until they are
  // done.
  doOnRoot(world, [&] {
    std::error_code failure;
    out.emplace(part, failure);
    if (failure)
      throw cannotWrite(line.output, failure);
    if (isFile)
      llvm::sys::RemoveFileOnSignal(part);
  });
  Calibrated found = calibrate(world, line.quick);
  doOnRoot(world, [&] {
    found.machine.comment = origin(found, world.size());
    printSummary(found, llvm::errs());
    print(found.machine, *out);
    out->close();
    std::error_code failure = out->error();
    out->clear_error();
    if (!failure && isFile)
      failure = llvm::sys::fs::rename(part, line.output);
    if (failure)
      throw cannotWrite(line.output, failure);
  });
}

/// Says once what went wrong on all ranks.
int start(const CommandLine &line, int argc, char **argv) {
  bool isRoot = true;
  try {
    Environment environment(&argc, &argv);
    const Communicator world(MPI_COMM_WORLD);
    isRoot = world.rank() == 0;
    const int threads =
        line.threads.getNumOccurrences() > 0 ? int{line.threads} : defaultThreads(world);
    omp_set_num_threads(threads);
    const TeamBinding binding(coresOfThreads(world, threads)); // As programs do.
    run(line, world);
    environment.endWith(kSuccess);
    return kSuccess;
  } catch (const CollectiveError &error) {
    if (isRoot)
      llvm::errs() << "einsumc-calibrate: " << error.what() << "\n";
  } catch (const std::exception &error) {
    llvm::errs() << "einsumc-calibrate: " << error.what() << "\n";
  }
  return kFailure;
}

} // namespace

int main(int argc, char **argv) {
  const llvm::InitLLVM init(argc, argv);
  removeForeignOptions();
  CommandLine line;
  cl::SetVersionPrinter(
      [](llvm::raw_ostream &out) { out << "einsumc-calibrate " EINSUMC_VERSION "\n"; });
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (!cl::ParseCommandLineOptions(argc, argv,
                                   "Measures what einsumc's cost model knows of this machine, and "
                                   "writes a machine file for einsumc --machine=FILE\n",
                                   &stream)) {
    llvm::errs() << problems;
    return kUsage;
  }
  if (line.threads.getNumOccurrences() > 0 && line.threads < 1) {
    llvm::errs() << "einsumc-calibrate: --threads must be at least 1\n";
    return kUsage;
  }
  return start(line, argc, argv);
}
