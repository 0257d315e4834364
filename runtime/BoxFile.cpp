//===- BoxFile.cpp - boxes of an array in a file, by one rank ---------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "BoxFile.h"

#include "BoxPieces.h"
#include "OnRoot.h"

#include "einsumc/Communicator.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace einsumc {
namespace {

/// An open file.
class Descriptor {
public:
  Descriptor(const std::string &file, int flags, std::string verb)
      : file(file), verb(std::move(verb)), number(open(file.c_str(), flags | O_CLOEXEC)) {
    if (number < 0)
      fail(errno);
  }
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;

  void read(char *data, std::size_t bytes, std::size_t offset) const {
    move(bytes, [&](std::size_t done) {
      return pread(number, data + done, bytes - done, static_cast<off_t>(offset + done));
    });
  }
  void write(const char *data, std::size_t bytes, std::size_t offset) const {
    move(bytes, [&](std::size_t done) {
      return pwrite(number, data + done, bytes - done, static_cast<off_t>(offset + done));
    });
  }
  /// Some file systems say only now that a disk is full.
  void close() {
    if (::close(std::exchange(number, -1)) != 0)
      fail(errno);
  }

private:
  template <class Call> void move(std::size_t bytes, const Call &call) const {
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t moved = call(done);
      if (moved < 0 && errno == EINTR)
        continue;
      if (moved < 0)
        fail(errno);
      if (moved == 0)
        throw Error(file + ": cannot " + verb + " all of it");
      done += static_cast<std::size_t>(moved);
    }
  }
  [[noreturn]] void fail(int error) const { throw Error(systemFailure(file, verb, error)); }

  const std::string &file;
  std::string verb;
  int number;
};

std::size_t bytesOf(const FileArray &array, const Box &box) {
  return static_cast<std::size_t>(volume(box)) * array.elementBytes;
}

/// Where the first element of a box is in the file.
std::size_t offsetOf(const FileArray &array, const Box &box) {
  std::size_t index = 0;
  for (std::size_t p = 0; p < box.size(); ++p)
    index =
        index * static_cast<std::size_t>(array.extents[p]) + static_cast<std::size_t>(box[p].begin);
  return array.offset + index * array.elementBytes;
}

/// Where a box ends in the file.
std::size_t endOf(const FileArray &array, Box box) {
  for (Interval &interval : box)
    interval.begin = interval.end - 1;
  return offsetOf(array, box) + array.elementBytes;
}

} // namespace

std::string readBox(const std::string &file, const FileArray &array, const Box &box) {
  constexpr std::size_t kWindow = std::size_t{1} << 20;
  /// Times the box: more than that between its runs is not read.
  constexpr std::size_t kDense = 8;
  const std::size_t total = bytesOf(array, box);
  std::string result;
  if (total == 0)
    return result;
  result.reserve(total);
  const std::size_t end = endOf(array, box);
  const std::size_t least = end - offsetOf(array, box) <= kDense * total ? kWindow : std::size_t{0};
  const Descriptor descriptor(file, O_RDONLY, "read");
  std::string window;
  std::size_t windowBegin = 0;
  for (const Box &run : piecesOf(box, array.contiguousRun(box))) {
    const std::size_t begin = offsetOf(array, run), bytes = bytesOf(array, run);
    if (begin + bytes > windowBegin + window.size()) { // Runs come in ascending order.
      window.resize(std::max(bytes, std::min(least, end - begin)));
      windowBegin = begin;
      descriptor.read(window.data(), window.size(), begin);
    }
    result.append(window, begin - windowBegin, bytes);
  }
  return result;
}

void writeBox(const std::string &file, const FileArray &array, const Box &box,
              std::string_view bytes) {
  if (bytes.empty())
    return;
  Descriptor descriptor(file, O_WRONLY, "write");
  for (const Box &run : piecesOf(box, array.contiguousRun(box))) {
    const std::size_t size = bytesOf(array, run);
    descriptor.write(bytes.data(), size, offsetOf(array, run));
    bytes.remove_prefix(size);
  }
  descriptor.close();
}

} // namespace einsumc
