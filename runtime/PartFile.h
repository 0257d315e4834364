//===- PartFile.h - files that appear when they are complete ----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_PARTFILE_H
#define EINSUMC_RUNTIME_PARTFILE_H

#include <cstddef>
#include <string>
#include <string_view>

namespace einsumc {

/// FILE.part, which becomes FILE by `commit` and is removed at the end when it does not. Used by
/// one rank.
class PartFile {
public:
  /// Creates FILE.part with the given bytes at its start.
  /// \param size of the whole file from now on: its space is reserved where the file system can, so
  /// that a full disk shows now and not in the middle of a collective write.
  /// \throws Error
  PartFile(std::string file, const std::string &start, std::size_t size);
  ~PartFile();
  PartFile(const PartFile &) = delete;
  PartFile &operator=(const PartFile &) = delete;

  /// Adds bytes at the end of FILE.part. \throws Error
  void append(std::string_view bytes) const;
  /// Whether space for the whole file is reserved: not all file systems can.
  bool isReserved() const { return reserved; }
  /// \throws Error unless FILE.part has so many bytes.
  void requireSize(std::size_t size) const;
  /// \throws Error
  void commit();

  static std::string nameOf(const std::string &file) { return file + ".part"; }

private:
  std::string file;
  bool reserved = false;
  bool committed = false;
};

/// \throws Error if FILE.part cannot be created: before hours of work whose result it would take.
void requireWritable(const std::string &file);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_PARTFILE_H
