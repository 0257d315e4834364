//===- NpyWrite.cpp - tensors to .npy files ---------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "BoxFile.h"
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

} // namespace

NpyWriter::NpyWriter(const Communicator &comm, std::string file, DType dtype,
                     std::vector<int64_t> extents, const NpyLimits &limits)
    : comm(comm), file(std::move(file)), limits(limits),
      array{0, std::move(extents), sizeOf(dtype)} {
  std::string header;
  collectively(comm, [&] {
    header = formatNpyHeader(static_cast<int>(array.elementBytes), array.extents);
    array.offset = header.size();
  });
  const std::string reserved = onRoot(comm, [&] {
    const std::size_t size = array.offset + array.dataBytes();
    if (isSmall()) {
      contents = header;
      contents.resize(size);
      return std::string("yes");
    }
    part.emplace(this->file, header, size);
    return std::string(part->isReserved() ? "yes" : "no");
  });
  isReserved = reserved == "yes";
}

void NpyWriter::write(const TensorView &view, const Region &region) {
  Box all;
  for (const int64_t extent : view.layout->extents)
    all.push_back({0, extent});
  if (isSmall())
    gather(view, region, array.extents, contents.data() + array.offset);
  else if (bytesOf(array, all) <= limits.small)
    writeOnRoot(view, region.shifted(all));
  else
    writePart(view, region);
}

/// Rank 0 gets all blocks.
/// \param region of the array of \p extents that \p data has on rank 0
void NpyWriter::gather(const TensorView &view, const Region &region,
                       const std::vector<int64_t> &extents, char *data) const {
  gatherBlocks(
      comm, view, [&](int64_t rank) { return view.layout->isPrimary(rank); },
      [&](int64_t rank, std::span<const double> values) {
        const Box box = region.shifted(view.layout->box(rank));
        if (view.dtype == DType::F32)
          storeBlock<float>(box, extents, values, data);
        else
          storeBlock<double>(box, extents, values, data);
      });
}

/// Rank 0 gets the tensor and writes it.
/// \param box of the file
void NpyWriter::writeOnRoot(const TensorView &view, const Box &box) const {
  std::string data;
  doOnRoot(comm, [&] { data.resize(bytesOf(array, box)); });
  gather(view, Region(*view.layout), view.layout->extents, data.data());
  doOnRoot(comm, [&] { writeBox(PartFile::nameOf(file), array, box, data); });
}

/// Every rank writes its part, in pieces.
void NpyWriter::writePart(const TensorView &view, const Region &region) {
  std::vector<Box> pieces;
  collectively(comm, [&] {
    if (view.layout->isPrimary(comm.rank()))
      pieces = array.pieces(region.shifted(view.box), limits.piece);
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
  if (!isReserved)
    requireWritten(pieces, view.data);
}

/// Reads the pieces back and compares them. Some MPI libraries take a write that a full disk cut
/// short for a whole one, and one in the middle of the file does not show in its size.
void NpyWriter::requireWritten(const std::vector<Box> &pieces, const std::byte *data) const {
  const std::string name = PartFile::nameOf(file);
  std::unique_ptr<std::byte[]> copy;
  collectively(comm, [&] {
    std::size_t largest = 0;
    for (const Box &piece : pieces)
      largest = std::max(largest, bytesOf(array, piece));
    copy = std::make_unique_for_overwrite<std::byte[]>(largest);
  });
  ParallelFile stream(comm, name, ParallelFile::Mode::Read);
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
      throw Error(name + ": what was written is not there: is the disk full?");
  });
}

void NpyWriter::commit() {
  doOnRoot(comm, [&] {
    if (isSmall())
      part.emplace(file, contents, contents.size());
    else
      part->requireSize(array.offset + array.dataBytes());
    part->commit();
  });
}

void writeNpy(const Communicator &comm, const std::string &file, const TensorView &view,
              const NpyLimits &limits) {
  NpyWriter writer(comm, file, view.dtype, view.layout->extents, limits);
  writer.write(view, Region(*view.layout));
  writer.commit();
}

} // namespace einsumc
