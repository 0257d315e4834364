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

#include <cstring>
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

/// Every rank writes its part, in pieces.
void writeLarge(const Communicator &comm, const std::string &file, const TensorView &view,
                const FileArray &array, std::size_t pieceBytes) {
  std::optional<PartFile> part; // rank 0's
  doOnRoot(comm, [&] {
    part.emplace(file, formatNpyHeader(static_cast<int>(array.elementBytes), array.extents),
                 array.offset + array.dataBytes());
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
    next += static_cast<std::size_t>(volume(piece)) * array.elementBytes;
  }
  stream.close();
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
