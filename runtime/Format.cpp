//===- Format.cpp - numbers for people --------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "Format.h"

#include <array>
#include <cstddef>
#include <cstdio>

namespace einsumc {

std::string formatNumber(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string formatBytes(int64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit)
    value /= 1024;
  return formatNumber(value) + " " + kUnits[unit];
}

std::string countOf(int64_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string formatIndex(const std::vector<int64_t> &index) {
  std::string text = "[";
  for (std::size_t i = 0; i < index.size(); ++i)
    text += (i > 0 ? "," : "") + std::to_string(index[i]);
  return text + "]";
}

} // namespace einsumc
