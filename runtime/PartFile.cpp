//===- PartFile.cpp - files that appear when they are complete --------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "PartFile.h"

#include "OnRoot.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace einsumc {
namespace {

/// Returns 0 or an errno.
int reserve(int descriptor, std::size_t size) {
  return size == 0 || fallocate(descriptor, 0, 0, static_cast<off_t>(size)) == 0 ? 0 : errno;
}

/// Whether reserving space failed because the file system does not do that.
bool isUnsupported(int error) { return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL; }

int writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return written < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

} // namespace

PartFile::PartFile(std::string file, const std::string &start, std::size_t size)
    : file(std::move(file)) {
  const std::string part = nameOf(this->file);
  const int descriptor = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    throw Error(systemFailure(part, "create", errno));
  int error = reserve(descriptor, size);
  reserved = error == 0;
  if (!reserved && isUnsupported(error)) // A full disk shows when it is written, at the latest.
    error = ftruncate(descriptor, static_cast<off_t>(size)) == 0 ? 0 : errno;
  if (error == 0)
    error = writeAll(descriptor, start);
  if (close(descriptor) != 0 && error == 0)
    error = errno;
  if (error != 0) {
    unlink(part.c_str());
    throw Error(systemFailure(part, "write " + std::to_string(size) + " bytes", error));
  }
}

PartFile::~PartFile() {
  if (!committed)
    unlink(nameOf(file).c_str());
}

void PartFile::append(std::string_view bytes) const {
  const std::string part = nameOf(file);
  const int descriptor = open(part.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0)
    throw Error(systemFailure(part, "write", errno));
  int error = writeAll(descriptor, bytes);
  if (close(descriptor) != 0 && error == 0)
    error = errno;
  if (error != 0)
    throw Error(systemFailure(part, "write " + std::to_string(bytes.size()) + " bytes", error));
}

void PartFile::requireSize(std::size_t size) const {
  const std::string part = nameOf(file);
  std::error_code error;
  const std::uintmax_t actual = std::filesystem::file_size(part, error);
  if (error)
    throw Error(part + ": cannot write: " + error.message());
  if (actual != size)
    throw Error(part + ": of " + std::to_string(size) + " bytes only " + std::to_string(actual) +
                " were written: is the disk full?");
}

void PartFile::commit() {
  if (std::rename(nameOf(file).c_str(), file.c_str()) != 0)
    throw Error(systemFailure(file, "create", errno));
  committed = true;
}

void requireWritable(const std::string &file) { const PartFile probe(file, "", 0); }

} // namespace einsumc
