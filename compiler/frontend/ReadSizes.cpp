//===- ReadSizes.cpp - the extents on the command line ----------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/frontend/ReadSizes.h"

#include "compiler/frontend/Extents.h"
#include "compiler/frontend/Names.h"

#include "llvm/ADT/StringMap.h"

namespace einsumc {

namespace {

class SizesReader {
public:
  SizesReader(llvm::StringRef text, const std::vector<DimLabel> &labels, Diagnostics &diagnostics)
      : errorsBefore(diagnostics.errors()), text(text),
        lexer(text, diagnostics, Lexer::Comments::None), labels(labels), diagnostics(diagnostics),
        extents(labels.size()), given(labels.size()) {}

  std::optional<std::vector<int64_t>> run();

private:
  bool pairs();
  bool pair();
  bool extentsInOrder();
  std::optional<std::size_t> find(const Token &name);
  void reportMissing();

  unsigned errorsBefore; ///< before the lexer, which reports what it reads ahead
  llvm::StringRef text;
  Lexer lexer;
  const std::vector<DimLabel> &labels;
  Diagnostics &diagnostics;
  std::vector<int64_t> extents;
  std::vector<llvm::SMRange> given; ///< where the text has the extent of each label, if it does
  llvm::StringMap<std::size_t> indices;
};

std::optional<std::vector<int64_t>> SizesReader::run() {
  bool isRead = lexer.peek().isEnd() || (text.contains('=') ? pairs() : extentsInOrder());
  if (isRead)
    reportMissing();
  if (diagnostics.errors() != errorsBefore)
    return std::nullopt;
  return std::move(extents);
}

bool SizesReader::pairs() {
  for (std::size_t l = 0; l < labels.size(); ++l)
    indices[labels[l].text] = l;
  do
    if (!pair())
      return false;
  while (lexer.takeIf(","));
  return lexer.peek().isEnd() || lexer.unexpected("expected ','");
}

bool SizesReader::pair() {
  if (!lexer.peek().isIdentifier() && !lexer.peek().isInteger())
    return lexer.unexpected("expected a dim");
  Token name = lexer.take();
  if (!lexer.takeIf("="))
    return lexer.unexpected("expected '=': either all extents name their dim or none does");
  std::optional<std::size_t> label = find(name);
  llvm::SMLoc start = lexer.peek().start();
  std::optional<int64_t> extent;
  if (!readExtent(lexer, diagnostics, extent))
    return false;
  if (!label)
    return true;
  if (given[*label].isValid()) {
    diagnostics.error(name.start(), "dim '" + name.text + "' has two extents", name.range());
    diagnostics.note(given[*label].Start, "the first is here", given[*label]);
    return true;
  }
  given[*label] = {start, lexer.previousEnd()};
  extents[*label] = extent.value_or(0);
  return true;
}

/// The index of a dim's label, or nothing, which is reported.
std::optional<std::size_t> SizesReader::find(const Token &name) {
  llvm::StringRef key = name.text;
  if (name.isInteger())
    key = withoutLeadingZeros(key);
  if (auto index = indices.find(key); index != indices.end())
    return index->second;
  std::string hint;
  if (diagnostics.errors() < Diagnostics::kMaxErrors) {
    std::vector<llvm::StringRef> names;
    names.reserve(labels.size());
    for (const DimLabel &label : labels)
      names.emplace_back(label.text);
    hint = didYouMean(name.text, names);
  }
  diagnostics.error(name.start(), "there is no dim '" + name.text + "'" + hint, name.range());
  return std::nullopt;
}

bool SizesReader::extentsInOrder() {
  std::size_t count = 0;
  do {
    llvm::SMLoc start = lexer.peek().start();
    if (count == labels.size())
      return lexer.unexpected("more extents than dims, of which there are " +
                              llvm::Twine(labels.size()));
    std::optional<int64_t> extent;
    if (!readExtent(lexer, diagnostics, extent))
      return false;
    given[count] = {start, lexer.previousEnd()};
    extents[count++] = extent.value_or(0);
  } while (lexer.takeIf(","));
  return lexer.peek().isEnd() || lexer.unexpected("expected ','");
}

void SizesReader::reportMissing() {
  for (std::size_t l = 0; l < labels.size(); ++l) {
    if (given[l].isValid())
      continue;
    diagnostics.error(lexer.previousEnd(), "no extent for dim '" + labels[l].text + "'");
    diagnostics.note(labels[l].where.Start, "it is used here", labels[l].where);
  }
}

} // namespace

std::optional<std::vector<int64_t>>
readSizes(llvm::StringRef sizes, const std::vector<DimLabel> &labels, Diagnostics &diagnostics) {
  return SizesReader(diagnostics.addText("<--sizes>", sizes), labels, diagnostics).run();
}

} // namespace einsumc
