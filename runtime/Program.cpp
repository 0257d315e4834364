//===- Program.cpp - the main function of emitted programs ------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "einsumc/Program.h"

#include "Arguments.h"
#include "DefaultThreads.h"
#include "Describe.h"
#include "Format.h"
#include "LongWaits.h"
#include "Npy.h"
#include "OnRoot.h"
#include "PartFile.h"
#include "Philox.h"
#include "Region.h"
#include "SliceLoop.h"
#include "Statistics.h"
#include "TeamBinding.h"
#include "TraceFile.h"
#include "Verify.h"
#include "VerifySlices.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace einsumc {
namespace {

constexpr int kSuccess = 0, kFailure = 1, kWrongUsage = 2;
/// A wait of so many seconds is worth a note.
constexpr double kNoteSeconds = 300;
/// The launcher has so long to end all ranks before a rank that has failed ends itself.
constexpr unsigned kAbortSeconds = 10;
/// And so long to pass on what a rank has written before it aborts.
constexpr std::chrono::milliseconds kTimeToPassOn{300};

/// The words of the command line as rank 0 got them: a launcher may give ranks different ones.
/// Collective.
std::vector<std::string> agreedWords(const Communicator &comm, int argc, char **argv) {
  std::string joined;
  for (int i = 1; i < argc; ++i)
    joined += argv[i] + std::string(1, '\0');
  joined = broadcast(comm, std::move(joined));
  std::vector<std::string> words;
  for (std::size_t start = 0; start < joined.size();) {
    const std::size_t end = joined.find('\0', start);
    words.push_back(joined.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

/// One run of the program on one rank. Its members live until the error that ended it is reported:
/// the ranks that wait for this one must hear of it before anything here waits for them.
class Runner {
public:
  Runner(const ProgramDescription &description,
         const std::function<std::unique_ptr<Program>(Session &)> &make)
      : description(description), make(make), world(MPI_COMM_WORLD) {}

  /// Returns the exit status; does not throw.
  int run(int argc, char **argv) noexcept {
    try {
      return runSteps(agreedWords(world, argc, argv));
    } catch (const UsageError &error) {
      return complain(error, kWrongUsage);
    } catch (const CollectiveError &error) {
      return complain(error, kFailure);
    } catch (const std::bad_alloc &) {
      return abort("out of memory");
    } catch (const std::exception &error) {
      return abort(error.what());
    } catch (...) {
      return abort("unknown exception");
    }
  }

private:
  int runSteps(std::vector<std::string> words) {
    arguments = parseArguments(description, std::move(words));
    longWaits.emplace(longWaitsPolicy());
    if (!arguments.message.empty()) {
      print(arguments.message);
      return kSuccess;
    }
    if (!arguments.describe)
      checkRanks(MPI_COMM_WORLD, description.ranks);
    requireWritableFiles();

    const double start = MPI_Wtime();
    session.emplace(MPI_COMM_WORLD,
                    arguments.threads > 0 ? arguments.threads
                                          : defaultThreads(world, description.movesInSteps
                                                                      ? arguments.communicationCore
                                                                      : CommunicationCore::Shared),
                    description.movesInSteps ? arguments.inPlace : InPlace::None);
    if (arguments.describe) {
      print(describe(description, *session));
      return kSuccess;
    }
    binding.emplace(coresOfThreads(world, session->threads()));
    program = make(*session);
    const double made = MPI_Wtime();
    fillInputs();
    const double filled = MPI_Wtime();
    Recorder recorder;
    if (description.slices.empty())
      runWhole(recorder);
    else
      runSlices(recorder);
    report(recorder.finish(*session, made - start, filled - made));
    const bool isRight = !arguments.verify || verifyResult();
    if (isRight)
      writeOutputs();
    reportTrace(); // Last, as it may be large: a full disk shall not cost the results.
    return isRight ? kSuccess : kFailure;
  }

  LongWaits longWaitsPolicy() const {
    LongWaits policy;
    if (world.rank() == 0) { // One rank's word is enough where all wait for the same one.
      policy.noteSeconds = kNoteSeconds;
      policy.note = [](const std::string &what) {
        std::cerr << "einsumc: note: rank 0: " + what + " (--wait-limit ends such waits)\n"
                  << std::flush;
      };
    }
    if (arguments.waitLimit > 0) {
      // The ranks that wait are not to end the job all at once, each with a message of its own.
      policy.limitSeconds = arguments.waitLimit + std::min(0.5 * world.rank(), 10.0);
      policy.end = [this](const std::string &what) {
        abort(what + " (--wait-limit " + std::to_string(arguments.waitLimit) + ")");
      };
    }
    return policy;
  }

  void requireWritableFiles() const {
    std::vector<std::string> files;
    for (const auto &[tensor, file] : arguments.outputs)
      files.push_back(file);
    for (const std::string &file : {arguments.statistics, arguments.trace})
      if (!file.empty())
        files.push_back(file);
    if (files.empty())
      return;
    doOnRoot(world, [&] { std::ranges::for_each(files, requireWritable); });
  }

  /// Those that are the same in all slices.
  void fillInputs() {
    for (std::size_t i = 0; i < description.tensors.size(); ++i) {
      const auto tensor = static_cast<int>(i);
      if (description.tensors[i].isInput && !isSliced(description, tensor))
        fillInput(tensor, program->tensor(tensor), Region(description.tensors[i].layout));
    }
  }

  void fillInput(int tensor, const TensorView &view, const Region &region) {
    const std::string &name = description.tensors[static_cast<std::size_t>(tensor)].name;
    const auto file = arguments.inputs.find(tensor);
    if (file == arguments.inputs.end()) {
      fillRandom(view, arguments.seed, name, region);
      return;
    }
    const std::string note = readNpy(session->comm(), file->second, name, view, region);
    if (!note.empty() && notes.insert(note).second && session->rank() == 0)
      std::cerr << "einsumc: note: " << note << std::endl;
  }

  FillInput inputFiller() {
    return [this](int tensor, const TensorView &view, const Region &region) {
      fillInput(tensor, view, region);
    };
  }

  void runWhole(Recorder &recorder) {
    for (int i = 1; i < arguments.repeat; ++i)
      timeRun(recorder);
    startTrace();
    timeRun(recorder);
    session->setTrace(nullptr);
  }

  void timeRun(Recorder &recorder) {
    session->startRun(description.nodes.size());
    barrier(session->comm());
    const double start = MPI_Wtime();
    program->run();
    recorder.addRun(*session, MPI_Wtime() - start);
  }

  /// Results do not stay, so the last run is verified and written while it goes on.
  void runSlices(Recorder &recorder) {
    for (const auto &[tensor, file] : arguments.outputs) // A full disk shall show now.
      writers.try_emplace(tensor, session->comm(), file, description.dtype,
                          wholeExtents(description, tensor));
    SliceLoop loop(*session, description, *program, inputFiller());
    SliceObserver nobody;
    for (int i = 1; i < arguments.repeat; ++i)
      loop.run(recorder, nobody);
    if (arguments.verify)
      sliceVerification.emplace(*session, description, *program, inputFiller(), verifyOptions());
    LastRun last(*this);
    loop.run(recorder, last);
  }

  class LastRun : public SliceObserver {
  public:
    explicit LastRun(Runner &runner) : runner(runner) {}
    void beforeSlice(const SliceIndex &index) override {
      if (index == lastSlice(runner.description))
        runner.startTrace();
    }
    void afterSlice(const SliceIndex &index, const SliceSums &sums) override {
      runner.session->setTrace(nullptr);
      if (runner.sliceVerification)
        runner.sliceVerification->afterSlice(index, sums);
    }
    void afterOutput(int tensor, const TensorView &view, const SliceIndex &index) override {
      if (runner.sliceVerification)
        runner.sliceVerification->afterOutput(tensor, view, index);
      if (const auto writer = runner.writers.find(tensor); writer != runner.writers.end())
        writer->second.write(view, regionOf(runner.description, tensor, index));
    }

  private:
    Runner &runner;
  };

  /// The last run, or slice, is traced: the file stays small, and nothing happens for the first
  /// time.
  void startTrace() {
    if (arguments.trace.empty())
      return;
    trace.emplace(description.nodes.size(), session->threads());
    session->setTrace(&*trace);
  }

  void reportTrace() const {
    if (!trace)
      return;
    const int64_t dropped = writeTrace(session->comm(), arguments.trace, *trace, description);
    if (dropped > 0 && session->rank() == 0)
      std::cerr << "einsumc: note: " << arguments.trace << " lacks " << countOf(dropped, "event")
                << ": a thread keeps " << Trace::kEventsPerThread << std::endl;
    print("wrote " + arguments.trace + "\n");
  }

  void report(const Statistics &statistics) const {
    print(summarize(statistics, description, session->threads()));
    if (arguments.statistics.empty())
      return;
    doOnRoot(session->comm(), [&] {
      const std::string json = formatStatistics(statistics, description, session->threads());
      PartFile file(arguments.statistics, json, json.size());
      file.commit();
    });
    print("wrote " + arguments.statistics + "\n");
  }

  VerifyOptions verifyOptions() const {
    VerifyOptions options;
    options.seed = arguments.seed;
    return options;
  }

  bool verifyResult() {
    const Verification result = sliceVerification
                                    ? sliceVerification->finish()
                                    : verify(*session, description, *program, verifyOptions());
    print(result.text);
    if (!result.passed && !arguments.outputs.empty())
      print("no output was written\n");
    return result.passed;
  }

  /// Those of slices are written already, but not under their names.
  void writeOutputs() {
    for (const auto &[tensor, file] : arguments.outputs) {
      if (const auto writer = writers.find(tensor); writer != writers.end())
        writer->second.commit();
      else
        writeNpy(session->comm(), file, program->output(tensor));
      print("wrote " + file + "\n");
    }
  }

  void print(const std::string &text) const {
    if (world.rank() == 0)
      std::cout << text << std::flush;
  }

  int complain(const Error &error, int status) const {
    if (world.rank() == 0)
      std::cerr << "einsumc: " << error.what() << std::endl;
    return status;
  }

  int abort(const std::string &what) const {
    std::cerr << "einsumc: rank " + std::to_string(world.rank()) + ": " + what + "\n" << std::flush;
    // Launchers drop what they have not yet passed on when a rank aborts.
    std::this_thread::sleep_for(kTimeToPassOn);
    // MPI_Abort may ask a launcher that cannot be reached any more.
    std::signal(SIGALRM, [](int) { std::_Exit(kFailure); });
    alarm(kAbortSeconds);
    MPI_Abort(MPI_COMM_WORLD, kFailure);
    std::_Exit(kFailure); // Where MPI_Abort returns, nothing here may wait for other ranks.
  }

  const ProgramDescription &description;
  const std::function<std::unique_ptr<Program>(Session &)> &make;
  const Communicator world;
  Arguments arguments;
  std::optional<LongWaitsInForce> longWaits;
  std::optional<Trace> trace;
  std::optional<TeamBinding> binding;
  std::optional<Session> session;
  std::unique_ptr<Program> program; ///< dies before the session it uses
  std::set<std::string> notes;      ///< that the user has been told
  std::map<int, NpyWriter> writers; ///< of outputs that are evaluated in slices
  std::optional<SliceVerification> sliceVerification;
};

} // namespace

void checkRanks(MPI_Comm comm, int64_t ranks) {
  int size = 0;
  checkMpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  if (size == ranks)
    return;
  const std::string compiled = std::to_string(ranks);
  const std::string started = std::to_string(size);
  throw CollectiveError("this program was compiled for " + countOf(ranks, "rank") +
                        " but started on " + started + ": start it with mpirun -n " + compiled +
                        ", or compile it with einsumc --ranks=" + started);
}

int runProgram(int argc, char **argv, const ProgramDescription &description,
               const std::function<std::unique_ptr<Program>(Session &)> &make) {
  try {
    Environment environment(&argc, &argv);
    const int status = Runner(description, make).run(argc, argv);
    environment.endWith(status);
    return status;
  } catch (const std::exception &error) { // Before there is a communicator to agree on.
    std::cerr << std::string("einsumc: ") + error.what() + "\n" << std::flush;
    return kFailure;
  }
}

} // namespace einsumc
