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
#include <cstdio>
#include <string_view>

namespace einsumc {
namespace {

/// Returns 0 or an errno.
int reserve(int descriptor, std::size_t size) {
  if (size == 0 || fallocate(descriptor, 0, 0, static_cast<off_t>(size)) == 0)
    return 0;
  // Where space cannot be reserved, a full disk shows when it is written.
  return errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL ? 0 : errno;
}

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

void PartFile::commit() {
  if (std::rename(nameOf(file).c_str(), file.c_str()) != 0)
    throw Error(systemFailure(file, "create", errno));
  committed = true;
}

void requireWritable(const std::string &file) { const PartFile probe(file, "", 0); }

} // namespace einsumc
