//===- Diagnostics.h - errors, warnings and notes with a place --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_SUPPORT_DIAGNOSTICS_H
#define EINSUMC_SUPPORT_DIAGNOSTICS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/SMLoc.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <set>
#include <string>
#include <utility>

namespace einsumc {

/// Collects texts (files and command-line arguments) and reports mistakes in them as
/// `name:line:col: error: ...` with the line and a caret. Several errors may be reported in one
/// run; the same text at the same place is reported once. After `kMaxErrors` errors the rest is
/// counted but not printed.
class Diagnostics {
public:
  static constexpr unsigned kMaxErrors = 20;

  explicit Diagnostics(llvm::raw_ostream &stream = llvm::errs());

  /// Adds a text under a name (`trn.ein`, `<--tree>`) and returns it with a lifetime of this
  /// object; locations point into it.
  llvm::StringRef addText(llvm::StringRef name, llvm::StringRef text);

  void error(llvm::SMLoc where, const llvm::Twine &message, llvm::SMRange range = {});
  void warning(llvm::SMLoc where, const llvm::Twine &message, llvm::SMRange range = {});
  /// Belongs to the error or warning before it and is dropped with it.
  void note(llvm::SMLoc where, const llvm::Twine &message, llvm::SMRange range = {});

  unsigned errors() const { return errorCount; }
  bool hasErrors() const { return errorCount != 0; }

private:
  bool report(llvm::SMLoc where, llvm::SourceMgr::DiagKind kind, const llvm::Twine &message,
              llvm::SMRange range);

  llvm::SourceMgr sources;
  llvm::raw_ostream &stream;
  std::set<std::pair<const char *, std::string>> seen;
  unsigned errorCount = 0;
  bool lastPrinted = false;
};

} // namespace einsumc

#endif // EINSUMC_SUPPORT_DIAGNOSTICS_H
