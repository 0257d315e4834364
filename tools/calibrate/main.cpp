//===- main.cpp - einsumc-calibrate: measures a machine file ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Calibration.h"

#include "../../runtime/DefaultThreads.h"
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
#include <span>
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

/// When and where the file was measured.
std::string origin() {
  std::array<char, 256> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0)
    host.front() = '\0';
  std::array<char, 32> when = {};
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  std::strftime(when.data(), when.size(), "%Y-%m-%d %H:%M", &local);
  return "einsumc-calibrate " EINSUMC_VERSION ", " + std::string(when.data()) + ", " + host.data() +
         ", " + processorModel();
}

int complain(const std::string &file, std::error_code failure) {
  llvm::errs() << "einsumc-calibrate: cannot write '" << file << "': " << failure.message() << "\n";
  return kFailure;
}

/// What rank 0 does; the others measure alone.
int run(const CommandLine &line, const Communicator &world) {
  // Opened before the measurements, which take a while; the file that is there stays until they are
  // done.
  const bool isFile = line.output != "-" && (!llvm::sys::fs::exists(line.output) ||
                                             llvm::sys::fs::is_regular_file(line.output));
  const std::string part = isFile ? line.output + ".part" : std::string(line.output);
  std::error_code failure;
  llvm::raw_fd_ostream out(part, failure);
  int64_t mayMeasure = failure ? 0 : 1;
  maxOverRanks(world, std::span(&mayMeasure, 1));
  if (failure)
    return complain(line.output, failure);
  if (isFile)
    llvm::sys::RemoveFileOnSignal(part);
  Machine machine = calibrate(world, line.quick);
  machine.comment = origin();
  printSummary(machine, llvm::errs());
  print(machine, out);
  out.close();
  failure = out.error();
  out.clear_error();
  if (!failure && isFile)
    failure = llvm::sys::fs::rename(part, line.output);
  return failure ? complain(line.output, failure) : kSuccess;
}

/// What the other ranks do, unless rank 0 cannot write.
int measureAlong(const CommandLine &line, const Communicator &world) {
  int64_t mayMeasure = 0;
  maxOverRanks(world, std::span(&mayMeasure, 1));
  if (mayMeasure != 0)
    calibrate(world, line.quick);
  return mayMeasure != 0 ? kSuccess : kFailure;
}

/// Under mpirun rank 0 writes the file, and says what is wrong with it before all measure.
int start(const CommandLine &line, int argc, char **argv) {
  try {
    const Environment environment(&argc, &argv);
    const Communicator world(MPI_COMM_WORLD);
    omp_set_num_threads(line.threads.getNumOccurrences() > 0 ? int{line.threads}
                                                             : defaultThreads(world));
    return world.rank() == 0 ? run(line, world) : measureAlong(line, world);
  } catch (const std::exception &error) {
    llvm::errs() << "einsumc-calibrate: " << error.what() << "\n";
    return kFailure;
  }
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
