//===- Output.cpp - the files that the compiler reads and writes ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Output.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace einsumc {

std::optional<llvm::StringRef> readFile(const std::string &path, Diagnostics &diagnostics) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (buffer)
    return diagnostics.addText(path == "-" ? "<stdin>" : path, (*buffer)->getBuffer());
  llvm::errs() << "einsumc: error: cannot read '" << path << "': " << buffer.getError().message()
               << "\n";
  return std::nullopt;
}

bool writeFile(const std::string &path, llvm::function_ref<void(llvm::raw_ostream &)> print) {
  llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &out) {
    print(out);
    return llvm::Error::success();
  });
  if (!error)
    return true;
  // LLVM's text begins with the file's name.
  llvm::errs() << "einsumc: error: cannot write " << llvm::toString(std::move(error)) << "\n";
  return false;
}

namespace {

/// A path as Make and Ninja read it in a dependency file.
std::string makeEscaped(llvm::StringRef path) {
  std::string result;
  for (char c : path) {
    if (c == ' ' || c == '#' || c == '\\')
      result += '\\';
    else if (c == '$')
      result += '$';
    result += c;
  }
  return result;
}

} // namespace

bool writeDependencies(const Options &options) {
  return writeFile(*options.dependencyFile, [&](llvm::raw_ostream &out) {
    out << makeEscaped(options.output) << ":";
    for (const std::optional<std::string> *file :
         {&options.inputFile, &options.planFile, &options.machineFile})
      if (*file)
        out << " \\\n  " << makeEscaped(**file);
    out << "\n";
  });
}

CodegenOptions codegenOptions(const Options &options) {
  CodegenOptions result;
  if (options.inputFile)
    result.source = llvm::sys::path::filename(*options.inputFile).str();
  else
    result.source = options.tree ? "--tree " + *options.tree : "--einsum " + *options.einsum;
  result.library = options.library;
  result.headerName = llvm::sys::path::filename(options.headerFile).str();
  for (char c : llvm::sys::path::stem(options.headerFile))
    result.libraryNamespace += llvm::isAlnum(c) ? c : '_';
  result.libraryNamespace = "einsum_" + result.libraryNamespace;
  return result;
}

} // namespace einsumc
