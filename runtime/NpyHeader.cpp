//===- NpyHeader.cpp - the header of .npy files -----------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "NpyHeader.h"

#include "einsumc/Error.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace einsumc {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxPositions = 64;

/// Text from the file as a message may show it: short and printable.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string result = "'";
  for (const char c : text.substr(0, kShown))
    result += c >= ' ' && c <= '~' ? c : '?';
  return result + (text.size() > kShown ? "...'" : "'");
}

/// Reads the one dict literal that a header is.
class DictParser {
public:
  explicit DictParser(std::string_view text) : text(text) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      parseEntry();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skipSpace();
    if (at != text.size())
      throw Error("the header goes on after its end with " + quoted(text.substr(at)));
    if (!hasDescr || !hasOrder || !hasShape)
      throw Error("the header lacks 'descr', 'fortran_order' or 'shape'");
    return std::move(header);
  }

private:
  void parseEntry() {
    const std::string key = parseString();
    expect(':');
    if (key == "descr" && !hasDescr) {
      hasDescr = true;
      parseDescr();
    } else if (key == "fortran_order" && !hasOrder) {
      hasOrder = true;
      header.fortranOrder = parseBool();
    } else if (key == "shape" && !hasShape) {
      hasShape = true;
      parseShape();
    } else {
      throw Error("the header has an unknown or repeated key " + quoted(key));
    }
  }

  void parseDescr() {
    skipSpace();
    if (at < text.size() && (text[at] == '[' || text[at] == '('))
      throw Error("the elements are structured; expected '<f4', '<f8', '>f4' or '>f8'");
    header.descr = parseString();
    const std::string &d = header.descr;
    if (d.size() != 3 || (d[0] != '<' && d[0] != '>') || d[1] != 'f' ||
        (d[2] != '4' && d[2] != '8'))
      throw Error("the elements are " + quoted(d) + "; expected '<f4', '<f8', '>f4' or '>f8'");
    header.bigEndian = d[0] == '>';
    header.elementBytes = d[2] - '0';
  }

  bool parseBool() {
    skipSpace();
    for (const std::string_view word : {"True", "False"})
      if (text.substr(at, word.size()) == word) {
        at += word.size();
        return word == "True";
      }
    throw Error("'fortran_order' is neither True nor False");
  }

  void parseShape() {
    expect('(');
    while (!accept(')')) {
      if (header.shape.size() == kMaxPositions)
        throw Error("the shape has more than 64 positions");
      header.shape.push_back(parseExtent());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  int64_t parseExtent() {
    skipSpace();
    const std::size_t start = at;
    int64_t value = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      const int64_t digit = text[at] - '0';
      if (value > (std::numeric_limits<int64_t>::max() - digit) / 10)
        throw Error("an extent of the shape is larger than 2^63");
      value = 10 * value + digit;
    }
    if (at == start)
      throw Error("the shape is not a tuple of extents, at " + quoted(text.substr(at)));
    if (at < text.size() && text[at] == 'L') // Python 2 wrote long integers so
      ++at;
    return value;
  }

  std::string parseString() {
    skipSpace();
    if (at == text.size() || (text[at] != '\'' && text[at] != '"'))
      throw Error("the header is not a dict of strings, at " + quoted(text.substr(at)));
    const char quote = text[at++];
    const std::size_t end = text.find(quote, at);
    if (end == std::string_view::npos)
      throw Error("a string in the header has no end");
    std::string result(text.substr(at, end - at));
    at = end + 1;
    return result;
  }

  void skipSpace() {
    while (at < text.size() && std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos)
      ++at;
  }
  bool accept(char c) {
    skipSpace();
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      throw Error(std::string("the header lacks a '") + c + "' at " + quoted(text.substr(at)));
  }

  std::string_view text;
  std::size_t at = 0;
  NpyHeader header;
  bool hasDescr = false, hasOrder = false, hasShape = false;
};

} // namespace

NpyHeader parseNpyHeader(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char *>(file.data()), file.size());
  if (text.substr(0, kMagic.size()) != kMagic)
    throw Error("this is no .npy file: it does not start with \\x93NUMPY");
  if (text.size() < kMagic.size() + 2)
    throw Error("the file ends within its header");
  const auto byteAt = [&](std::size_t i) { return static_cast<std::size_t>(file[i]); };
  const std::size_t major = byteAt(6), minor = byteAt(7);
  if (major < 1 || major > 3 || minor != 0)
    throw Error("the file has .npy version " + std::to_string(major) + "." + std::to_string(minor) +
                "; expected 1.0, 2.0 or 3.0");
  const std::size_t lengthBytes = major == 1 ? 2 : 4;
  const std::size_t start = kMagic.size() + 2 + lengthBytes;
  if (text.size() < start)
    throw Error("the file ends within its header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < lengthBytes; ++i)
    length |= byteAt(8 + i) << (8 * i);
  if (length > kMaxNpyHeader - start)
    throw Error("the header has " + std::to_string(length) + " bytes, more than the " +
                std::to_string(kMaxNpyHeader - start) + " that are read");
  if (text.size() - start < length)
    throw Error("the file ends within its header");
  NpyHeader header = DictParser(text.substr(start, length)).parse();
  header.dataOffset = start + length;
  return header;
}

std::string formatShape(std::span<const int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i > 0 ? " " : "") + std::to_string(shape[i]) + (i + 1 < shape.size() ? "," : "");
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string formatNpyHeader(int elementBytes, std::span<const int64_t> shape) {
  std::string dict = "{'descr': '<f" + std::to_string(elementBytes) +
                     "', 'fortran_order': False, 'shape': " + formatShape(shape) + ", }";
  constexpr std::size_t kStart = 10, kAlignment = 64;
  const std::size_t total = (kStart + dict.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t length = total - kStart;
  if (length > 0xFFFF)
    throw Error("a shape of " + std::to_string(shape.size()) + " positions is too long for .npy");
  dict.resize(length - 1, ' ');
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(length & 0xFF), static_cast<char>(length >> 8)};
  return header + dict + '\n';
}

} // namespace einsumc
