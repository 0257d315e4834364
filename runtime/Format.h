//===- Format.h - numbers for people ----------------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_FORMAT_H
#define EINSUMC_RUNTIME_FORMAT_H

#include <cstdint>
#include <string>
#include <vector>

namespace einsumc {

/// A number with four significant digits.
std::string formatNumber(double value);
/// Bytes with a binary unit: `17 B`, `1.5 MiB`.
std::string formatBytes(int64_t bytes);
/// `1 rank`, `2 ranks`.
std::string countOf(int64_t count, const std::string &noun);
/// An element as one writes it: `[3,4]`, `[]` for that of a scalar.
std::string formatIndex(const std::vector<int64_t> &index);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_FORMAT_H
