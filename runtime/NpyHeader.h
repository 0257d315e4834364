//===- NpyHeader.h - the header of .npy files -------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// The format is NumPy's NEP 1 (versions 1.0, 2.0 and 3.0). No MPI here.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_NPYHEADER_H
#define EINSUMC_RUNTIME_NPYHEADER_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace einsumc {

struct NpyHeader {
  std::string descr;    ///< NumPy's name of the element type, such as `<f4`
  int elementBytes = 0; ///< 4 or 8: nothing but IEEE floating point is read
  bool bigEndian = false;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
  std::size_t dataOffset = 0; ///< bytes before the first element
};

/// The most bytes that a header (magic and length included) may have here; NumPy's own reader
/// refuses far shorter ones.
inline constexpr std::size_t kMaxNpyHeader = 65536;

/// Parses the start of a file: arbitrary bytes, of which at most kMaxNpyHeader are looked at. What
/// follows the header is not looked at.
/// \throws Error saying what was found and what was expected.
NpyHeader parseNpyHeader(std::span<const std::byte> file);

/// A header of version 1.0 for little-endian data in C order, padded with spaces to a multiple of
/// 64 bytes.
/// \param elementBytes 4 or 8
/// \throws Error if the shape has too many positions for the version.
std::string formatNpyHeader(int elementBytes, std::span<const int64_t> shape);

/// A shape as Python writes it: `()`, `(3,)`, `(3, 4)`.
std::string formatShape(std::span<const int64_t> shape);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_NPYHEADER_H
