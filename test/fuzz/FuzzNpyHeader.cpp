//===- FuzzNpyHeader.cpp - any bytes as the start of an .npy file -----------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/NpyHeader.h"

#include "einsumc/Error.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

void require(bool condition, const char *what) {
  if (condition)
    return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

} // namespace

/// A header is parsed or refused with an Error; what was parsed makes sense, and the header that
/// we would write for it is parsed to the same.
// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  using namespace einsumc;
  NpyHeader header;
  try {
    header = parseNpyHeader(std::as_bytes(std::span(data, size)));
  } catch (const Error &error) {
    require(error.what()[0] != '\0', "an error without a message");
    return 0;
  }
  require(header.dataOffset <= size && header.dataOffset <= kMaxNpyHeader,
          "the data begin behind the bytes that were given");
  require(header.elementBytes == 4 || header.elementBytes == 8, "impossible element size");
  for (const int64_t extent : header.shape)
    require(extent >= 0, "a negative extent");

  std::string written;
  try {
    written = formatNpyHeader(header.elementBytes, header.shape);
  } catch (const Error &) {
    return 0; // Too many positions for version 1.0.
  }
  const NpyHeader again = parseNpyHeader(std::as_bytes(std::span<const char>(written)));
  require(again.elementBytes == header.elementBytes && again.shape == header.shape &&
              !again.fortranOrder && !again.bigEndian && again.dataOffset == written.size(),
          "the header that we write is not parsed as the same");
  return 0;
}
