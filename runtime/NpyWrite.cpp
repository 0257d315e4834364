//===- NpyWrite.cpp - tensors to .npy files ---------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "FileArray.h"
#include "GatherBlocks.h"
#include "Npy.h"
#include "NpyHeader.h"
#include "OnRoot.h"
#include "ParallelFile.h"
#include "PartFile.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

namespace einsumc {
namespace {

/// Stores values as the file has them.
template <class T>
void storeBlock(const Box &box, const std::vector<int64_t> &extents, std::span<const double> values,
                char *data) {
  forEachElement(box, extents,
                 [&](std::size_t i, std::size_t offset, const std::vector<int64_t> &) {
                   const auto value = static_cast<T>(values[i]);
                   std::memcpy(data + offset * sizeof(T), &value, sizeof(T));
                 });
}

std::size_t bytesOf(const FileArray &array, const Box &piece) {
  return static_cast<std::size_t>(volume(piece)) * array.elementBytes;
}

/// Rank 0 gets all of it and writes it.
void writeSmall(const Communicator &comm, const std::string &file, const TensorView &view,
                const FileArray &array) {
  std::string contents; // rank 0's
  doOnRoot(comm, [&] {
    contents = formatNpyHeader(static_cast<int>(array.elementBytes), array.extents);
    contents.resize(array.offset + array.dataBytes());
  });
  gatherBlocks(
      comm, view, [&](int64_t rank) { return view.layout->isPrimary(rank); },
      [&](int64_t rank, std::span<const double> values) {
        const Box box = view.layout->box(rank);
        char *data = contents.data() + array.offset;
        if (view.dtype == DType::F32)
          storeBlock<float>(box, array.extents, values, data);
        else
          storeBlock<double>(box, array.extents, values, data);
      });
  doOnRoot(comm, [&] {
    PartFile part(file, contents, contents.size());
    part.commit();
  });
}

/// Reads the pieces back and compares them. Some MPI libraries take a write that a full disk cut
/// short for a whole one, and one in the middle of the file does not show in its size.
void requireWritten(const Communicator &comm, const std::string &file, const FileArray &array,
                    const std::vector<Box> &pieces, const std::byte *data) {
  std::unique_ptr<std::byte[]> copy;
  collectively(comm, [&] {
    std::size_t largest = 0;
    for (const Box &piece : pieces)
      largest = std::max(largest, bytesOf(array, piece));
    copy = std::make_unique_for_overwrite<std::byte[]>(largest);
  });
  ParallelFile stream(comm, file, ParallelFile::Mode::Read);
  bool differs = false;
  for (const Box &piece : pieces) {
    stream.transfer(array, piece, copy.get());
    if (const std::size_t bytes = bytesOf(array, piece); bytes > 0) {
      differs = differs || std::memcmp(copy.get(), data, bytes) != 0;
      data += bytes;
    }
  }
  stream.close();
  collectively(comm, [&] {
    if (differs)
      throw Error(file + ": what was written is not there: is the disk full?");
  });
}

/// Every rank writes its part, in pieces.
void writeLarge(const Communicator &comm, const std::string &file, const TensorView &view,
                const FileArray &array, std::size_t pieceBytes) {
  const std::size_t size = array.offset + array.dataBytes();
  std::optional<PartFile> part; // rank 0's
  const std::string reserved = onRoot(comm, [&] {
    part.emplace(file, formatNpyHeader(static_cast<int>(array.elementBytes), array.extents), size);
    return std::string(part->isReserved() ? "yes" : "no");
  });
  std::vector<Box> pieces;
  collectively(comm, [&] {
    if (view.layout->isPrimary(comm.rank()))
      pieces = array.pieces(view.box, pieceBytes);
  });
  auto calls = static_cast<int64_t>(pieces.size());
  maxOverRanks(comm, std::span(&calls, 1));
  pieces.resize(static_cast<std::size_t>(calls), Box{Interval{}}); // All make as many calls.

  ParallelFile stream(comm, PartFile::nameOf(file), ParallelFile::Mode::Write);
  std::byte *next = view.data;
  for (const Box &piece : pieces) {
    stream.transfer(array, piece, next);
    next += bytesOf(array, piece);
  }
  stream.close();
  doOnRoot(comm, [&] { part->requireSize(size); });
  if (reserved == "no")
    requireWritten(comm, PartFile::nameOf(file), array, pieces, view.data);
  doOnRoot(comm, [&] { part->commit(); });
}

} // namespace

void writeNpy(const Communicator &comm, const std::string &file, const TensorView &view,
              const NpyLimits &limits) {
  FileArray array{0, view.layout->extents, sizeOf(view.dtype)};
  collectively(comm, [&] {
    array.offset = formatNpyHeader(static_cast<int>(array.elementBytes), array.extents).size();
  });
  if (array.dataBytes() <= limits.small)
    writeSmall(comm, file, view, array);
  else
    writeLarge(comm, file, view, array, limits.piece);
}

} // namespace einsumc
