//===- Text.cpp - helpers for text ------------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "compiler/support/Text.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace einsumc {

std::string join(const std::vector<std::string> &parts, llvm::StringRef separator) {
  return llvm::join(parts, separator);
}

bool isIdentifier(llvm::StringRef text) {
  auto isWordStart = [](char c) { return llvm::isAlpha(c) || c == '_'; };
  auto isWord = [&](char c) { return isWordStart(c) || llvm::isDigit(c); };
  return !text.empty() && isWordStart(text.front()) && llvm::all_of(text, isWord);
}

std::string uniqueName(llvm::StringRef wanted, std::set<std::string> &taken) {
  std::string name = wanted.str();
  for (int i = 1; !taken.insert(name).second; ++i)
    name = (wanted + "_" + llvm::Twine(i)).str();
  return name;
}

std::string commentSafe(llvm::StringRef text) {
  std::string result = text.str();
  for (char &c : result)
    if (!llvm::isPrint(c) || c == '\\')
      c = '?';
  return result;
}

std::string cppStringLiteral(llvm::StringRef text) {
  std::string result = "\"";
  llvm::raw_string_ostream out(result);
  for (char c : text) {
    if (c == '"' || c == '\\')
      out << '\\' << c;
    else if (c == '\n')
      out << "\\n";
    else if (llvm::isPrint(c) && c != '?')
      out << c;
    else // Three octal digits end the escape, whatever follows.
      out << '\\' << llvm::format("%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  out << '"';
  return result;
}

std::string bytesText(double bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  std::string result;
  llvm::raw_string_ostream out(result);
  out << llvm::format(unit == 0 ? "%.0f " : "%.2f ", bytes) << kUnits[unit];
  return result;
}

} // namespace einsumc
