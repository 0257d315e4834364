//===- Launch.cpp - compiles and runs an emitted program --------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Launch.h"

#include "RunConfig.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <system_error>

namespace einsumc {

namespace {

int fail(const llvm::Twine &message) {
  llvm::errs() << "einsumc: error: " << message << "\n";
  return 1;
}

/// Runs a command found on PATH and waits. \returns its exit status; negative if it did not run.
int execute(const std::vector<std::string> &command, std::string &problem) {
  llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName(command.front());
  if (!program) {
    problem = "cannot find '" + command.front() + "': " + program.getError().message();
    return -1;
  }
  std::vector<llvm::StringRef> arguments(command.begin(), command.end());
  return llvm::sys::ExecuteAndWait(*program, arguments, std::nullopt, {}, 0, 0, &problem);
}

void append(std::vector<std::string> &command, const std::vector<std::string> &words) {
  command.insert(command.end(), words.begin(), words.end());
}

} // namespace

int compileAndLaunch(const std::string &code, const Options &options) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const RunConfig config = runConfigOf(self);
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("einsumc", folder))
    return fail("cannot make a temporary folder");
  const auto cleanUp = llvm::make_scope_exit([&] { llvm::sys::fs::remove_directories(folder); });
  const std::string source = (folder + "/program.cpp").str();
  const std::string program = (folder + "/program").str();
  {
    llvm::raw_fd_ostream file(source, error);
    file << code;
    file.close();
    if (error || file.has_error()) {
      file.clear_error();
      return fail("cannot write '" + source + "'");
    }
  }

  std::string problem;
  std::vector<std::string> compile{config.mpiCxx};
  append(compile, config.compileFlags);
  append(compile, {source, "-o", program});
  append(compile, config.linkFlags);
  if (execute(compile, problem) != 0)
    return fail("the C++ compiler failed" + (problem.empty() ? "" : ": " + problem));

  std::vector<std::string> launch = options.launcher;
  if (launch.empty()) {
    launch.push_back(config.mpiExec);
    append(launch, config.mpiExecFlags);
  }
  append(launch, {"-n", std::to_string(options.ranks), program});
  append(launch, options.programArgs);
  const int status = execute(launch, problem);
  return status < 0 ? fail("the program did not run: " + problem) : status;
}

} // namespace einsumc
