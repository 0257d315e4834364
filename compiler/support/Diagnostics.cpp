//===- Diagnostics.cpp - errors, warnings and notes with a place ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/support/Diagnostics.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace einsumc {

Diagnostics::Diagnostics(llvm::raw_ostream &stream) : stream(stream) {}

llvm::StringRef Diagnostics::addText(llvm::StringRef name, llvm::StringRef text) {
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(text, name);
  llvm::StringRef copy = buffer->getBuffer();
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  return copy;
}

bool Diagnostics::report(llvm::SMLoc where, llvm::SourceMgr::DiagKind kind,
                         const llvm::Twine &message, llvm::SMRange range) {
  std::string text = message.str();
  if (!seen.insert({where.getPointer(), text}).second)
    return false;
  llvm::ArrayRef<llvm::SMRange> ranges;
  if (range.isValid())
    ranges = range;
  sources.PrintMessage(stream, where, kind, text, ranges);
  return true;
}

void Diagnostics::error(llvm::SMLoc where, const llvm::Twine &message, llvm::SMRange range) {
  ++errorCount;
  if (errorCount == kMaxErrors + 1)
    stream << "too many errors; the others are not shown\n";
  lastPrinted =
      errorCount <= kMaxErrors && report(where, llvm::SourceMgr::DK_Error, message, range);
}

void Diagnostics::warning(llvm::SMLoc where, const llvm::Twine &message, llvm::SMRange range) {
  lastPrinted = report(where, llvm::SourceMgr::DK_Warning, message, range);
}

void Diagnostics::note(llvm::SMLoc where, const llvm::Twine &message, llvm::SMRange range) {
  if (lastPrinted)
    sources.PrintMessage(stream, where, llvm::SourceMgr::DK_Note, message.str(),
                         range.isValid() ? llvm::ArrayRef<llvm::SMRange>(range)
                                         : llvm::ArrayRef<llvm::SMRange>());
}

} // namespace einsumc
